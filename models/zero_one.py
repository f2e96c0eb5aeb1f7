"""Direct 0-1 loss (Nguyen & Sanner 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modelling.algebra import Constraint
from ..modelling.model import Model
from .rules import Linear
from .zero_one_loss import ZeroOne


def zero_one(
    X: Any,
    y: Any,
    *,
    intercept: bool = True,
    subject_to: Sequence[Constraint] = (),
    big_m: float | None = None,
    **data: Any,
) -> Model:
    """Fewest misclassified points by a hyperplane.

    Data        points x_i, labels y_i in {-1, +1}, weights c_i > 0;  n distinct labelled points, d features
    Variables   w in R^d, b, error_i in {0, 1}
    Minimise    sum_i c_i error_i
    Subject to  error_i = 0  implies  y_i (w.x_i + b) >= 1
                |w_j| <= K / max_i |x_ij - mean_j|,   |b + w.mean| <= R + 1       (normalisation; see models/normalisation.py)
    Size        n + d + 1 columns (n binary), n + 2 rows (n with an indicator)
    Reference   T. T. Nguyen, S. Sanner: Algorithms for Direct 0-1 Loss Optimization in Binary Classification.
                ICML 2013, problem (8).

    `data` takes Model's sample_weight, class_weight, feature_names and pos_label.
    """
    return Model(
        X,
        y,
        rule=Linear(intercept=intercept),
        minimize=ZeroOne(big_m=big_m),
        subject_to=subject_to,
        name="zero_one",
        **data,
    )
