"""The robust SVM (Suzumura et al. 2014) and its conditional QPs, primal and dual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Mask
from ..checks import is_number
from ..errors import InvalidInputError
from ..modelling.algebra import Rule
from ..modelling.builder import Builder
from ..modelling.data import check_data
from ..modelling.model import Model
from ..modelling.problem import AsStated
from ..modelling.program import Program
from ..protocol.result import Values
from .penalties import L2
from .ramp import Ramp, check_ramp
from .rules import Kernel, Linear


def robust_svm(
    X: Any,
    y: Any,
    C: float = 1.0,
    theta: float = 0.0,
    s: float = 0.0,
    *,
    kernel: Kernel | None = None,
    intercept: Literal[False, "penalised"] = False,
    **data: Any,
) -> Model:
    """SVM whose loss grows slower, or not at all, for outliers.

    Data        points x_i, labels y_i in {-1, +1}, weights c_i;  n distinct labelled points, d features
    Variables   w in R^d, slack_i >= 0, outlier_i in {0, 1} (and beyond_i >= 0 when theta > 0)
    Minimise    1/2 w'w + C sum_i c_i (slack_i + (1 - s) outlier_i + theta beyond_i)
    Subject to  outlier_i = 0:  y_i w.x_i >= 1 - slack_i;      outlier_i = 1:  beyond_i >= s - y_i w.x_i
    Size        theta = 0: 2n + d columns (n binary), n rows;  0 < theta < 1: 3n + d columns, 2n rows;  theta = 1: the SVM
    Reference   S. Suzumura, K. Ogawa, M. Sugiyama, I. Takeuchi: Outlier Path: A Homotopy Algorithm for Robust SVM. ICML 2014.

    `kernel` replaces w.x by a kernel expansion (see Kernel); `intercept="penalised"` adds an offset that is penalised like
    a weight (the paper has none). Keyword arguments of Model (sample_weight, feature_names ...) go through.
    """
    check_C(C)
    rule: Rule = Linear(intercept=intercept)
    if kernel is not None:
        if intercept is not False:
            raise InvalidInputError("with a kernel, ask for an offset by Kernel(offset=1.0) instead of intercept=...")
        rule = kernel
    objective = 0.5 * L2() + float(C) * Ramp(float(theta), float(s))
    return Model(X, y, rule=rule, minimize=objective, name="robust_svm", **data)


def check_C(C: Any) -> None:
    """Refuse a weight of the losses that is not a positive number."""
    if not is_number(C) or not 0 < C < np.inf:
        raise InvalidInputError(f"C, the weight of the losses, must be a positive number; got {C!r}.")


@dataclass(frozen=True, eq=False)
class ConditionalSVM(AsStated):
    """The primal conditional QP of `conditional_svm`."""

    X: Array
    y_pm1: Array
    C: Array
    theta: float
    s: float
    outliers: Mask
    name: str = "conditional_svm"

    def program(self) -> Program:
        """The QP as declared in the function of the same name."""
        builder = Builder(self.name)
        inliers, out = np.flatnonzero(~self.outliers), np.flatnonzero(self.outliers)
        Z = self.y_pm1[:, None] * self.X
        w = builder.variables("w", self.X.shape[1])
        builder.add_square(w, 0.5)
        if len(inliers):
            slack = builder.variables("slack", labels=inliers, lower=0.0)
            builder.subject_to("hinge", Z[inliers] @ w + slack >= 1, labels=inliers)
            builder.subject_to("inlier", Z[inliers] @ w >= self.s, labels=inliers)
            builder.minimize(self.C[inliers] @ slack)
        if len(out):
            builder.subject_to("outlier", Z[out] @ w <= self.s, labels=out)
            builder.minimize(float(self.C[out].sum()) * (1.0 - self.s + self.theta * self.s))
            builder.minimize(-self.theta * (self.C[out] @ (Z[out] @ w)))
        return builder.build()

    def decode(self, x: Array) -> Values:
        """The named values of a solution of `program()`."""
        return {"w": self.program().split(x)["w"]}

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A partial start for `program()`; unknown columns are NaN."""
        return self.program().join({"w": values["w"]} if "w" in values else {})

    def recount(self, values: Mapping[str, Any]) -> float:
        """The objective of the values, from the data."""
        w = np.asarray(values["w"], dtype=np.float64)
        m = self.y_pm1 * (self.X @ w)
        beyond = (1.0 - self.s) + self.theta * (self.s - m)
        loss = np.where(self.outliers, beyond, np.maximum(0.0, 1.0 - m))
        return float(0.5 * (w @ w) + self.C @ loss)


def conditional_svm(
    X: Any,
    y: Any,
    C: float = 1.0,
    theta: float = 0.0,
    s: float = 0.0,
    *,
    outliers: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> ConditionalSVM:
    """The robust SVM with the partition into inliers I and outliers O fixed: a convex QP (its "conditional optimum").

    Data        points x_i, labels y_i in {-1, +1}, weights c_i, a mask of outliers
    Variables   w in R^d, slack_i >= 0 for i in I
    Minimise    1/2 w'w + C sum_I c_i slack_i + C sum_O c_i (1 - s + theta (s - m_i)),   m_i = y_i w.x_i
    Subject to  slack_i >= 1 - m_i  and  m_i >= s  on I;     m_i <= s  on O
    Size        d + |I| columns, 2|I| + |O| rows
    Reference   Suzumura et al. (2014), (5), with the constant C (1 - theta)(1 - s) |O| kept: partitions can be compared.
    """
    check_C(C)
    check_ramp(theta, s)
    data = check_data(X, y, sample_weight=sample_weight, pos_label=pos_label)
    dense = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    mask = _mask(outliers, data.n)
    return ConditionalSVM(dense, data.y_pm1, float(C) * data.weights, float(theta), float(s), mask)


@dataclass(frozen=True, eq=False)
class ConditionalDual(AsStated):
    """The dual conditional QP of `conditional_dual`."""

    Q: Array
    C: Array
    theta: float
    s: float
    outliers: Mask
    name: str = "conditional_dual"

    def program(self) -> Program:
        """The QP as declared in the function of the same name."""
        builder = Builder(self.name)
        inliers, out = np.flatnonzero(~self.outliers), np.flatnonzero(self.outliers)
        a = builder.variables("alpha", len(self.C), lower=np.where(self.outliers, -np.inf, 0.0), upper=self._upper())
        builder.add_quadratic(a, self.Q)
        if len(inliers):
            hinge = builder.variables("hinge", labels=inliers, lower=0.0, upper=self.C[inliers])
            at_cutoff = builder.variables("at_cutoff", labels=inliers, lower=0.0)
            builder.subject_to("parts", a[inliers] - hinge - at_cutoff == 0, labels=inliers)
            builder.minimize(-hinge.sum() - self.s * at_cutoff.sum())
        if len(out):
            builder.minimize(-self.s * a[out].sum())
        return builder.build()

    def _upper(self) -> Array:
        return np.where(self.outliers, self.theta * self.C, np.inf)

    def decode(self, x: Array) -> Values:
        """The named values of a solution of `program()`."""
        return {"alpha": self.program().split(x)["alpha"]}

    def encode(self, values: Mapping[str, Any]) -> Array:
        """A partial start for `program()`; unknown columns are NaN."""
        return self.program().join({"alpha": values["alpha"]} if "alpha" in values else {})

    def recount(self, values: Mapping[str, Any]) -> float:
        """The objective of the values, from the data."""
        a = np.asarray(values["alpha"], dtype=np.float64)
        hinge = np.where(self.outliers, 0.0, np.minimum(a, self.C))
        linear = hinge.sum() + self.s * (a - hinge).sum()
        return float(0.5 * (a @ self.Q @ a) - linear)


def conditional_dual(
    K: Any,
    y: Any,
    C: float = 1.0,
    theta: float = 0.0,
    s: float = 0.0,
    *,
    outliers: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> ConditionalDual:
    """The dual of `conditional_svm`, for a kernel matrix K.

    Data        Q_ij = y_i y_j K_ij, weights c_i, a mask of outliers
    Variables   alpha_i; on I: alpha_i = hinge_i + at_cutoff_i with hinge_i in [0, C c_i], at_cutoff_i >= 0; on O: alpha_i <= C theta c_i
    Minimise    1/2 alpha'Q alpha - sum_I (hinge_i + s at_cutoff_i) - s sum_O alpha_i
    Size        n + 2|I| columns, |I| rows
    Reference   the Lagrange dual of Suzumura et al. (2014), (5); its KKT conditions are (7). The primal optimum is
                C (1 - s) sum_O c_i minus this one.
    """
    check_C(C)
    check_ramp(theta, s)
    data = check_data(K, y, sample_weight=sample_weight, pos_label=pos_label)
    gram = Kernel("precomputed").training_gram(data.X, np.arange(data.n))
    mask = _mask(outliers, data.n)
    Q = np.outer(data.y_pm1, data.y_pm1) * gram
    return ConditionalDual(Q, float(C) * data.weights, float(theta), float(s), mask)


def _mask(outliers: ArrayLike, n: int) -> Mask:
    mask = np.asarray(outliers)
    if mask.shape != (n,) or mask.dtype != bool:
        raise InvalidInputError(
            f"outliers must be a boolean mask over the {n} points; got shape {mask.shape}, dtype {mask.dtype}."
        )
    return mask
