"""Kicks of an incumbent of the hard-margin loss: some of its points change sides, then errors come back one by one where that pays.

Points are positives 0 .. n+ - 1 and negatives n+ .. n - 1; a rule is given by the points that it keeps right, and costs
4 a / |v|^2 + price (sum of the costs of the others), v the difference of the nearest points of the hulls of the kept ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernels.decorator import njit
from ....numeric.hulls import nearest_points
from .local import BETTER, ON_FACE, SUPPORT, descend

TRIED = 8  # errors that are tried before one comes back: those nearest to their margins
NEAREST = -1.0  # argument of the nearest-point problem that is to be solved to the end
NOBODY = -1  # no error comes back


@njit(cache=True)
def _hulls(P: Any, N: Any, kept: Any, enough: float) -> Any:
    """(|v|^2, v, members): v of the nearest points of the kept points' hulls and the points it rests on; |v| is infinite when a class is empty."""
    rows, columns = np.flatnonzero(kept[: len(P)]), np.flatnonzero(kept[len(P) :])
    if len(rows) == 0 or len(columns) == 0:
        return np.inf, np.zeros(P.shape[1]), rows[:0]
    first, second, _, v, _ = nearest_points(P[rows], N[columns], enough)
    return np.dot(v, v), v, np.concatenate((rows[first], len(P) + columns[second]))


@njit(cache=True)
def _margins(P: Any, N: Any, kept: Any, v: Any, square: float) -> Any:
    """Margins of the widest rule along v that keeps the kept points right."""
    up, down = P @ v * (2.0 / square), N @ v * (2.0 / square)
    middle = (up[kept[: len(P)]].min() + down[kept[len(P) :]].max()) / 2
    return np.concatenate((up - middle, middle - down))


@njit(cache=True)
def _come_back(P: Any, N: Any, costs: Any, kept: Any, banned: Any, terms: Any, hulls: int) -> Any:
    """v after errors came back, in place, as long as that lowers the cost or the errors cost more than the limit; banned ones stay.

    hulls : nearest-point problems after which no further error comes back.
    """
    a, price, most, most_p, most_n = terms
    square, v, _ = _hulls(P, N, kept, NEAREST)
    next_square, next_v = square, v
    while hulls > 0 and np.isfinite(square) and square > 0.0:
        margins = _margins(P, N, kept, v, square)
        of_p, of_n = 0.0, 0.0
        for p in range(len(kept)):
            kept[p] = kept[p] or (margins[p] >= 1 - ON_FACE and not banned[p])
            if not kept[p] and p < len(P):
                of_p += costs[p]
            elif not kept[p]:
                of_n += costs[p]
        waiting = ~(kept | banned)
        if of_p > most_p or of_n > most_n:  # only errors of a class with too many
            waiting[: len(P)] &= of_p > most_p
            waiting[len(P) :] &= of_n > most_n
        is_allowed = of_p + of_n <= most and of_p <= most_p and of_n <= most_n
        waiting = np.flatnonzero(waiting)
        least, chosen = 4 * a / square * (1 - BETTER) if is_allowed else np.inf, NOBODY
        for p in waiting[np.argsort(-margins[waiting])][:TRIED]:
            if hulls <= 0 or least + price * costs[p] <= 0.0:
                continue
            hulls -= 1
            enough = 4 * a / (least + price * costs[p])
            kept[p] = True
            if _hulls(P, N, kept, enough)[0] > enough:
                hulls -= 1
                found, along, _ = _hulls(P, N, kept, NEAREST)
                if found > enough:
                    least, chosen, next_square, next_v = 4 * a / found - price * costs[p], p, found, along
            kept[p] = False
        if chosen == NOBODY:
            break
        kept[chosen], square, v = True, next_square, next_v
    return v


@njit(cache=True)
def _force(P: Any, N: Any, costs: Any, kept: Any, banned: Any, forced: int, enough: float, draws: Any) -> bool:
    """Keep an error right and drop, in place, one point of each subsystem that conflicts with it; False when that cannot be.

    enough : |v|^2 up to which a subsystem conflicts.
    """
    kept[forced] = True
    for draw in draws:
        square, _, members = _hulls(P, N, kept, enough)
        if square > enough:
            return True
        free = members[(members != forced) & np.isfinite(costs[members])]
        if len(free) == 0:
            return False
        p = free[int(draw * len(free))]
        kept[p], banned[p] = False, True
    return False


@njit(cache=True)
def kick(P: Any, N: Any, costs: Any, rule: Any, terms: Any, drops: int, draws: Any, hulls: int) -> Any:
    """(cost, w, b): so many support points are dropped, or for 0 an error is forced right, and then errors come back.

    draws : numbers in [0, 1) that choose.   hulls : nearest-point problems in each of the three steps, at most about.
    """
    cost, w, b = rule
    all_costs = np.concatenate(costs)
    margins = np.concatenate((P @ w + b, -(N @ w + b)))
    kept, banned = margins >= 1 - ON_FACE, np.zeros(len(margins), np.bool_)
    supports, errors = np.flatnonzero(kept & (margins <= 1 + SUPPORT) & np.isfinite(all_costs)), np.flatnonzero(~kept)
    if drops > 0 and len(supports) > 0:
        for draw in draws[:drops]:
            p = supports[int(draw * len(supports))]
            kept[p], banned[p] = False, True
    elif len(errors) > 0:
        errors = errors[np.argsort(-margins[errors])]
        forced = errors[int(draws[0] * draws[1] * len(errors))]
        if not _force(P, N, all_costs, kept, banned, forced, 4 * terms[0] / cost, draws[2 : 2 + hulls]):
            return rule
    if not (kept[: len(P)].any() and kept[len(P) :].any()):
        return rule
    _come_back(P, N, all_costs, kept, banned, terms, hulls)
    v = _come_back(P, N, all_costs, kept, np.zeros(len(kept), np.bool_), terms, hulls)
    return descend(P, N, costs, v, terms)
