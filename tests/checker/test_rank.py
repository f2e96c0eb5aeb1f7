"""The checker's exact rank against Gaussian elimination in fractions, and the reach of a map, which depends on it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mipclass.certificates.certificate import floats
from mipclass.checker.arithmetic import Rejected, exact_rank, whole_row
from mipclass.checker.points.images import check_reach
from mipclass.checker.points.vectors import Vectors
from mipclass.checker.scope import Scope

NO_MARGIN = Scope(Fraction(0), [])


def rank_by_elimination(rows, width):
    """Gaussian elimination of the whole matrix, column by column, in fractions."""
    left = [[Fraction(value) for value in row] for row in rows]
    rank = 0
    for column in range(width):
        at = next((i for i in range(rank, len(left)) if left[i][column]), None)
        if at is None:
            continue
        left[rank], left[at] = left[at], left[rank]
        for i in range(rank + 1, len(left)):
            factor = left[i][column] / left[rank][column]
            left[i] = [a - factor * b for a, b in zip(left[i], left[rank], strict=True)]
        rank += 1
    return rank


def _matrices(random):
    """Small and large whole numbers, matrices of low rank, zero rows, equal rows and no rows at all."""
    n, width, inner = random.integers(0, 9), random.integers(1, 7), random.integers(1, 5)
    yield random.integers(-2, 3, (n, width)).tolist(), int(width)
    yield (random.integers(-3, 4, (n, inner)) @ random.integers(-3, 4, (inner, width))).tolist(), int(width)
    large = [[int(a) << int(b) for a, b in zip(*pair, strict=True)] for pair in zip(
        random.integers(-5, 6, (n, width)).tolist(), random.integers(0, 200, (n, width)).tolist(), strict=True
    )]  # fmt: skip
    yield large + large, int(width)


@pytest.mark.parametrize("seed", range(60))
def test_rank_is_that_of_gaussian_elimination(seed):
    random = np.random.default_rng(seed)
    for rows, width in _matrices(random):
        assert exact_rank(rows, width) == rank_by_elimination(rows, width)


def test_rank_is_read_from_as_few_rows_as_show_it():
    rows = iter([[1, 2], [2, 4], [0, 3], [5, 5], [7, 1]])
    assert exact_rank(rows, 2) == 2
    assert len(list(rows)) == 1, "one row is read ahead"


@pytest.mark.parametrize("seed", range(20))
def test_whole_rows_are_multiples_of_the_rows(seed):
    random = np.random.default_rng(seed)
    row = [Fraction(int(a), int(b)) for a, b in random.integers(1, 50, (5, 2))] + [Fraction(0)]
    found = whole_row(row)
    assert all(isinstance(value, int) for value in found)
    assert len({value / part for value, part in zip(found[:-1], row[:-1], strict=True)}) == 1
    assert found[0] > 0
    assert found[-1] == 0


def _reaches(Z, M):
    """Whether the checker is content with the map M."""
    try:
        check_reach({"columns": M.shape[1], "map": floats(M)}, Vectors(Z), NO_MARGIN, "here")
    except Rejected:
        return False
    return True


@pytest.mark.parametrize("seed", range(60))
def test_a_map_reaches_every_rule_if_and_only_if_the_ranks_agree(seed):
    random = np.random.default_rng(seed)
    n, width = int(random.integers(1, 12)), int(random.integers(1, 6))
    columns, inner = int(random.integers(1, width + 1)), int(random.integers(1, width + 1))
    Z = (random.integers(-3, 4, (n, inner)) @ random.integers(-2, 3, (inner, width))).astype(float) / 8.0
    M = random.integers(-2, 3, (width, columns)).astype(float) / 4.0
    ranks = {rank_by_elimination(rows.tolist(), rows.shape[1]) for rows in (Z, Z @ M)}  # the product is exact
    assert _reaches(Z, M) == (ranks == {columns})
