"""`mipclass fit --dask ADDRESS`: the tasks of a proof run on the workers of the cluster at that address."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.app.conftest import Call
from tests.methods.exact.workers import small_pieces


def test_fit_runs_its_tasks_on_the_workers(mipclass: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="pip install 'mipclass[dask]'")
    small_pieces(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + 2.0 * rng.normal(size=120) > 0, "high", "low")
    lines = [",".join([*(f"{value:.4f}" for value in row), label]) for row, label in zip(X, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,state", *lines, ""]))
    fit = ("fit", "t.csv", "--target", "state", "--solver", "box", "--json")
    alone = json.loads(mipclass(*fit).stdout)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        done = mipclass(*fit, "--dask", cluster.scheduler_address)
        carried_out = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["objective"], found["bound"]) == (alone["objective"], alone["bound"])
    assert len(carried_out) == 2
    assert sum(carried_out.values()) >= 5
