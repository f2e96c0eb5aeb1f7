"""exact, box and iis on small data: equal to enumeration, certified, and polite about limits and odd input."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.errors import UnsupportedProgramError
from mipclass.methods.exact.first_rules import first_rule
from mipclass.methods.zero_one.prepared import prepare
from mipclass.protocol.run import Run
from tests.breadth import mostly_slow
from tests.truth.zero_one import KINDS, least_loss, tiny_instance

FAST = {"local_steps": 200}


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), solver=st.sampled_from(["exact", "box", "iis"]))
@settings(max_examples=30, deadline=None)
def test_equal_to_enumeration_and_certified(seed, kind, solver):
    X, y, weights = tiny_instance(seed, kind)
    problem = models.zero_one(X, y, sample_weight=weights)
    result = mipclass.solve(problem, solver=solver, options=FAST)
    assert result.status == "optimal"
    assert result.claim == "proven"
    assert result.certified
    assert result.recounted
    assert result.objective == result.bound == least_loss(X, y, weights)
    predictions = problem.predict(result.values)
    assert weights[predictions != np.where(y > 0, problem.classes[1], problem.classes[0])].sum() == result.objective


FIVE_OR_SIX = {"dimensions": (5, 6), "points": (8, 10)}


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), solver=st.sampled_from(["exact", "box", "iis"]))
@settings(max_examples=8, deadline=None)
def test_equal_to_enumeration_in_five_and_six_dimensions(seed, kind, solver):
    X, y, weights = tiny_instance(seed, kind, **FIVE_OR_SIX)
    result = mipclass.solve(models.zero_one(X, y, sample_weight=weights), solver=solver, options=FAST)
    assert result.certified
    assert result.claim == "proven"
    assert result.objective == result.bound == least_loss(X, y, weights)


@pytest.mark.parametrize(("mean", "seed"), [(1e7, 9), (1e7, 3), (1e9, 44), (1e9, 5)])
def test_a_bound_rests_on_rules_that_floats_confirm(mean, seed):
    """Far from the origin a rule that is better in exact numbers may be none in floats; leaves must not be closed against it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2)) + mean
    y = np.where(X[:, 0] - mean + rng.normal(size=24) > 0, 1, -1)
    result = mipclass.solve(models.zero_one(X, y), solver="box", options={"local_steps": 0})
    other = mipclass.solve(models.zero_one(X, y), solver="iis")
    assert result.certified
    assert result.bound <= result.objective
    assert result.bound == other.objective


@pytest.mark.parametrize("solver", ["exact", "box", "iis"])
def test_the_rule_ties_with_no_cancelled_twins(solver):
    """The widest rule of the two points left runs through twins that cancelled, up to rounding."""
    X, y, weights = tiny_instance(4040, "twins", **FIVE_OR_SIX)
    result = mipclass.solve(models.zero_one(X, y, sample_weight=weights), solver=solver, options=FAST)
    assert result.certified
    assert result.objective == result.bound == least_loss(X, y, weights) == 6


@pytest.mark.parametrize("seed", [553893, 412894, 35779, 461291, 205291])
def test_few_points_round_a_simplex_take_few_boxes(seed):
    """Eight to ten points of rank seven: an infeasible subsystem of eight, which halving alone decides in billions of boxes."""
    X, y, weights = tiny_instance(seed, "binary", **FIVE_OR_SIX)
    problem = models.zero_one(X, y, sample_weight=weights)
    result = mipclass.solve(problem, solver="box", options=FAST | {"node_limit": 5_000})
    assert result.certified
    assert result.objective == result.bound == least_loss(X, y, weights) > 0
    assert {lemma["kind"] for lemma in result.certificate.content["lower"]["proof"]["lemmas"]} == {"iis"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", mostly_slow([5, 6], fast=[5]))
def test_equal_to_a_mip_in_five_and_six_dimensions(d, kind):
    """Points enough for losses beyond one, which enumeration would take long to reach."""
    X, y, weights = tiny_instance(d, kind, dimensions=(d, d), points=(18, 18))
    truth = mipclass.solve(models.zero_one(X, y, sample_weight=weights), solver="highs")
    assert truth.claim == "proven"
    assert truth.objective > 1
    for solver in ("box", "iis", "exact"):
        result = mipclass.solve(models.zero_one(X, y, sample_weight=weights), solver=solver, options=FAST)
        assert result.certified
        assert result.objective == result.bound == truth.objective


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["exact", "box", "iis"])
def test_five_and_six_dimensions_on_many(kind, solver):
    for seed in range(20):
        X, y, weights = tiny_instance(seed, kind, **FIVE_OR_SIX)
        result = mipclass.solve(models.zero_one(X, y, sample_weight=weights), solver=solver, options=FAST)
        assert result.certified
        assert result.objective == result.bound == least_loss(X, y, weights), (kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["exact", "box", "iis"])
def test_equal_to_enumeration_on_many(kind, solver):
    for seed in range(40):
        X, y, weights = tiny_instance(seed, kind)
        result = mipclass.solve(models.zero_one(X, y, sample_weight=weights), solver=solver, options=FAST)
        assert result.certified
        assert result.objective == result.bound == least_loss(X, y, weights), (kind, seed)


def overlapping(n: int, d: int, seed: int = 0, lattice: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float) if lattice else rng.standard_normal((n, d))
    y = np.where(X.sum(axis=1) - (d if lattice else 0) + rng.normal(0, 1.2 * np.sqrt(d), n) > 0, 1, 0)
    return X, y


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("d", mostly_slow([2, 4, 6], fast=[2, 4]))
def test_box_and_iis_agree_where_enumeration_is_too_long(d, lattice):
    X, y = overlapping(45, d, seed=d, lattice=lattice)
    box, iis = (mipclass.solve(models.zero_one(X, y), solver=name) for name in ("box", "iis"))
    assert box.certified
    assert iis.certified
    assert box.claim == iis.claim == "proven"
    assert box.objective == iis.objective == iis.bound


def test_separable_data_need_no_search():
    X, y = overlapping(80, 5)
    y = (X[:, 0] > 0.1).astype(int)
    result = mipclass.solve(models.zero_one(X, y), solver="exact")
    assert (result.objective, result.bound, result.nodes) == (0, 0, 0)
    assert result.certified


def test_xor_and_units():
    X = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]])
    for scale in (1.0, 1e-12, 1e12):
        result = mipclass.solve(models.zero_one(X * scale + 3 * scale, ["a", "a", "b", "b"]), solver="exact")
        assert result.objective == result.bound == 1
        assert result.certified


def test_weights_that_share_no_unit():
    X, y = overlapping(30, 2)
    result = mipclass.solve(models.zero_one(X, y, class_weight="balanced"), solver="exact")
    again = mipclass.solve(models.zero_one(X, y, class_weight="balanced"), solver="iis")
    assert result.claim == again.claim == "proven"
    assert result.certified
    assert again.certified
    assert result.objective == pytest.approx(again.objective, abs=1e-9)
    assert result.objective - result.bound <= 1e-9 * result.objective


def test_one_feature_duplicates_and_constant_columns():
    X = np.column_stack([np.repeat([0.0, 1.0, 2.0], 4), np.full(12, 7.0)])
    y = np.array([0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1])
    result = mipclass.solve(models.zero_one(X, y), solver="exact")
    assert result.objective == result.bound == least_loss(X, np.where(y > 0, 1.0, -1.0), np.ones(12))
    assert result.certified
    assert result.values["w"][1] == 0


@pytest.mark.parametrize("solver", ["box", "iis", "exact"])
def test_limits_return_incumbent_and_certified_bound(solver):
    X, y = overlapping(200, 8, seed=1)
    result = mipclass.solve(models.zero_one(X, y), solver=solver, options={"node_limit": 1, "local_steps": 500})
    assert result.status == "node_limit"
    assert result.claim == "heuristic"
    assert 0 <= result.bound < result.objective
    assert result.recounted
    assert result.certified
    bounds = [bound for _, _, bound in result.trace if bound is not None]
    assert bounds == sorted(bounds)
    stopped = mipclass.solve(models.zero_one(X, y), solver=solver, callback=lambda event: False)
    assert stopped.status == "interrupted"
    assert stopped.values


def test_same_seed_same_answer():
    X, y = overlapping(60, 4, seed=3)
    first, second = (mipclass.solve(models.zero_one(X, y), solver="exact", seed=5) for _ in range(2))
    assert first.values["w"].tobytes() == second.values["w"].tobytes()
    assert first.certificate.to_json() == second.certificate.to_json()


def test_the_first_rule_does_not_depend_on_the_threads():
    X, y = overlapping(300, 4)
    data, calls = prepare(X, np.where(y > 0, 1, -1), np.ones(len(y))), []

    def searched(threads):
        def note(event):
            calls.append(threading.current_thread() is threading.main_thread())

        run = Run(threads=threads, callback=note, options={"local_steps": 500})
        return first_rule(data, run)

    assert np.array_equal(searched(1), searched(2))
    assert calls  # the callback has been called,
    assert all(calls)  # and from the caller's thread alone


def test_warm_start_is_used():
    X, y = overlapping(60, 3, seed=4)
    best = mipclass.solve(models.zero_one(X, y), solver="exact")
    options = {"local_steps": 0, "node_limit": 1}
    again = mipclass.solve(models.zero_one(X, y), solver="iis", warm_start=best, options=options)
    assert again.objective == best.objective


def test_two_processes_share_rules_and_bounds():
    X, y = overlapping(60, 6, seed=2)
    y[:3] = 1 - y[:3]
    problem = models.zero_one(X, y)
    alone, together = (mipclass.solve(problem, solver="exact", threads=threads, options=FAST) for threads in (1, 2))
    assert together.certified
    assert together.claim == "proven"
    assert together.objective == alone.objective
    stopped = mipclass.solve(
        models.zero_one(*overlapping(300, 9)), solver="exact", threads=2, options={"node_limit": 1}
    )
    assert stopped.status == "node_limit"
    assert stopped.certified


def test_constant_columns_are_read_from_points_that_count():
    X, y = overlapping(40, 2)
    X = np.column_stack([X, np.full(40, 3.0)])
    weights = np.ones(40)
    X[0, 2], weights[0] = -50.0, 0.0
    start = {"w": np.array([1.0, 1.0, 1.0]), "b": np.array(-3.0)}
    result = mipclass.solve(models.zero_one(X, y, sample_weight=weights), solver="exact", warm_start=start)
    assert result.certified
    assert result.claim == "proven"


def test_refusals_name_a_way_out():
    X, y = overlapping(20, 2)
    limited = models.zero_one(X, y, subject_to=[models.FalsePositiveRate(at_most=0.1)])
    with pytest.raises(UnsupportedProgramError, match="iis"):
        mipclass.solve(limited, solver="box")
    with pytest.raises(UnsupportedProgramError, match="highs"):
        mipclass.solve(models.Model(X, y, minimize=models.Hinge()), solver="exact")
    with pytest.raises(UnsupportedProgramError, match="15 features"):
        mipclass.solve(models.zero_one(*overlapping(20, 18)), solver="box")
    assert mipclass.solve(limited).solver == "exact"


def test_the_estimator_proves_its_rule():
    X, y = overlapping(40, 3, seed=6)
    model = mipclass.ZeroOneClassifier(solver="exact").fit(X, y)
    assert model.result_.certified
    assert model.loss_ == model.bound_ == (model.predict(X) != y).sum()


def test_without_certificate_when_asked():
    X, y = overlapping(30, 2)
    result = mipclass.solve(models.zero_one(X, y), solver="exact", options={"certificate": False})
    assert result.claim == "proven"
    assert result.certificate is None
    assert not result.certified


def test_the_gap_is_relative_to_the_whole_loss():
    """Equal points with opposite labels cost any rule something, which is part of the loss that the gap is about."""
    X, y = overlapping(60, 3)
    twins = np.random.default_rng(1).normal(size=(100, 3))
    X, y = np.vstack([X, twins, twins]), np.concatenate([y, np.full(100, min(y)), np.full(100, max(y))])
    result = mipclass.solve(models.zero_one(X, y), solver="iis", gap=0.1)
    assert result.status == "optimal"
    assert result.certified
    left_open = result.objective - result.bound
    assert 0.1 * (result.objective - len(twins)) < left_open <= 0.1 * result.objective
