"""Checkpoints: a proof that was killed goes on from its folder; other problems' folders and damaged files are refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.errors import InvalidInputError, MipclassWarning, OptionError
from mipclass.methods.exact import provers
from mipclass.methods.exact.box import piece_pass
from mipclass.methods.exact.few import at_once as few_at_once
from mipclass.methods.exact.whole import tasks as whole_tasks
from mipclass.methods.exact.whole import tree_pass
from mipclass.protocol import checkpoint
from mipclass.protocol.result import Status
from tests.breadth import mostly_slow
from tests.paths import ROOT


def points(seed: int = 0, n: int = 60, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + rng.normal(0, 2, n) > 0, 1, -1)


def lattice(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Few values per feature: many points meet in a vertex, and lemmas are needed."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (40, 5)).astype(float)
    return X, np.where(X.sum(axis=1) + rng.normal(0, 1.5, 40) > 2.5, 1, -1)


@pytest.fixture
def every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of a few boxes, each followed by a state on disk."""
    monkeypatch.setattr(piece_pass, "MOST_VISITS", 200)
    monkeypatch.setattr(checkpoint, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SAVE_SHARE", 1e9)


def stopped_after(nodes: int, X: np.ndarray, y: np.ndarray, folder: Path, **more: Any) -> Any:
    return mipclass.solve(
        models.zero_one(X, y), solver="box", options={"checkpoint": folder, "node_limit": nodes}, **more
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("make", [points, lattice])
def test_a_stopped_proof_goes_on_where_it_was(every_task, tmp_path, threads, make):
    X, y = make()
    whole = mipclass.solve(models.zero_one(X, y), solver="box")
    first = stopped_after(max(1, (whole.nodes or 0) // 2), X, y, tmp_path / "run", threads=threads)
    assert first.status is Status.NODE_LIMIT
    again = mipclass.solve(
        models.zero_one(X, y), solver="box", threads=threads, options={"checkpoint": str(tmp_path / "run")}
    )
    assert again.status is Status.OPTIMAL
    assert again.certified
    assert again.bound == whole.bound
    assert again.nodes < 0.9 * whole.nodes
    third = mipclass.solve(models.zero_one(X, y), solver="box", options={"checkpoint": tmp_path / "run"})
    assert (third.nodes, third.certified, third.bound) == (0, True, whole.bound)


PROOF = """
import sys, numpy as np, mipclass
from mipclass import models
from mipclass.methods.exact import provers
from mipclass.methods.exact.box import piece_pass
from mipclass.methods.exact.few import at_once as few_at_once
from mipclass.methods.exact.whole import tasks as whole_tasks
from mipclass.methods.exact.whole import tree_pass
from mipclass.protocol import checkpoint
piece_pass.MOST_VISITS, checkpoint.SAVE_SECONDS, checkpoint.SAVE_SHARE = 20_000, 0.0, 1e9
data = np.load(sys.argv[1])
mipclass.solve(models.zero_one(data["X"], data["y"]), solver="box", threads=int(sys.argv[3]), options={"checkpoint": sys.argv[2]})
"""


@pytest.mark.parametrize("threads", mostly_slow([1, 2], fast=[2]))
def test_a_killed_process_loses_only_what_was_under_way(tmp_path, threads):
    X, y = points(n=120, d=5)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", PROOF, str(tmp_path / "data.npz"), str(folder), str(threads)], cwd=ROOT
    )
    deadline = time.monotonic() + 120
    while len(list(folder.glob("*/tree-*"))) < 60 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, "the proof ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    [state] = folder.glob("*/state")
    kept = checkpoint.Store(state.parent).read_json("state")
    whole = mipclass.solve(models.zero_one(X, y), solver="box", options={"checkpoint": tmp_path / "another"})
    events: list[Any] = []
    again = mipclass.solve(models.zero_one(X, y), solver="box", callback=events.append, options={"checkpoint": folder})
    assert again.status is Status.OPTIMAL
    assert again.certified
    assert again.bound == whole.bound
    # The next pass may grow another tree than that of the killed process, so that its size says nothing; what was on disk was not done again.
    assert kept["lower"] > 0
    assert all(event.bound >= kept["lower"] for event in events)
    if kept["pass"] is not None:
        told = next(event.extra for event in events if "share" in event.extra)
        assert told["target"] == kept["pass"]["target"]
        assert told["share"] == pytest.approx(kept["pass"]["done_share"], abs=1e-4)


def test_the_folder_of_another_problem_is_refused(every_task, tmp_path):
    X, y = points()
    stopped_after(5, X, y, tmp_path / "run")
    with pytest.raises(InvalidInputError, match="belongs to another problem"):
        stopped_after(5, X + 1, y, tmp_path / "run")
    with pytest.raises(InvalidInputError, match="belongs to another problem"):
        mipclass.solve(
            models.Model(X, y, minimize=models.ZeroOne(), sample_weight=np.arange(1.0, 61)),
            solver="box",
            options={"checkpoint": tmp_path / "run"},
        )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="it is no checkpoint"):
        stopped_after(5, X, y, tmp_path / "other")
    with pytest.raises(InvalidInputError, match="must be a folder"):
        stopped_after(5, X, y, tmp_path / "other" / "letter.txt" / "run")
    with pytest.raises(OptionError, match="a path"):
        mipclass.solve(models.zero_one(X, y), solver="box", options={"checkpoint": 3})


@pytest.mark.parametrize("name", ["problem.json", "state", "tree-*"])
@pytest.mark.parametrize("fault", ["cut", "changed", "missing"])
def test_damaged_files_are_refused(every_task, tmp_path, name, fault):
    X, y = points()
    stopped_after(20, X, y, tmp_path / "run")
    path = next(iter(sorted((tmp_path / "run").rglob(name))))
    raw = bytearray(path.read_bytes())
    if fault == "missing":
        if name != "tree-*":
            pytest.skip("without a header the folder is no checkpoint, without a state it is a new one")
        path.unlink()
    else:
        raw[len(raw) // 2] ^= 1
        path.write_bytes(bytes(raw[: len(raw) // 2] if fault == "cut" else raw))
    with pytest.raises(InvalidInputError, match=r"damaged|has format|another problem"):
        stopped_after(20, X, y, tmp_path / "run")


@pytest.fixture
def every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state on disk after every step of branch and cut, whose nodes are tasks from the second one on."""
    monkeypatch.setattr(provers, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SAVE_SHARE", 1e9)


def many_features(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((70, 11))
    return X, np.where(X[:, 0] + rng.normal(0, 1.2, 70) > 0, 1, -1)


def stopped_at(problem: Any, nodes: int, folder: Path, **more: Any) -> Any:
    return mipclass.solve(
        problem, solver="iis", options={"checkpoint": folder}, callback=lambda event: (event.nodes or 0) < nodes, **more
    )


@pytest.mark.parametrize("threads", mostly_slow([1, 2], fast=[1]))
def test_a_stopped_branch_and_cut_goes_on_where_it_was(every_node, tmp_path, threads):
    problem = models.zero_one(*many_features())
    whole = mipclass.solve(problem, solver="iis")
    assert whole.nodes > 4
    first = stopped_at(problem, 2, tmp_path / "run", threads=threads)
    assert first.status is Status.INTERRUPTED
    assert first.claim == "heuristic"
    begun: list[float] = []
    again = mipclass.solve(
        problem,
        solver="iis",
        threads=threads,
        options={"checkpoint": tmp_path / "run"},
        callback=lambda event: begun.append(event.bound),
    )
    assert (again.status, again.bound, again.certified) == (Status.OPTIMAL, whole.bound, True)
    assert min(begun) >= first.bound  # nothing that was known is lost
    third = mipclass.solve(problem, solver="iis", options={"checkpoint": tmp_path / "run"})
    assert (third.nodes, third.certified, third.bound) == (0, True, whole.bound)


@pytest.mark.slow
def test_branch_and_cut_under_limits_goes_on_where_it_was(every_node, tmp_path):
    X, y = many_features(1)
    problem = models.zero_one(X, y, subject_to=[models.FalsePositiveRate(at_most=0.05)])
    whole = mipclass.solve(problem, solver="iis")
    first = stopped_at(problem, max(1, whole.nodes // 2), tmp_path / "run")
    assert first.claim == "heuristic"
    assert list((tmp_path / "run").glob("iis-*/state"))
    again = mipclass.solve(problem, solver="iis", options={"checkpoint": tmp_path / "run"})
    assert first.bound <= again.bound
    assert (again.status, again.bound, again.certified) == (Status.OPTIMAL, whole.bound, True)


def test_a_damaged_state_of_branch_and_cut_is_refused(every_node, tmp_path):
    problem = models.zero_one(*many_features())
    stopped_at(problem, 2, tmp_path / "run")
    [path] = (tmp_path / "run").rglob("state")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(InvalidInputError, match="damaged"):
        stopped_at(problem, 2, tmp_path / "run")


def composed(kind: str) -> Any:
    """A problem with features to choose, in which every set is proven by itself, or one with whole weights."""
    X, y = points(n=40, d=4)
    wanted = {
        "features": [models.MaxFeatures(2)],
        "features under a limit": [models.MaxFeatures(2), models.FalsePositiveRate(0.3)],
        "whole weights": [models.IntegerCoefficients(3)],
    }
    return models.Model(X, y, minimize=models.ZeroOne(), subject_to=wanted[kind])


@pytest.fixture
def every_set(every_task: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tasks over sets of features and boxes of weights, each followed by a state on disk."""
    monkeypatch.setattr(few_at_once, "LEAST_WORK", 1)
    monkeypatch.setattr(tree_pass, "ALONE_CHUNKS", 1)
    monkeypatch.setattr(tree_pass, "LEAST_CHUNKS", 1)
    monkeypatch.setattr(tree_pass, "MOST_CHUNKS", 1)
    monkeypatch.setattr(whole_tasks, "CHUNK", 1e4)


@pytest.mark.parametrize(
    ("kind", "threads"),
    mostly_slow(
        [(kind, threads) for kind in ("features", "features under a limit", "whole weights") for threads in (1, 2)],
        fast=[("features", 1), ("whole weights", 2)],
    ),
)
def test_features_to_choose_and_whole_weights_go_on_where_they_were(every_set, tmp_path, kind, threads):
    problem = composed(kind)
    whole = mipclass.solve(problem, solver="exact")
    assert whole.certified
    options = {"checkpoint": tmp_path / "run"}
    first = mipclass.solve(problem, solver="exact", options={**options, "node_limit": whole.nodes // 2})
    assert first.status is Status.NODE_LIMIT
    again = mipclass.solve(problem, solver="exact", threads=threads, options=options)
    assert again.certified
    assert (again.status, again.objective, again.bound) == (whole.status, whole.objective, whole.bound)
    if threads == 1:  # with several workers the number of nodes depends on who was first
        assert again.nodes < whole.nodes
    last = mipclass.solve(problem, solver="exact", options=options)
    assert last.certified
    assert (last.nodes, last.objective, last.bound) == (0, whole.objective, whole.bound)


@pytest.mark.parametrize(("kind", "name"), [("features", "answers-0"), ("whole weights", "state")])
def test_damaged_files_of_composed_problems_are_refused(every_set, tmp_path, kind, name):
    problem, options = composed(kind), {"checkpoint": tmp_path / "run"}
    mipclass.solve(problem, solver="exact", options={**options, "node_limit": 300})
    [path] = (tmp_path / "run").rglob(name)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(InvalidInputError, match="damaged"):
        mipclass.solve(problem, solver="exact", options=options)


def test_the_search_of_scip_says_that_nothing_is_kept(tmp_path):
    pytest.importorskip("pyscipopt")
    X, y = points(n=20, d=2)
    with pytest.warns(MipclassWarning, match="keeps nothing of SCIP's search"):
        mipclass.solve(models.zero_one(X, y), solver="iis", options={"checkpoint": tmp_path / "run", "master": "scip"})
