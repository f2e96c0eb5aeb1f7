"""Proofs in pieces: by threads, processes and a cluster the same bound as by one thread, with a certificate that the checker accepts."""

from __future__ import annotations

import copy
from concurrent.futures import wait
from typing import Any

import joblib
import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.errors import InvalidInputError
from mipclass.methods.exact.box import parts, piece_pass
from mipclass.methods.exact.box.kernels.state import HANDED, LEAF, MOST_NEW, OPEN, Boxes, BoxTree
from mipclass.methods.exact.box.piece_pass import Help
from mipclass.methods.exact.box.pieces import PackedTree, Piece, Slices, joined
from mipclass.methods.exact.box.search import BoxSearch
from mipclass.methods.exact.box.tasks import grow_pieces
from mipclass.protocol.crew import ThreadCrew, crew_for
from mipclass.protocol.result import Status
from mipclass.protocol.tasks import SettingUp
from tests.breadth import mostly_slow
from tests.truth.zero_one import least_loss

from .workers import dask_cluster, kill_first_worker, small_pieces


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of a few boxes, from the first box on."""
    small_pieces(monkeypatch)
    monkeypatch.setattr(parts, "LEAST_VISITS", 3000)


def points(seed: int, n: int = 40, d: int = 3, kind: str = "normal") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) if kind == "normal" else rng.integers(0, 4, (n, d)).astype(float)
    return X, np.where(X[:, 0] + rng.normal(0, 1.5, n) > 0, 1, -1)


def pieces_of(result: Any) -> list[dict[str, Any]]:
    lower = result.certificate.content["lower"]
    return list(lower["proof"]["pieces"]) if lower["kind"] == "box" else []


@pytest.mark.parametrize("threads", mostly_slow([2, 3], fast=[3]))
@pytest.mark.parametrize("kind", ["normal", "lattice"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_number_of_threads_proves_the_same(small_tasks, threads, kind, weighted):
    count_of_pieces = 0
    for seed in range(3):
        X, y = points(seed, kind=kind)
        weights = np.random.default_rng(seed).integers(1, 9, len(y)).astype(float) if weighted else None
        results = [
            mipclass.solve(
                models.Model(X, y, minimize=models.ZeroOne(), sample_weight=weights), solver="box", threads=count
            )
            for count in (1, threads)
        ]
        assert [r.status for r in results] == [Status.OPTIMAL] * 2
        assert results[0].objective == results[1].objective == results[1].bound
        assert all(r.certified for r in results)
        assert mipclass.verify(results[1].certificate, X, y, threads=2).optimal
        count_of_pieces += len(pieces_of(results[1]))
    assert count_of_pieces > 3


@pytest.mark.parametrize("kind", ["normal", "lattice"])
def test_pieces_join_to_the_tree_that_they_are_parts_of(small_tasks, kind):
    X, y = points(5, 60, kind=kind)
    signed = np.column_stack([X * y[:, None], y]).astype(float)
    ones = np.ones(len(y), dtype=np.int64)
    in_pieces = BoxSearch(signed, ones, help=Help(ThreadCrew(2), lambda: np.inf, None))
    assert in_pieces.advance(lambda: False)
    assert len(in_pieces.proven_pieces) > 3
    again = BoxSearch(signed, ones, in_pieces.best_W)
    again.tree = in_pieces.whole_tree()
    for lemma in in_pieces.lemmas.proofs:
        again.lemmas.add(lemma)
    size = len(again.tree.ops)
    assert size == sum(piece.nodes - len(piece.children) for piece in in_pieces.proven_pieces.values())
    assert again.advance(lambda: False, goal=in_pieces.lower)
    assert again.lower == in_pieces.lower
    assert len(again.proven_tree.ops) <= size  # nothing had to be halved once more


def test_a_root_inside_a_tree_has_room_for_its_own_conflicts_alone():
    def tree(ops, counts):
        pairs = np.arange(3 * sum(counts), dtype=np.int32).reshape(-1, 3) % 100
        lemmas = np.arange(ops.count(OPEN), dtype=np.int32)
        return BoxTree(np.array(ops, np.uint8), np.array(counts, np.uint16), pairs, lemmas)

    first, second = tree([1, HANDED, OPEN], [2, 5, 1]), tree([2, LEAF, OPEN], [MOST_NEW + 40, 0, 3])
    box = Boxes.blank(1, 3)
    found = joined({0: Piece(box, PackedTree.of(first), (7,)), 7: Piece(box, PackedTree.of(second))})
    assert found.ops.tolist() == [1, 2, LEAF, OPEN, OPEN]
    assert found.counts.tolist() == [2, MOST_NEW, 0, 3, 1]
    expected = np.concatenate([first.pairs[:2], second.pairs[40:], first.pairs[7:]])
    assert (found.pairs == expected).all()
    assert found.lemmas.tolist() == [0, 0]


@pytest.mark.parametrize("seed", mostly_slow([6, 11], fast=[11]))
def test_limits_that_prices_do_not_close_go_on_from_the_pieces(small_tasks, seed):
    X, y = points(seed, 60)
    problem = models.neyman_pearson(X, y, 0.15)
    one, two = (mipclass.solve(problem, "exact", threads=count) for count in (1, 2))
    assert one.objective == two.objective == two.bound
    assert two.extra["parts"] > one.extra["parts"] > 1  # parts that use up their budgets leave boxes to further parts
    assert two.certified


@pytest.mark.parametrize("seed", mostly_slow(range(4), fast=[0, 2]))
def test_limits_rows_and_weights_are_proven_in_parts(small_tasks, seed):
    X, y = points(seed, 40, 2 + seed % 2, kind="lattice" if seed % 2 else "normal")
    wanted = [models.FalsePositiveRate(0.1 + 0.1 * (seed % 2)), *([models.Monotone({0: 1})] if seed > 1 else [])]
    weights = np.random.default_rng(seed).integers(1, 5, len(y)).astype(float)
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=wanted, sample_weight=weights)
    one, three = (mipclass.solve(problem, "exact", threads=count) for count in (1, 3))
    assert one.objective == three.objective == three.bound
    assert three.certified


@pytest.mark.slow
def test_processes_prove_parts(monkeypatch):
    monkeypatch.setattr(parts, "LEAST_VISITS", 20_000)
    X, y = points(6, 60)
    problem = models.neyman_pearson(X, y, 0.15)
    alone = mipclass.solve(problem, "exact")
    with joblib.parallel_config("loky", n_jobs=2):
        result = mipclass.solve(problem, "exact")
    assert (result.objective, result.bound) == (alone.objective, alone.bound)
    assert result.extra["parts"] > 1
    assert result.certified


def test_threads_find_the_least_loss_of_enumeration(small_tasks):
    for seed in range(5):
        X, y = points(seed, n=12, d=2)
        result = mipclass.solve(models.zero_one(X, y), solver="box", threads=2)
        assert result.certified
        assert result.objective == least_loss(X, y)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_tasks_go_through_the_configured_backend(small_tasks, backend):
    X, y = points(1)
    alone = mipclass.solve(models.zero_one(X, y), solver="box")
    with joblib.parallel_config(backend, n_jobs=2):
        result = mipclass.solve(models.zero_one(X, y), solver="box")
    assert result.certified
    assert result.bound == alone.bound
    assert len(pieces_of(result)) > 3
    # joblib's own calls find their processes as if nothing had been there.
    assert joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(abs)(k) for k in (-1, -2)) == [1, 2]


def test_other_backends_are_refused():
    with joblib.parallel_config("multiprocessing", n_jobs=2), pytest.raises(InvalidInputError, match="'loky', 'thr"):
        crew_for(1)


def test_a_dask_cluster_proves_the_same(small_tasks):
    X, y = points(2)
    with dask_cluster():
        result = mipclass.solve(models.zero_one(X, y), solver="box")
    assert result.certified
    assert result.status is Status.OPTIMAL


def test_the_tasks_of_a_killed_process_are_done_again(small_tasks, monkeypatch):
    """One worker of the pool is killed by its first task."""
    X, y = points(3)
    killed = kill_first_worker(monkeypatch)
    with joblib.parallel_config("loky", n_jobs=2):
        result = mipclass.solve(models.zero_one(X, y), solver="box")
    assert killed
    assert result.certified
    assert result.status is Status.OPTIMAL


def test_a_time_limit_ends_threads_and_keeps_a_bound():
    X, y = points(0, n=400, d=7)
    result = mipclass.solve(models.zero_one(X, y), solver="box", threads=2, time_limit=6.0, options={"local_steps": 10})
    assert result.status is Status.TIME_LIMIT
    assert result.bound is not None
    assert result.bound > 0


def test_a_tree_is_cut_into_the_subtrees_that_follow():
    """In preorder: 1 (leaf, 2 (leaf, handed)), then a leaf; read so far: the root and its first leaf."""
    ops = np.array([1, 0, 2, 0, HANDED, 0], np.uint8)
    counts = np.array([1, 0, 2, 0, 1, 1], np.uint16)
    pairs = np.arange(15, dtype=np.int32).reshape(5, 3)
    slices = Slices(BoxTree(ops, counts, pairs, np.zeros(0, np.int32)), 2, 1)
    above = np.array([[90, 91, 1, 1]])
    tree, handed = slices.take(above, lambda rows: rows.astype(np.int32))
    own = tree.unpacked()
    assert (own.ops.tolist(), own.counts.tolist(), handed) == ([2, 0, HANDED], [3, 0, 1], 1)
    assert own.pairs.tolist() == [*pairs[1:3].tolist(), [90, 91, 1], *pairs[3:4].tolist()]
    tree, handed = slices.take(above, lambda rows: rows[:1].astype(np.int32))
    assert (tree.unpacked().ops.tolist(), tree.unpacked().pairs.tolist(), handed) == ([0], pairs[4:].tolist(), 0)
    assert not slices.has_more


def test_small_pieces_become_one_task_where_messages_take_time(small_tasks, monkeypatch):
    monkeypatch.setattr(ThreadCrew, "sees_memory", False)
    X, y = points(2, n=50)
    submit, sizes = ThreadCrew.submit, []

    def noting(self: ThreadCrew, function: Any, token: Any, *arguments: Any) -> Any:
        if function is grow_pieces:
            sizes.append(len(arguments[0]))
        return submit(self, function, token, *arguments)

    monkeypatch.setattr(ThreadCrew, "submit", noting)
    alone = mipclass.solve(models.zero_one(X, y), "box")
    together = mipclass.solve(models.zero_one(X, y), "box", threads=2)
    assert max(sizes) > 1
    assert len(together.extra["tasks"]) <= len(sizes) < sum(sizes)
    assert together.certified
    assert (together.objective, together.bound) == (alone.objective, alone.bound)


def test_the_caller_works_by_itself_until_the_workers_are_set_up(small_tasks, monkeypatch):
    monkeypatch.setattr(SettingUp, "is_over", False)
    X, y = points(2)
    result = mipclass.solve(models.zero_one(X, y), "box", threads=2)
    assert result.certified
    assert result.extra["tasks"]
    assert all(task.by_caller for task in result.extra["tasks"])


@pytest.mark.parametrize("looks", [10**9, 12])
def test_threads_of_the_caller_work_until_processes_are_set_up(small_tasks, monkeypatch, looks):
    """After so many looks the processes are ready; what threads have begun comes back first, and nothing is proven twice or left out."""
    seen = iter(range(10**9))
    monkeypatch.setattr(
        SettingUp, "is_over", property(lambda self: next(seen) >= looks and bool(wait(self._tasks) or True))
    )
    X, y = points(2)
    alone = mipclass.solve(models.zero_one(X, y), "box")
    with joblib.parallel_config("loky", n_jobs=2):
        together = mipclass.solve(models.zero_one(X, y), "box")
    by_caller = {task.by_caller for task in together.extra["tasks"]}
    assert by_caller == ({True} if looks > 100 else {True, False})
    assert together.certified
    assert (together.objective, together.bound) == (alone.objective, alone.bound)


@pytest.mark.parametrize(("to_come", "by_caller"), [(None, {False}), (100.0, {False}), (1.0, {True})])
def test_processes_are_set_up_for_proofs_that_go_on_for_long(small_tasks, monkeypatch, to_come, by_caller):
    """Tasks after the processes were asked for are theirs; for the last second of a proof nobody asks."""
    monkeypatch.setattr(piece_pass, "WORTH_SECONDS", 5.0)
    monkeypatch.setattr(BoxSearch, "seconds_to_come", lambda self: to_come)
    X, y = points(2)
    with joblib.parallel_config("loky", n_jobs=2):
        result = mipclass.solve(models.zero_one(X, y), "box")
    assert {task.by_caller for task in result.extra["tasks"]} == by_caller
    assert result.certified


@pytest.fixture(scope="module")
def in_pieces() -> tuple[Any, np.ndarray, np.ndarray]:
    X, y = points(1)
    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch)
        result = mipclass.solve(models.zero_one(X, y), solver="box", threads=2)
    return result.certificate.content, X, y


def _without_a_piece(pieces: list[Any]) -> None:
    pieces.pop()


def _other_box(pieces: list[Any]) -> None:
    pieces[-1]["high"], pieces[-1]["low"] = pieces[-1]["low"], pieces[-1]["high"]


def _other_tree(pieces: list[Any]) -> None:
    pieces[1]["tree"] = pieces[2]["tree"]


def _to_itself(pieces: list[Any]) -> None:
    """A piece that hands its own box to itself would prove everything."""
    from mipclass.certificates.certificate import pack

    number = len(pieces) - 1
    tree = BoxTree(
        np.array([HANDED], np.uint8), np.zeros(1, np.uint16), np.zeros((0, 3), np.int32), np.zeros(0, np.int32)
    )
    pieces[number]["tree"] = PackedTree.of(tree).content()
    pieces[number]["handed_to"] = pack(np.array([number], np.int32))


def _no_list(pieces: list[Any]) -> None:
    pieces.clear()


@pytest.mark.parametrize("fault", [_without_a_piece, _other_box, _other_tree, _to_itself, _no_list])
@pytest.mark.parametrize("threads", [1, 2])
def test_tampered_pieces_are_rejected(in_pieces, fault, threads):
    content, X, y = in_pieces
    assert mipclass.verify(content, X, y, threads=threads)
    changed = copy.deepcopy(content)
    fault(changed["lower"]["proof"]["pieces"])
    verdict = mipclass.verify(changed, X, y, threads=threads)
    assert not verdict
    assert "piece" in verdict.place + verdict.reason
