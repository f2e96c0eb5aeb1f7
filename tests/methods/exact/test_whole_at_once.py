"""Whole weights by several workers: the tree of one thread in parts, the same answer, and an accepted certificate."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.methods.exact.whole import tasks, tree_pass
from mipclass.protocol.result import Status
from tests.breadth import mostly_slow
from tests.truth.zero_one import KINDS, tiny_instance

from .workers import dask_cluster, kill_first_worker


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of four boxes, from the second box on."""
    monkeypatch.setattr(tasks, "CHUNK", 1.0)
    monkeypatch.setattr(tree_pass, "ALONE_CHUNKS", 1)


def cards(seed: int, n: int = 60, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, d)).astype(float)
    return X, np.where(2 * X[:, 0] - X[:, 1] + 2 * rng.normal(size=n) > 2, 1, -1)


def same(problem: Any, threads: int = 2) -> tuple[Any, Any]:
    """The answers of one thread and of several, which are the same."""
    one, several = (mipclass.solve(problem, "exact", threads=count) for count in (1, threads))
    assert one.status == several.status
    assert one.certified
    assert several.certified
    assert (one.objective, one.bound) == (several.objective, several.bound)
    return one, several


@pytest.mark.parametrize("threads", mostly_slow([2, 3], fast=[3]))
def test_the_parts_are_those_of_the_tree_of_one_thread(small_tasks, threads):
    """Where the first rule is the best one the targets never change, and so neither does the tree."""
    for seed in range(2):
        X, y = cards(seed)
        problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(2), models.MaxFeatures(2)])
        one, several = same(problem, threads)
        assert len(several.extra["tasks"]) > 10
        assert one.nodes == several.nodes
        assert one.certificate.content["lower"]["tree"] == several.certificate.content["lower"]["tree"]
        assert "tasks" not in one.extra


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("margin", [0, 1])
def test_every_number_of_threads_proves_the_same(small_tasks, kind, margin):
    for seed, offset, cost, rate in ((0, True, 0.0, None), (1, False, 0.5, None), (2, True, 0.0, 0.3)):
        X, y, weights = tiny_instance(seed, kind, (2, 3), (6, 9))
        loss = models.ZeroOne(margin=margin)
        problem = models.Model(
            np.round(X, 1),
            y,
            minimize=loss + cost * models.L0() if cost else loss,
            subject_to=[
                models.IntegerCoefficients(2, intercept=offset),
                models.MaxFeatures(2),
                *([] if rate is None else [models.FalsePositiveRate(rate)]),
            ],
            sample_weight=weights,
        )
        same(problem)


def test_a_rule_that_a_task_finds_is_the_incumbent_of_all(small_tasks, monkeypatch):
    """Without first rules but zero weights, tasks have to find every better one."""
    from mipclass.methods.exact.whole import search

    monkeypatch.setattr(search, "DESCENTS", 0.0)
    monkeypatch.setattr(search, "FEWEST_DESCENTS", 0)
    for seed in range(3):
        X, y = cards(seed, 40, 3)
        same(models.zero_one(X, y, subject_to=[models.IntegerCoefficients(3)]), 3)


@pytest.mark.parametrize("backend", mostly_slow(["threading", "loky"], fast=["threading"]))
def test_tasks_go_through_the_configured_backend(small_tasks, backend):
    X, y = cards(2)
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(2), models.MaxFeatures(2)])
    alone = mipclass.solve(problem, "exact")
    with joblib.parallel_config(backend, n_jobs=2):
        result = mipclass.solve(problem, "exact")
    assert result.certified
    assert (result.objective, result.bound, result.nodes) == (alone.objective, alone.bound, alone.nodes)
    assert len(result.extra["tasks"]) > 10


def test_a_dask_cluster_proves_the_same(small_tasks):
    X, y = cards(2)
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(2), models.MaxFeatures(2)])
    alone = mipclass.solve(problem, "exact")
    with dask_cluster():
        result = mipclass.solve(problem, "exact")
    assert result.certified
    assert (result.objective, result.bound) == (alone.objective, alone.bound)


@pytest.mark.slow
def test_the_tasks_of_a_killed_process_are_done_again(small_tasks, monkeypatch):
    """One worker of the pool is killed by its first task."""
    killed = kill_first_worker(monkeypatch)
    X, y = cards(3)
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(2), models.MaxFeatures(2)])
    with joblib.parallel_config("loky", n_jobs=2):
        result = mipclass.solve(problem, "exact")
    assert killed
    assert result.certified
    assert result.status is Status.OPTIMAL


def test_limits_end_threads_and_keep_a_rule():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 14)).round(2), rng.choice([-1, 1], 400)
    problem = models.zero_one(X, y, subject_to=[models.IntegerCoefficients(5)])
    for options, limit, status in (({}, 4.0, Status.TIME_LIMIT), ({"node_limit": 3000}, None, Status.NODE_LIMIT)):
        result = mipclass.solve(problem, "exact", threads=2, time_limit=limit, options=options)
        assert result.status is status
        assert result.objective is not None
        assert result.certified
