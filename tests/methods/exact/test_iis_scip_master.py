"""iis with SCIP as master: equal to enumeration, honest about what is certified, polite about limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.errors import SolverNotFoundError
from mipclass.methods.exact.iis.tree import IISSearch
from mipclass.methods.exact.statement import statement_of
from tests.methods.exact.test_iis import CONSTRAINED, beyond_floats, constrained
from tests.truth.zero_one import KINDS, least_cost, least_loss, tiny_instance

pytest.importorskip("pyscipopt", reason="SCIP is an optional solver")

BY_SCIP = {"master": "scip", "local_steps": 0}


@pytest.fixture(scope="module", autouse=True)
def _no_root_cuts():
    """SCIP must do the work: the root's own cuts alone would settle most small instances."""
    own = IISSearch.cut_root
    IISSearch.cut_root = lambda self, stop, on_progress: True
    yield
    IISSearch.cut_root = own


def check_honest(result: mipclass.Result) -> None:
    """Certified exactly when the root's proof reaches the bound; else the root's proof is there for what it proves."""
    assert result.claim == "proven"
    if result.certified:
        assert result.certificate.lower >= result.bound
    else:
        assert result.certificate is None
        assert result.extra["proof_by"] == "scip"
        assert result.extra["root_bound"] < result.bound


WIDE = {"seed": st.integers(0, 10**6), "kind": st.sampled_from(KINDS), "wide": st.booleans()}


@given(**WIDE)
@settings(max_examples=10, deadline=None)
def test_equal_to_enumeration(seed, kind, wide):
    check_equal_to_enumeration(seed, kind, wide)


@pytest.mark.slow
@given(**WIDE)
@settings(max_examples=30, deadline=None)
def test_equal_to_enumeration_on_many(seed, kind, wide):
    check_equal_to_enumeration(seed, kind, wide)


def check_equal_to_enumeration(seed, kind, wide):
    size = {"dimensions": (5, 6), "points": (8, 9)} if wide else {}
    X, y, weights = tiny_instance(seed, kind, **size)
    result = mipclass.solve(models.zero_one(X, y, sample_weight=weights), solver="iis", options=BY_SCIP)
    assert result.objective == result.bound == least_loss(X, y, weights)
    assert result.recounted
    check_honest(result)


LIMITED = {"seed": st.integers(0, 10**6), "kind": st.sampled_from(KINDS), "what": st.sampled_from(CONSTRAINED)}


@given(**LIMITED)
@settings(max_examples=12, deadline=None)
def test_constrained_problems_equal_enumeration(seed, kind, what):
    check_constrained(seed, kind, what)


@pytest.mark.slow
@given(**LIMITED)
@settings(max_examples=30, deadline=None)
def test_constrained_problems_equal_enumeration_on_many(seed, kind, what):
    check_constrained(seed, kind, what)


def check_constrained(seed, kind, what):
    problem = constrained(seed, kind, what)
    result = mipclass.solve(problem, solver="iis", options=BY_SCIP)
    least = least_cost(np.asarray(problem.X), problem.y_pm1, statement_of(problem))
    if beyond_floats(problem, result, least):
        return
    assert result.objective == result.bound == least
    assert not problem.violations(result.values)
    check_honest(result)


def cloud(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X.sum(axis=1) + rng.normal(0, 1.5 * np.sqrt(d), n) > 0).astype(int)


def test_agrees_with_the_own_master():
    problem = models.neyman_pearson(*cloud(40, 3), 0.1)
    own = mipclass.solve(problem, solver="iis")
    scip = mipclass.solve(problem, solver="iis", options=BY_SCIP)
    assert own.certified
    assert scip.objective == scip.bound == own.objective
    assert scip.nodes >= 1


def test_infeasible():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    limits = [models.FalsePositiveRate(at_most=0.0), models.FalseNegativeRate(at_most=0.0)]
    result = mipclass.solve(models.zero_one(X, [1, 0, 1, 0], subject_to=limits), solver="iis", options=BY_SCIP)
    assert result.status == "infeasible"
    assert not result.values


def test_limits_and_warm_start():
    X, y = cloud(120, 6)
    problem = models.zero_one(X, y)
    good = mipclass.solve(problem, solver="csa")
    stopped = mipclass.solve(problem, solver="iis", options={**BY_SCIP, "node_limit": 1}, warm_start=good)
    assert stopped.status == "node_limit"
    assert stopped.claim == "heuristic"
    assert stopped.objective <= good.objective
    assert 0 <= stopped.bound < stopped.objective
    seen = []

    def after_a_while(event) -> bool:
        seen.append(event.bound)
        return len(seen) < 4

    cut_short = mipclass.solve(problem, solver="iis", options=BY_SCIP, callback=after_a_while, warm_start=good)
    assert cut_short.status == "interrupted"
    assert cut_short.objective <= good.objective
    limited = mipclass.solve(problem, solver="iis", options=BY_SCIP, time_limit=1.0)
    assert limited.status == "time_limit"
    assert limited.values


def test_without_scip_the_way_out_is_named(monkeypatch):
    from mipclass.backends.scip import ScipBackend

    monkeypatch.setattr(ScipBackend, "is_installed", classmethod(lambda cls: False))
    with pytest.raises(SolverNotFoundError, match="own"):
        mipclass.solve(models.zero_one(*cloud(20, 2)), solver="iis", options=BY_SCIP)


def test_a_candidate_without_a_rule_is_never_called_proven(monkeypatch):
    from mipclass.methods.exact.iis.scip_master import LazyCovers

    monkeypatch.setattr(LazyCovers, "_errs_within", lambda self, W, wrong: False)
    X, y = np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1]
    result = mipclass.solve(models.zero_one(X, y), solver="iis", options=BY_SCIP)
    assert result.claim == "heuristic"
    assert result.certified  # the root's own bound, which is all that is left
    assert result.bound < result.objective
