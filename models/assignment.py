"""The violations of a polyhedron as an exact program: binaries assign each outside point to a hyperplane.

    slack_i >= v_j.a_i - g_j + 1                        for every point a_i of the inside class and every j
    slack_l >= -v_j.b_l + g_j + 1   when assign_lj = 1,   sum_j assign_lj = 1      for every point b_l of the other class

so that slack = [1 - margin]_+ at the optimum. For h = 1 no binaries are needed. Since the order of the hyperplanes is
free, outside point l may use only hyperplanes 1..l, unless there are constraints, which might tell hyperplanes apart.

Big-M. For given v_j some optimal g_j is at most max_i v_j.a_i + 1, since no a_i then has a violation at j. A row that is
switched off is thus violated by at most 2 + max_i v_j.(a_i - b_l), which a box on v or |V|_1 <= R bounds. An L1 penalty
with coefficient tau gives R = f(0)/tau, because the optimum is at most the objective at V = 0, g = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Mask
from ..modelling.declaration import Declaration
from ..modelling.expression import Affine, Variables
from .penalties import L1
from .rules import Polyhedron


def declare_polyhedral_slack(d: Declaration, rule: Polyhedron) -> Variables:
    """The variables `slack`, one per point, with the rows and binaries that make them violations of the polyhedron."""
    X, inside = _points(d, rule)
    labels = np.asarray(d.points.first)
    build, h = d.builder, int(rule.h)
    slack = build.variables("slack", labels=labels, lower=0.0)
    inside_rows, outside_rows = np.flatnonzero(inside), np.flatnonzero(~inside)
    beyond = [_beyond(d, X, j) for j in range(h)]
    for j in range(h):
        build.subject_to(f"inside{j + 1}", slack[inside_rows] - beyond[j][inside_rows] >= 1, labels=labels[inside_rows])
    if h == 1:
        build.subject_to("outside1", slack[outside_rows] + beyond[0][outside_rows] >= 1, labels=labels[outside_rows])
        return slack
    upper = np.ones((len(outside_rows), h))
    if not d.model.constraints:
        first = np.arange(min(h, len(outside_rows)))
        upper[first] = np.tri(h)[first]
    assign = build.variables(
        "assign", upper.shape, labels=[labels[outside_rows], None], lower=0.0, upper=upper, integer=True
    )
    one_each = sp.csr_array(sp.kron(sp.eye_array(len(outside_rows)), np.ones((1, h))))
    build.subject_to(
        "one_hyperplane",
        Affine({assign: one_each}, np.zeros(len(outside_rows)), (len(outside_rows),)) == 1,
        labels=labels[outside_rows],
    )
    limit = _big_m(d, rule, X, inside)
    for j in range(h):
        rows = slack[outside_rows] + beyond[j][outside_rows] >= 1
        build.subject_to(f"outside{j + 1}", rows, when=(assign[:, j], 1), big_m=limit, labels=labels[outside_rows])
    return slack


def encode_polyhedral_slack(d: Declaration, rule: Polyhedron, values: Mapping[str, Any]) -> dict[str, Any]:
    """A start from hyperplanes, reordered so that outside point l uses one of hyperplanes 1..l, with slack and assignment."""
    if "v" not in values or "g" not in values or not d.builder.has("slack"):
        return {}
    X, inside = _points(d, rule)
    v, g = np.asarray(values["v"], dtype=np.float64), np.asarray(values["g"], dtype=np.float64)
    if v.shape != (rule.h, X.shape[1]) or g.shape != (rule.h,):
        return {}
    if not d.model.constraints:
        chosen = (X[~inside] @ v.T - g).argmax(axis=1)
        order = list(dict.fromkeys([*chosen.tolist(), *range(rule.h)]))
        v, g = v[order], g[order]
    beyond = np.asarray(X @ v.T) - g
    worst = beyond.max(axis=1)
    start: dict[str, Any] = {"v": v, "g": g, "slack": np.maximum(0.0, np.where(inside, 1.0 + worst, 1.0 - worst))}
    if d.builder.has("assign"):
        start["assign"] = np.eye(rule.h)[beyond[~inside].argmax(axis=1)]
    if d.builder.has("abs_v"):
        start["abs_v"] = np.abs(v)
    return start


def _points(d: Declaration, rule: Polyhedron) -> tuple[Array, Mask]:
    """The points, and which of them are to lie inside."""
    inside = d.points.y_pm1 > 0 if rule.inside == "positive" else d.points.y_pm1 < 0
    return d.points.dense(), inside


def _beyond(d: Declaration, X: Array, j: int) -> Affine:
    """v_j.x - g_j for every point x, as a sparse expression in the columns of hyperplane j."""
    n, width = X.shape
    v, g = d.builder["v"], d.builder["g"]
    h = v.shape[0]
    columns = np.broadcast_to(np.arange(j * width, (j + 1) * width), (n, width))
    ends = np.arange(0, n * width + 1, width)
    of_v = sp.csr_array((X.ravel(), columns.ravel(), ends), shape=(n, h * width))
    of_g = sp.csr_array((np.full(n, -1.0), np.full(n, j), np.arange(n + 1)), shape=(n, h))
    terms: dict[Variables, Any] = {v: of_v, g: of_g}
    return Affine(terms, np.zeros(n), (n,))


def _big_m(d: Declaration, rule: Polyhedron, X: Array, inside: Mask) -> Array:
    """The big-M of each outside point (see the module); inf with constraints, and without a box or an L1 penalty."""
    A, B = X[inside], X[~inside]
    if d.model.constraints:
        return np.full(len(B), np.inf)
    limits = [np.full(len(B), np.inf)]
    if rule.box is not None:
        limits.append(np.array([rule.box * np.abs(A - b).sum(axis=1).max() for b in B]))
    radius = l1_radius(d)
    if radius is not None:
        limits.append(np.array([radius * np.abs(A - b).max() for b in B]))
    return np.asarray(2.0 + np.minimum.reduce(limits))


def l1_radius(d: Declaration) -> float | None:
    """R with |V|_1 <= R at every optimum, from an L1 penalty; None without one."""
    price = sum(coefficient for coefficient, term in d.model.terms if isinstance(term, L1))
    if price <= 0:
        return None
    origin = {name: np.zeros(block.shape) for name, block in d.model.rule.variables(d.data).items()}
    return d.model.recount(origin) / price
