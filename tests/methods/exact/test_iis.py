"""iis: exact multipliers, irreducible subsystems, and constrained problems against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.methods.exact.iis.cover import plain_cover
from mipclass.methods.exact.iis.null_space import MANY_ROWS, NullVectors, null_vector
from mipclass.methods.exact.iis.separator import Separator
from mipclass.methods.exact.statement import statement_of
from mipclass.methods.zero_one.prepared import prepare
from tests.truth.zero_one import KINDS, has_rule, least_cost, tiny_instance

whole = st.integers(-6, 6)


@given(st.lists(st.lists(whole, min_size=3, max_size=3), min_size=1, max_size=5))
def test_null_vector_is_exact_and_unique(rows):
    u = null_vector(rows)
    if u is None:
        assert np.linalg.matrix_rank(np.array(rows)) != len(rows) - 1
    else:
        assert any(u)
        assert all(sum(c * row[k] for c, row in zip(u, rows, strict=True)) == 0 for k in range(3))
        assert np.linalg.matrix_rank(np.array(rows)) == len(rows) - 1


@given(
    data=st.data(), bits=st.sampled_from([2, 20, 70]), columns=st.integers(MANY_ROWS - 1, 9), more=st.integers(-1, 2)
)
@settings(max_examples=40, deadline=None)
def test_residues_give_the_vector_of_elimination(data, bits, columns, more):
    """Dependent rows too, where elimination has the last word."""
    entry = st.integers(-(2**bits), 2**bits)
    rows = [[data.draw(entry) for _ in range(columns)] for _ in range(max(MANY_ROWS, columns + more))]
    for target in data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=3)):
        rows[target] = [2 * a - 3 * b for a, b in zip(rows[0], rows[-1], strict=True)]
    assert NullVectors(rows)(range(len(rows))) == null_vector(rows)


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
@settings(max_examples=25, deadline=None)
def test_every_support_is_irreducible(seed, kind):
    X, y, _ = tiny_instance(seed, kind)
    data = plain_cover(X, y, prepare(X, y))
    if not data.n or has_rule(data.Z):
        return
    supports, _ = Separator(data, seed).violated(np.zeros(data.n), np.zeros(data.n), 5)
    assert supports
    for support in supports:
        rows = data.Z[list(support)]
        assert not has_rule(rows)
        for k in range(len(rows)):
            assert has_rule(np.delete(rows, k, axis=0))


def constrained(seed: int, kind: str, what: str, **size: tuple[int, int]) -> models.Model:
    X, y, weights = tiny_instance(seed, kind, **size)
    names = [f"x{j}" for j in range(X.shape[1])]
    if what == "neyman-pearson":
        rate = [0.0, 0.34, 0.5][seed % 3]
        limits = [models.FalsePositiveRate(at_most=rate)]
        return models.Model(X, y, minimize=models.ZeroOne(on="positives"), subject_to=limits, sample_weight=weights)
    if what == "rate":
        return models.zero_one(X, y, subject_to=[models.FalseNegativeRate(at_most=0.25)], sample_weight=weights)
    if what == "monotone":
        signs = {name: 1 if k % 2 else -1 for k, name in enumerate(names)}
        return models.zero_one(X, y, subject_to=[models.Monotone(signs)], sample_weight=weights)
    if what == "no offset":
        return models.zero_one(X, y, intercept=False, sample_weight=weights)
    assert what == "margin"
    return models.Model(
        X, y, minimize=models.ZeroOne(margin=1), subject_to=[models.Bounds(w=(-1.0, 1.0), b=(-2.0, 2.0))]
    )


CONSTRAINED = ("neyman-pearson", "rate", "monotone", "no offset", "margin")


NO_ROOM = 550  # this lattice with a margin has a rule without an error, but none with room: its margins are exactly 1
ONLY_THIRDS = 1074  # the least cost of this one is reached by w = (-1, -1, 1/3), b = -5/3 alone, which is no float


def beyond_floats(problem: models.Model, result: mipclass.Result, truth: float) -> bool:
    """Whether no float may reach the truth: then the answer is left open, and is as good as what rules with room reach."""
    if result.status != "numerical_error":
        return False
    roomy = least_cost(np.asarray(problem.X), problem.y_pm1, statement_of(problem), room=1e-7)
    assert result.claim == "heuristic"
    assert result.bound <= truth < result.objective <= roomy
    return True


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), what=st.sampled_from(CONSTRAINED))
@example(NO_ROOM, "lattice", "margin")
@settings(max_examples=20, deadline=None)
def test_constrained_problems_equal_enumeration(seed, kind, what):
    problem = constrained(seed, kind, what)
    statement = statement_of(problem)
    truth = least_cost(np.asarray(problem.X), problem.y_pm1, statement)
    result = mipclass.solve(problem, solver="iis", options={"local_steps": 200})
    assert truth is not None
    if beyond_floats(problem, result, truth):
        return
    assert result.objective == result.bound == truth
    assert result.claim == "proven"
    assert result.certified
    assert not problem.violations(result.values)


@pytest.mark.parametrize("master", ["own", "scip"])
def test_a_rule_without_room_is_found_where_floats_have_one(master):
    if master == "scip":
        pytest.importorskip("pyscipopt", reason="SCIP is an optional solver")
    result = mipclass.solve(constrained(NO_ROOM, "lattice", "margin"), solver="iis", options={"master": master})
    assert result.objective == result.bound == 0
    assert result.claim == "proven"


@pytest.mark.parametrize("master", ["own", "scip"])
def test_a_cover_no_float_confirms_ends_the_search_without_a_claim(master):
    if master == "scip":
        pytest.importorskip("pyscipopt", reason="SCIP is an optional solver")
    result = mipclass.solve(constrained(ONLY_THIRDS, "lattice", "margin"), solver="iis", options={"master": master})
    assert result.status == "numerical_error"
    assert result.claim == "heuristic"
    assert (result.bound, result.objective) == (1, 2)


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), what=st.sampled_from(CONSTRAINED))
@settings(max_examples=8, deadline=None)
def test_constrained_problems_in_five_and_six_dimensions(seed, kind, what):
    problem = constrained(seed, kind, what, dimensions=(5, 6), points=(8, 9))
    result = mipclass.solve(problem, solver="iis", options={"local_steps": 200})
    truth = least_cost(np.asarray(problem.X), problem.y_pm1, statement_of(problem))
    if not beyond_floats(problem, result, truth):
        assert result.objective == result.bound == truth
        assert result.certified


def test_what_exact_arithmetic_refuses_raises_no_bound(monkeypatch):
    from mipclass.methods.exact.iis.multipliers import ExactSupports

    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), [0, 0, 1, 1]
    problem = models.zero_one(X, y, subject_to=[models.FalseNegativeRate(at_most=0.5)])
    least = least_cost(X, problem.y_pm1, statement_of(problem))
    assert mipclass.solve(problem, solver="iis").bound == least > 0
    for name in ("_compute", "_compute_within_margin"):
        monkeypatch.setattr(ExactSupports, name, lambda self, support: None)
    result = mipclass.solve(problem, solver="iis")
    assert result.status == "numerical_error"
    assert result.claim == "heuristic"
    assert result.bound == max(bound for _, _, bound in result.trace) == 0
    assert result.certified  # of the bound it has


def test_agrees_with_highs_on_neyman_pearson():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((36, 3))
    y = (X.sum(axis=1) + rng.normal(0, 1.5, 36) > 0).astype(int)
    problem = models.neyman_pearson(X, y, 0.1)
    ours, theirs = (mipclass.solve(problem, solver=name) for name in ("iis", "highs"))
    assert ours.certified
    assert ours.objective == theirs.objective == ours.bound


def test_first_rules_under_a_limit_beat_a_shifted_threshold():
    from sklearn.linear_model import LogisticRegression

    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 4))
        y = (X.sum(axis=1) + rng.normal(0, 2.5, 300) > 0).astype(int)
        problem = models.neyman_pearson(X, y, 0.05)
        scores = LogisticRegression().fit(X, y).decision_function(X)
        allowed = int(0.05 * (y == 0).sum())
        threshold = np.sort(scores[y == 0])[::-1][allowed]
        shifted = int((scores[y == 1] <= threshold).sum())
        result = mipclass.solve(problem, solver="iis", options={"node_limit": 1}, callback=lambda event: False)
        assert int(((problem.predict(result.values) == 1) & (y == 0)).sum()) <= allowed
        assert result.objective == problem.recount(result.values) < shifted


def test_infeasible_is_proven():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([1, 0, 1, 0])
    limits = [models.FalsePositiveRate(at_most=0.0), models.FalseNegativeRate(at_most=0.0)]
    result = mipclass.solve(models.zero_one(X, y, subject_to=limits), solver="iis")
    assert result.status == "infeasible"
    assert result.claim == "proven"
    assert not result.values
    assert result.certified
    assert result.certificate.lower > 4


@pytest.mark.slow
@pytest.mark.parametrize("what", CONSTRAINED)
def test_constrained_problems_on_many(what):
    for seed in range(60):
        problem = constrained(seed, KINDS[seed % len(KINDS)], what)
        truth = least_cost(np.asarray(problem.X), problem.y_pm1, statement_of(problem))
        result = mipclass.solve(problem, solver="iis", options={"local_steps": 100})
        assert result.objective == result.bound == truth
        assert result.certified
