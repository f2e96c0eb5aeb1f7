"""A worker process of a Dask cluster is killed in the middle of a proof: the same answer, and only what it was at is done again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest

import mipclass
from benchmarks.studies.zero_one.parallel_proofs import tasks_begun
from mipclass import models
from mipclass.methods.exact.few import at_once
from mipclass.methods.exact.whole import tasks, tree_pass
from mipclass.protocol.crew import DaskCrew
from mipclass.protocol.tasks import without_answer

from .workers import small_pieces

KILLED_AT = 3
"""The task with whose submission a worker is killed."""

MOST_REPEATED = 4
"""A worker has one task under way and one waiting; answers that it kept and that nobody had fetched are as many at most."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="pip install 'mipclass[dask]'")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def clouds(kind: str) -> Any:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, (60, 4)).astype(float)
    y = np.where(2 * X[:, 0] - X[:, 1] + 2 * rng.normal(size=60) > 2, 1, -1)
    if kind == "boxes":
        return models.zero_one(X[:, :3] + 0.01 * rng.normal(size=(60, 3)), y)
    if kind == "features":
        X = rng.normal(size=(60, 8))
        return models.zero_one(
            X, np.where(X[:, 0] + 2 * rng.normal(size=60) > 0, 1, -1), subject_to=[models.MaxFeatures(2)]
        )
    return models.zero_one(X, y, subject_to=[models.IntegerCoefficients(2), models.MaxFeatures(2)])


@pytest.mark.parametrize("kind", ["boxes", "features", "whole"])
def test_a_killed_worker_costs_what_it_was_at(client, kind, monkeypatch):
    problem, solver = clouds(kind), "box" if kind == "boxes" else "exact"
    alone = mipclass.solve(problem, solver)
    small_pieces(monkeypatch)
    monkeypatch.setattr(at_once, "LEAST_WORK", 1)
    monkeypatch.setattr(tasks, "CHUNK", 1.0)
    monkeypatch.setattr(tree_pass, "ALONE_CHUNKS", 1)
    submitted: list[Any] = []
    with tasks_begun() as begun, joblib.parallel_config("dask"), monkeypatch.context() as patched:
        submit = DaskCrew.submit

        def deadly(self: DaskCrew, function: Any, token: Any, *arguments: Any) -> Any:
            if function is without_answer:
                return submit(self, function, token, *arguments)
            submitted.append(function)
            if len(submitted) == KILLED_AT:
                victim = min(client.run(os.getpid).values())
                os.kill(victim, signal.SIGKILL)
            return submit(self, function, token, *arguments)

        patched.setattr(DaskCrew, "submit", deadly)
        result = mipclass.solve(problem, solver)
        repeated = begun() - len(submitted)
    assert len(submitted) > KILLED_AT
    assert result.certified
    assert (result.objective, result.bound) == (alone.objective, alone.bound)
    assert repeated <= MOST_REPEATED
