"""Smooth 0-1 loss approximation (SLA): Algorithms 3 and 4 of Nguyen & Sanner (2013).

Minimise    L_K(w) = sum_i c_i / (1 + exp(K t_i w.(x_i, 1)))   for K = 2, 20, 200, each from the last solution,
on standardised features from a linear SVM's rule, by gradient descent with backtracking and, at a local minimum, by
probes of one coordinate at a time within a radius that shrinks as K grows. A probe costs O(N).

Constants the paper leaves out: max_rate 0.01, min_rate 1e-5, eps_L 0.001 for up to 1000 points (the loss is a sum, so
beyond that the rates shrink and eps_L grows with the number of points), eps_G 0.001.

variant="paper"    the algorithm as printed.
variant="default"  after each K the best rule is polished by exact line searches along the coordinates, which is the same
                   descent at K = infinity; the next K starts from the smooth solution all the same.
Claim              heuristic: the best 0-1 loss seen, counted on the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from ...arrays import Array
from ...protocol.options import Option, number
from .method import COMMON_OPTIONS, VARIANT_OPTION, Found, LossSearch, PlainZeroOne
from .prepared import count_loss
from .walk import LocalResult

CROWD = 1_000.0
"""Points (by weight) up to which the paper's constants are used as they are."""

PIECE = 5e6
"""Margins computed in one call of the compiled search: between two calls the caller may stop it."""

SLACK = 1e-12
"""K is multiplied step by step; rounding must not exclude the last one."""

IMPROVEMENT = 1e-9
"""Fraction of the loss by which a line search must lower it: the weights of this search are relative ones, and less is
rounding in their sums."""


@dataclass(frozen=True)
class SlaConstants:
    """r_R, R_0, r_eps, eps_S0, r_K, K_min, K_max as in the paper; the others as the module's text says."""

    K_min: float = 2.0
    K_max: float = 200.0
    r_K: float = 10.0
    R_0: float = 8.0
    r_R: float = 0.5
    eps_S0: float = 0.2
    r_eps: float = 0.5
    max_rate: float = 0.01
    min_rate: float = 1e-5
    eps_L: float = 1e-3
    eps_G: float = 1e-3


def smooth_search(
    Z: Array,
    weights: Array,
    w0: Array,
    constants: SlaConstants | None = None,
    *,
    polish: bool = True,
    stop: Callable[[], object] | None = None,
    on_improvement: Callable[[Array, float, int], None] | None = None,
) -> LocalResult:
    """SLA on rows z_i = t_i (x_i, 1) of standardised features, from the rule w0; steps counts descents and probes."""
    from .kernels import sla as kernel

    c = constants or SlaConstants()
    Z = np.ascontiguousarray(Z, dtype=np.float64)
    columns = np.ascontiguousarray(Z.T)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    w = np.array(w0, dtype=np.float64)
    best, best_w, best_loss = w.copy(), w.copy(), np.array([count_loss(Z, weights, w)])
    loss = float(best_loss[0])
    crowd = max(1.0, float(weights.sum()) / CROWD)
    budget = max(4, int(PIECE / max(1, Z.shape[0])))
    K, radius, eps_step, steps = c.K_min, c.R_0, c.eps_S0, 0

    def tell() -> None:
        nonlocal best, loss
        if best_loss[0] < loss:
            best, loss = best_w.copy(), float(best_loss[0])
            if on_improvement is not None:
                on_improvement(best, loss, steps)

    while c.K_max * (1 + SLACK) >= K:
        at = kernel.SmoothDescent(w, Z @ w, best_w, best_loss, np.zeros(5, dtype=np.int64))
        rates = c.max_rate / crowd, c.min_rate / crowd
        stage = kernel.Stage(K, radius, eps_step, *rates, c.eps_L * crowd, c.eps_G * crowd)
        while at.place[kernel.PLACE] != kernel.DONE and loss > 0.0:
            if stop is not None and stop():
                return LocalResult(best, loss, steps)
            before = int(at.place[kernel.STEPS] + at.place[kernel.PROBES])
            kernel.sla_steps(columns, weights, at, stage, budget)
            steps += int(at.place[kernel.STEPS] + at.place[kernel.PROBES]) - before
            tell()
        if polish:
            polish_coordinates(Z, columns, weights, best_w, best_loss)
            tell()
        K, radius, eps_step = K * c.r_K, radius * c.r_R, eps_step * c.r_eps
    return LocalResult(best, loss, steps)


def polish_coordinates(Z: Array, columns: Array, weights: Array, best_w: Array, best_loss: Array) -> None:
    """Exact line searches along the coordinates until none lowers the loss; in place."""
    from ...numeric.random import random_state
    from .kernels.pencil import rule_at, sweep, work_arrays

    n, m = Z.shape
    work, state = work_arrays(n), random_state(0)
    improved = True
    while improved and best_loss[0] > 0.0:
        improved = False
        for j in range(m):
            axis = np.zeros(m)
            axis[j] = np.linalg.norm(best_w)
            target = best_loss[0] * (1.0 - IMPROVEMENT)
            found, low, high, side = sweep(Z @ best_w, columns[j] * axis[j], weights, 0.0, target, False, state, work)
            if np.isinf(found):
                continue
            w = rule_at(0.5 * (low + high), side, best_w, axis)
            loss = count_loss(Z, weights, w)
            if loss < best_loss[0]:
                best_w[:], best_loss[0], improved = w, loss, True


class SmoothApproximation(PlainZeroOne):
    """Descent on a smoothed 0-1 loss; see the module's docstring."""

    name = "sla"
    promise = "heuristic: descent on a smoothed loss, milliseconds for a thousand points"
    options = (
        COMMON_OPTIONS
        | VARIANT_OPTION
        | {
            f.name: Option(f.default, f"constant {f.name} of Algorithms 3 and 4", number(0))
            for f in fields(SlaConstants)
        }
    )

    def search(self, task: LossSearch) -> Found:
        """SLA over standardised features, with the options of the run."""
        options, data = task.run.options, task.data
        constants = SlaConstants(**{f.name: options[f.name] for f in fields(SlaConstants)})
        to_user = task.form.points.standardising

        def on_improvement(w: Array, loss: float, steps: int) -> None:
            task.on_improvement(to_user @ w, data.cost(to_user @ w), steps)

        got = smooth_search(
            data.Z @ to_user,
            data.relative_weights,
            np.asarray(np.linalg.solve(to_user, task.start), dtype=np.float64),
            constants,
            polish=options["variant"] != "paper",
            stop=task.run.stop,
            on_improvement=on_improvement,
        )
        return Found(to_user @ got.w, stopped=task.run.stop(), iterations=got.steps)
