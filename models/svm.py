"""The soft-margin support vector machine, as a QP (L2) or an LP (L1)."""

from __future__ import annotations

from typing import Any, Literal

from ..errors import InvalidInputError
from ..modelling.model import Model
from .losses import Hinge
from .penalties import L1, L2
from .rules import Linear


def hinge_svm(
    X: Any, y: Any, C: float = 1.0, *, penalty: Literal["l2", "l1"] = "l2", intercept: Any = True, **data: Any
) -> Model:
    """Hinge loss with an L2 or L1 penalty.

    Data        points x_i, labels y_i in {-1, +1}, weights c_i;  n distinct labelled points, d features
    Variables   w in R^d, b, slack_i >= 0 (and abs_w >= |w| with L1)
    Minimise    1/2 w'w + C sum_i c_i slack_i           or   |w|_1 + C sum_i c_i slack_i
    Subject to  y_i (w.x_i + b) >= 1 - slack_i
    Size        L2: n + d + 1 columns, n rows.   L1: n + 2d + 1 columns, n + 2d rows
    Reference   C. Cortes, V. Vapnik: Support-Vector Networks. Machine Learning 20, 1995.
    """
    if penalty not in ("l1", "l2"):
        raise InvalidInputError(f"penalty must be 'l1' or 'l2'; got {penalty!r}.")
    shrink = 0.5 * L2() if penalty == "l2" else 1.0 * L1()
    return Model(X, y, rule=Linear(intercept=intercept), minimize=shrink + C * Hinge(), name="hinge_svm", **data)
