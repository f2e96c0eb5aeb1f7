"""Branch and cut by several workers: the same answer as by one thread, with an accepted certificate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from typing import Any

import joblib
import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.methods.exact import provers
from mipclass.methods.exact.iis import at_once, root, subtrees, tree
from mipclass.methods.exact.iis.cover import plain_cover
from mipclass.methods.exact.iis.row_store import RowStore
from mipclass.methods.zero_one.prepared import prepare
from mipclass.protocol.result import Status
from mipclass.protocol.tasks import Orders
from tests.breadth import mostly_slow
from tests.paths import ROOT
from tests.truth.zero_one import KINDS, least_loss, tiny_instance

from .workers import dask_cluster, kill_first_worker, wait_for_workers


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of one node, from the second node on, in trees that are large since nodes are hardly cut."""
    monkeypatch.setattr(root, "MOST_POINTS", 0)
    monkeypatch.setattr(tree, "PATIENCE", 1)
    monkeypatch.setattr(tree, "LARGE_PATIENCE", 1)
    monkeypatch.setattr(tree, "CUTS_PER_ROUND", 10)
    monkeypatch.setattr(provers, "ALONE_SECONDS", 0.0)
    wait_for_workers(monkeypatch)
    monkeypatch.setattr(at_once, "LEAST_SECONDS", 0.0)


def clouds(seed: int, n: int = 40, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap so much that the root does not close the tree."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 3.0 * rng.normal(size=n) > 0, 1, -1)


def same(problem: Any, threads: int) -> Any:
    """The answer of several threads, which is that of one thread."""
    one = mipclass.solve(problem, "iis")
    with joblib.parallel_config("threading", n_jobs=threads):
        several = mipclass.solve(problem, "iis")
    assert one.status == several.status
    assert one.certified
    assert several.certified
    assert (one.objective, one.bound) == (several.objective, several.bound)
    return several


@pytest.mark.parametrize("threads", mostly_slow([2, 3], fast=[3]))
def test_every_number_of_threads_proves_the_same(small_tasks, threads):
    count = 0
    for seed in (2, 3):
        X, y = clouds(seed, 50)
        count += len(same(models.zero_one(X, y), threads).extra.get("tasks", ()))
    assert count > 10


@pytest.mark.parametrize("kind", mostly_slow(KINDS, fast=("gaussian", "lattice", "collinear")))
def test_threads_find_the_least_loss_of_enumeration(small_tasks, kind):
    for seed in range(2):
        X, y, weights = tiny_instance(seed, kind, (2, 3), (9, 12))
        problem = models.Model(X, y, minimize=models.ZeroOne(), sample_weight=weights)
        assert same(problem, 2).objective == least_loss(X, y, weights)


@pytest.mark.parametrize("margin", [0, 1])
def test_limits_rows_and_margins_are_kept_by_threads(small_tasks, margin):
    X, y = clouds(5, 24, 3)
    wanted = [models.FalsePositiveRate(0.2), models.Monotone({0: 1})]
    same(models.Model(X, y, minimize=models.ZeroOne(margin=margin), subject_to=wanted), 2)


def test_a_problem_without_rules_is_infeasible_with_threads_too(small_tasks):
    X, y = clouds(0, 24, 3)
    wanted = [models.FalsePositiveRate(0.05), models.FalseNegativeRate(0.05)]
    found = same(models.Model(X, y, minimize=models.ZeroOne(), subject_to=wanted), 2)
    assert found.status is Status.INFEASIBLE


@pytest.mark.parametrize("is_configured", mostly_slow([False, True], fast=[False]))
def test_processes_prove_the_same(small_tasks, is_configured):
    """Those that joblib names, and those that stand for threads."""
    X, y = clouds(2, 50)
    alone = mipclass.solve(models.zero_one(X, y), "iis")
    with joblib.parallel_config("loky", n_jobs=2) if is_configured else nullcontext():
        result = mipclass.solve(models.zero_one(X, y), "iis", threads=1 if is_configured else 2)
    assert result.certified
    assert (result.objective, result.bound) == (alone.objective, alone.bound)
    assert len(result.extra["tasks"]) > 2


def test_a_dask_cluster_proves_the_same(small_tasks):
    X, y = clouds(2, 50)
    alone = mipclass.solve(models.zero_one(X, y), "iis")
    with dask_cluster():
        result = mipclass.solve(models.zero_one(X, y), "iis")
    assert result.certified
    assert (result.objective, result.bound) == (alone.objective, alone.bound)
    assert len(result.extra["tasks"]) > 2


@pytest.mark.slow
def test_the_tasks_of_a_killed_process_are_done_again(small_tasks, monkeypatch):
    """One worker of the pool is killed by its first task."""
    X, y = clouds(2, 50)
    killed = kill_first_worker(monkeypatch)
    with joblib.parallel_config("loky", n_jobs=2):
        result = mipclass.solve(models.zero_one(X, y), "iis")
    assert killed
    assert result.certified
    assert result.status is Status.OPTIMAL


def test_a_task_knows_what_the_search_has_found_and_brings_back_what_it_finds(small_tasks):
    """The worker's own search goes on from one task to the next."""
    X, y = clouds(2, 50)
    work = subtrees.NodeWork(plain_cover(X, y, prepare(X, y)))
    search, told = tree.IISSearch(work.data), RowStore()
    while search.nodes < 3:
        search.step(lambda: False)
    starts = []
    search.master.refuse(np.array([0]))  # as if float arithmetic had got it wrong
    for seed in range(3):
        node = search.hand_out()
        told.append(search.master.supports[len(told) :])
        known = (told.packed(), search.master.refused, search.master.rows)
        start = subtrees.NodeStart(node.wrong, node.right, *known, search.centre, search.level(1), seed)
        found = subtrees.grow_subtree(work, start, 0.0, Orders(search.best))
        before = set(search.master.supports)
        subtrees.adopt(found, node, search)
        search.take_back(node, [node if leaf is found.root else leaf for leaf in found.opened], found.unresolved)
        assert set(search.master.supports) == before | set(found.supports)
        assert subtrees._KEPT.worker.search.master.index.keys() >= set(search.master.supports)
        assert len(subtrees._KEPT.worker.search.master.refused)
        starts.append(start)
    assert search.lower > 0
    # A task whose worker was lost comes to another one, which knows more by then.
    late = subtrees.grow_subtree(work, starts[0], 0.0, Orders(search.best))
    assert late.nodes > 0


def test_limits_end_threads_and_keep_a_proven_bound():
    X, y = clouds(0, 150, 12)
    result = mipclass.solve(models.zero_one(X, y), "iis", threads=2, time_limit=5.0)
    assert result.status is Status.TIME_LIMIT
    assert result.bound is not None
    assert 0 < result.bound < result.objective


INTERRUPTED = """
import numpy as np
from mipclass import models, solve

rng = np.random.default_rng(0)
X = rng.standard_normal((400, {d}))
y = np.where(X[:, 0] + rng.normal(0, 2, 400) > 0, 1, -1)
result = solve(models.zero_one(X, y), "exact", threads=2, callback=lambda event: print("at work", flush=True))
print("status", result.status, result.bound is not None)
"""


@pytest.mark.parametrize("d", mostly_slow([9, 12], fast=[9]))
def test_ctrl_c_reaches_all_processes_and_returns_the_incumbent(d):
    """As in a terminal, whose interrupts go to the whole group: a race of boxes and branch and cut, and branch and cut alone."""
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(d=d)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(6.0)  # by then the other processes are at work
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out.endswith("status interrupted True\n"), err
