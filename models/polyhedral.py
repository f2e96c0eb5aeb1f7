"""Polyhedral separation (Astorino & Gaudioso 2002) and its case h = 1, the robust LP (Bennett & Mangasarian 1992)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import is_number
from ..errors import InvalidInputError
from ..modelling.model import Model
from .losses import AverageViolation
from .penalties import L1
from .point_sets import PointSets
from .rules import Linear, Polyhedron


def polyhedral(
    X: Any, y: Any, h: int = 2, *, inside: Any = None, l1: float = 0.0, box: float | None = None, **data: Any
) -> Model:
    """One class inside h half-spaces, each point of the other outside at least one of them.

    Data        A: the points of class `inside` (the positive class by default), B: the others; weights
                m and k distinct points, n features
    Variables   v in R^(h x n), g in R^h, slack >= 0, assign_lj in {0, 1} for the points of B
    Minimise    mean_i slack_i (over A) + mean_l slack_l (over B) + l1 |v|_1
    Subject to  slack_i >= v_j.a_i - g_j + 1 for all j;  slack_l >= -v_j.b_l + g_j + 1 when assign_lj = 1;
                sum_j assign_lj = 1
    Size        h (n + 1) + m + k + h k columns (h k binary), h m + k + h k rows (h k with an indicator);
                without the h k binaries and k rows for h = 1; with l1 > 0 another h n columns and 2 h n rows
    Reference   A. Astorino, M. Gaudioso: Polyhedral Separability through Successive LP. JOTA 112, 2002.

    `box` limits |v| for solvers without native indicators; an l1 > 0 implies such a limit. `data` takes Model's
    sample_weight, class_weight, feature_names and pos_label.
    """
    if not is_number(l1) or not 0 <= l1 < np.inf:
        raise InvalidInputError(f"l1 must be a finite number >= 0; got {l1!r}.")
    objective = AverageViolation() + float(l1) * L1() if l1 > 0 else AverageViolation()
    model = Model(X, y, rule=Polyhedron(h, box=box), minimize=objective, name="polyhedral", **data)
    if inside is None or model.data.side_of(inside, "inside") == "positive":
        return model
    return Model.from_data(model.data, rule=Polyhedron(h, "negative", box), minimize=objective, name="polyhedral")


def rlp(X: Any, y: Any, *, l1: float = 0.0, **data: Any) -> Model:
    """Robust linear programming: least average violation by one hyperplane.

    Data        A: positive points, B: the others; weights;  n distinct points, d features
    Variables   w in R^d, b, slack >= 0                       (the papers' v = -w, gamma = b)
    Minimise    mean_i slack_i (over A) + mean_l slack_l (over B) + l1 |w|_1
    Subject to  y_i (w.x_i + b) >= 1 - slack_i
    Size        n + d + 1 columns, n rows; with l1 > 0 another d columns and 2 d rows
    Reference   K. P. Bennett, O. L. Mangasarian: Robust Linear Programming Discrimination of Two Linearly Inseparable
                Sets. Optimization Methods and Software 1, 1992.

    The optimum is 0 exactly when the classes are linearly separable. When their means coincide it is 2, attained by
    w = 0: no hyperplane beats the trivial one.
    """
    objective = AverageViolation() + float(l1) * L1() if l1 > 0 else AverageViolation()
    return Model(X, y, rule=Linear(), minimize=objective, name="rlp", **data)


def point_sets(model: Model) -> PointSets:
    """The model's data as the successive LPs read them: merged points, shares in the class means, l1 prices.

    Points are sorted, so that the search depends on the points and their weights and not on the order of the rows.
    """
    points = model.points
    X = points.X.toarray() if sp.issparse(points.X) else np.asarray(points.X)
    order = np.lexsort(X.T)
    extended = np.hstack([X[order], -np.ones((len(X), 1))])
    coefficient = sum(c for c, term in model.terms if isinstance(term, AverageViolation))
    shares = coefficient * AverageViolation.shares(points.y_pm1, points.weights, model.data.class_weights)[order]
    sign = -1.0 if isinstance(model.rule, Polyhedron) and model.rule.inside == "negative" else 1.0
    inside = sign * points.y_pm1[order] > 0
    l1 = np.append(np.full(X.shape[1], float(sum(c for c, term in model.terms if isinstance(term, L1)))), 0.0)
    A, B = np.ascontiguousarray(extended[inside]), np.ascontiguousarray(extended[~inside])
    return PointSets(A, B, shares[inside], shares[~inside], l1)
