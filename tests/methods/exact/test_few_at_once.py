"""Sets of features as tasks: by threads, processes and a cluster the same answer as by one thread, with an accepted certificate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import joblib
import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.methods.exact.few import at_once, support
from mipclass.methods.exact.few.reach import Reach
from mipclass.methods.exact.few.support import Target, prove_support
from mipclass.methods.exact.few.supports import SupportSets, mask_of
from mipclass.methods.exact.form import match_proof
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run
from tests.breadth import mostly_slow
from tests.methods.exact.test_few import least_with_few
from tests.truth.zero_one import KINDS, tiny_instance

from .workers import dask_cluster, kill_first_worker, small_pieces

FAST = {"local_steps": 200}


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of one set, and pieces of a few boxes."""
    monkeypatch.setattr(at_once, "LEAST_WORK", 1)
    small_pieces(monkeypatch)


def clouds(seed: int, n: int = 50, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] - X[:, 1] + 1.5 * rng.normal(size=n) > 0, 1, -1)


def same(problem: Any, threads: int, **options: Any) -> Any:
    """The answer of several threads, which is that of one thread."""
    one, several = (mipclass.solve(problem, "exact", threads=count, options=options) for count in (1, threads))
    assert one.status == several.status
    assert one.certified
    assert several.certified
    assert one.objective == several.objective
    assert one.bound == several.bound
    return several


@pytest.mark.parametrize("threads", mostly_slow([2, 3], fast=[2]))
@pytest.mark.parametrize("cost", [0.0, 0.5])
def test_every_number_of_threads_proves_the_same(small_tasks, threads, cost):
    count = 0
    for seed in range(2):
        X, y = clouds(seed)
        objective = models.ZeroOne() + cost * models.L0() if cost else models.ZeroOne()
        problem = models.Model(X, y, minimize=objective, subject_to=models.MaxFeatures(2))
        count += len(same(problem, threads).extra["tasks"])
    assert count > 4


@pytest.mark.parametrize("kind", mostly_slow(KINDS, fast=("gaussian", "binary", "duplicates")))
def test_threads_find_the_least_loss_of_enumeration(small_tasks, kind):
    for seed in range(2):
        X, y, weights = tiny_instance(seed, kind, (3, 4), (5, 7))
        for most, cost in ((2, 0.0), (3, 0.25)):
            objective = models.ZeroOne() + cost * models.L0() if cost else models.ZeroOne()
            problem = models.Model(X, y, minimize=objective, subject_to=models.MaxFeatures(most), sample_weight=weights)
            assert same(problem, 2, **FAST).objective == least_with_few(X, y, weights, most, cost)


@pytest.mark.parametrize("rate", [0.0, 0.2])
@pytest.mark.parametrize("seed", mostly_slow(range(3), fast=[0]))
def test_limits_and_signs_are_kept_by_threads(small_tasks, seed, rate):
    X, y = clouds(seed, 20, 4)
    wanted = [models.MaxFeatures(2), models.FalsePositiveRate(rate), models.Monotone({0: 1})]
    same(models.Model(X, y, minimize=models.ZeroOne(), subject_to=wanted), 2, **FAST)


def test_a_problem_without_rules_is_infeasible_with_threads_too(small_tasks):
    X, y = clouds(0, 20, 3)
    wanted = [models.MaxFeatures(2), models.FalsePositiveRate(0.0), models.FalseNegativeRate(0.0)]
    found = same(models.Model(X, y, minimize=models.ZeroOne(), subject_to=wanted), 2, **FAST)
    assert found.status is Status.INFEASIBLE


def test_sets_that_take_too_long_are_proven_by_all_workers(small_tasks, monkeypatch):
    """Tasks may hardly visit a point and try no larger sets: every set is left to the end, and grown in pieces."""
    monkeypatch.setattr(at_once, "MOST_WORK", 1)
    monkeypatch.setattr(Reach, "next", lambda self: 0)
    X, y = clouds(1, 40, 4)
    result = same(models.zero_one(X, y, subject_to=[models.MaxFeatures(3)]), 2)
    proofs = [entry["proof"] for entry in result.certificate.content["lower"]["proofs"]]
    assert any("pieces" in proof.get("proof", {}) for proof in proofs)


@pytest.mark.parametrize("backend", mostly_slow(["threading", "loky"], fast=["threading"]))
def test_tasks_go_through_the_configured_backend(small_tasks, backend):
    X, y = clouds(2)
    problem = models.zero_one(X, y, subject_to=[models.MaxFeatures(2)])
    alone = mipclass.solve(problem, "exact")
    with joblib.parallel_config(backend, n_jobs=2):
        result = mipclass.solve(problem, "exact")
    assert result.certified
    assert (result.objective, result.bound) == (alone.objective, alone.bound)
    assert len(result.extra["tasks"]) > 1


def test_a_dask_cluster_proves_the_same(small_tasks):
    X, y = clouds(2)
    problem = models.zero_one(X, y, subject_to=[models.MaxFeatures(2)])
    alone = mipclass.solve(problem, "exact")
    with dask_cluster():
        result = mipclass.solve(problem, "exact")
    assert result.certified
    assert (result.objective, result.bound) == (alone.objective, alone.bound)


@pytest.mark.slow
def test_the_tasks_of_a_killed_process_are_done_again(small_tasks, monkeypatch):
    """One worker of the pool is killed by its first task."""
    killed = kill_first_worker(monkeypatch)
    X, y = clouds(3)
    with joblib.parallel_config("loky", n_jobs=2):
        result = mipclass.solve(models.zero_one(X, y, subject_to=[models.MaxFeatures(2)]), "exact")
    assert killed
    assert result.certified
    assert result.status is Status.OPTIMAL


def test_a_time_limit_ends_threads_and_keeps_a_rule():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 24)), rng.choice([-1, 1], 600)
    result = mipclass.solve(
        models.zero_one(X, y, subject_to=[models.MaxFeatures(5)]), "exact", threads=2, time_limit=3.0, options=FAST
    )
    assert result.status is Status.TIME_LIMIT
    assert result.objective is not None


def test_a_target_that_falls_ends_a_search_under_way(monkeypatch):
    """The search asks whether to stop after each chunk; meanwhile a rule is found elsewhere that leaves nothing to prove."""
    monkeypatch.setattr(support, "CHUNK", 2000)
    X, y = clouds(4, 200, 4)
    form = match_proof(models.zero_one(X, y), plain=True)
    start = np.append(np.zeros(4), 1.0)
    target = Target(None)
    full = prove_support(form, target, Run.quiet(), start)
    assert full.nodes > 20

    class Falling(Run):
        def stop(self) -> Status | None:
            target.cost = Fraction(1)
            return None

    target.cost = full.bound
    fallen = prove_support(form, target, Falling(), start, most_work=10**9)
    assert fallen.nodes < full.nodes
    assert 1 <= fallen.bound < full.bound


def test_sets_that_a_task_is_about_are_neither_open_nor_closed():
    sets = SupportSets(range(5), 2)
    within = mask_of([0, 1, 2])
    assert sets.hold(within) == 3
    assert sets.hold(mask_of([0, 1, 3])) == 2  # without {0, 1}, which the first task is about
    assert sets.holder(mask_of([0, 1])) == within
    assert (sets.n_free, sets.count_open(within)) == (5, 0)
    sets.close(mask_of([0, 2]))
    sets.release(within)
    assert sets.holder(mask_of([0, 1])) is None
    assert (sets.n_free, sets.count_open(within)) == (7, 2)
    assert sets.is_closed(mask_of([0, 2]))
