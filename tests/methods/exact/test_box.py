"""box: rounding, conflicts and lemmas against slow twins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mipclass import models, solve
from mipclass.methods.exact.box.lemmas import FEW
from mipclass.methods.exact.box.proof import BoxProof, CoverProof
from mipclass.methods.exact.box.search import BoxSearch
from mipclass.methods.exact.box.tasks import nearby
from mipclass.methods.exact.rational import exact_product, integer_matrix, rank, round_rows, rounded_product
from mipclass.methods.zero_one.prepared import prepare
from tests.truth.zero_one import least_loss


def never() -> None:
    return None


@given(st.lists(st.lists(st.integers(-50, 50), min_size=3, max_size=3), min_size=1, max_size=6))
def test_rank_of_whole_rows(rows):
    assert rank([list(row) for row in rows]) == np.linalg.matrix_rank(np.array(rows))


@given(seed=st.integers(0, 10**6))
def test_rounding_is_within_its_stated_error(seed):
    rng = np.random.default_rng(seed)
    A, M = rng.standard_normal((4, 3)), rng.standard_normal((3, 3))
    exact = exact_product(A, M)
    for row, want in zip(exact, A @ M, strict=True):
        assert np.allclose(np.array([float(Fraction(v, max(map(abs, row)))) for v in row]), want / np.abs(want).max())
    rounded, err = round_rows([[3, -1, 2], [4, 2, 1]], 3)
    assert rounded.tolist() == [[8, -3, 5], [8, 4, 2]]
    assert err.tolist() == [0.5, 0.0]
    Q, err = round_rows(exact, 21)
    for row, q, e in zip(exact, Q, err, strict=True):
        scale = Fraction(2**21, max(map(abs, row)))
        assert all(abs(v * scale - Fraction(int(c))) <= Fraction(e) for v, c in zip(row, q, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_rounded_products_are_those_of_exact_arithmetic(seed):
    random = np.random.default_rng(seed)
    A, M = random.standard_normal((300, 4)), random.standard_normal((4, 4))
    A[:100] = random.integers(1, 4, (100, 4))
    A[100:150] *= 2.0 ** random.integers(-1060, 900, (50, 1))
    if seed % 2:
        M = np.eye(4) * 0.5
    Q, err = rounded_product(A, M, 21)
    exact_Q, exact_err = round_rows(exact_product(A, M), 21)
    assert (exact_Q == Q).all()
    assert (err == exact_err).all()


def test_columns_of_a_matrix_become_whole():
    assert integer_matrix(np.array([[0.5, 6.0], [0.25, 3.0]])) == [[2, 2], [1, 1]]


@pytest.mark.parametrize("few", [0, FEW])
def test_lattices_are_settled_by_lemmas(few):
    """Of either kind: by boxes in the smaller space (few = 0), or by infeasible subsystems."""
    kinds = set()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, (12, 4)).astype(float)
        y = rng.choice([-1.0, 1.0], 12)
        data = prepare(X, y)
        weights = data.counts.counts
        search = BoxSearch(data.Z, weights, few=few)
        search.advance(never)
        assert search.finished
        assert search.lower + data.constant == least_loss(X, y, np.ones(12))
        kinds |= {type(lemma) for lemma in search.lemmas.proofs}
    assert kinds == {CoverProof if few else BoxProof}


def test_a_lemma_speaks_of_no_more_points_than_it_needs():
    # Classes +, -, + along a line cannot all be right; the last point is off that line, so that no other set is to blame.
    Z = np.array([[-1.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    lemmas = BoxSearch(Z, np.ones(4, np.int64)).lemmas
    assert lemmas.find(np.arange(4, dtype=np.int32), 1, never)
    assert lemmas.proofs[0].rows.tolist() == [0, 1, 2]
    assert [part.tolist() for part in lemmas.table] == [[0, 3], [0, 1, 2], [1]]
    assert not lemmas.find(np.arange(4, dtype=np.int32), 2, never)
    assert (lemmas.counterexample @ Z.T <= 0).sum() == 1
    assert len(lemmas.proofs) == 1


def test_a_step_from_a_vertex_decides_its_ties():
    """At W = (1, 0) the last row is a tie; a step in the direction that gets it right is the better rule."""
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0]])
    search = BoxSearch(Z, np.ones(3, np.int64), np.array([1.0, 0.0]))
    assert search.best == 1
    for W in nearby(np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        search.offer(W)
    assert search.best == 0
    assert (Z @ search.best_W > 0).all()


def test_the_bound_rises_and_a_stop_keeps_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.sign(X.sum(axis=1) + rng.normal(0, 2, 120))
    data = prepare(X, y)
    weights = data.counts.counts
    first = BoxSearch(data.Z, weights)
    first.advance(never)
    search = BoxSearch(data.Z, weights, first.best_W)
    seen: list[int] = []
    search.advance(never, on_progress=lambda: seen.append(search.lower))
    assert search.finished
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
    assert search.lower == first.lower
    paused = BoxSearch(data.Z, weights)
    while not paused.finished:
        paused.advance(lambda: True)
    assert paused.lower == search.lower


@pytest.mark.parametrize("threads", [1, 2])
def test_points_that_almost_meet_in_one_vertex_are_settled(threads):
    """Three points within 1e-8 of a line cannot all be right, yet could be if the far points were on other sides: no box is small
    enough to see it, and a lemma about the three alone does not hold."""
    random = np.random.default_rng(0)
    far = random.uniform(-3, 3, (20, 2))
    far[:, 1] = np.r_[random.uniform(2, 5, 10), random.uniform(-5, -2, 10)]
    X = np.vstack([far, [[-1, 0], [0, 1e-8], [1, 0]]])
    y = np.r_[np.ones(10), -np.ones(10), 1, -1, 1]
    result = solve(models.zero_one(X, y), solver="box", threads=threads)
    assert (result.status, result.objective, result.bound, result.certified) == ("optimal", 1, 1, True)
