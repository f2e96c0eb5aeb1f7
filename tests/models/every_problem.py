"""One small problem of every kind that `mipclass.models` builds, for tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mipclass import models
from mipclass.models import L2, Hinge, IntegerCoefficients, Kernel, Logistic, MaxFeatures, Model, ZeroOne

X = np.random.default_rng(0).normal(size=(10, 2))
Y = np.array([0, 1] * 5)
K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2))
OUTLIERS = np.arange(10) == 3

BY_NAME: dict[str, Callable[[], Any]] = {
    "capped_simplex_projection": lambda: models.capped_simplex_projection([0.2, 0.9, -0.3], 1.0, 0.6),
    "conditional_dual": lambda: models.conditional_dual(K, Y, 1.0, 0.0, 0.0, outliers=OUTLIERS),
    "conditional_svm": lambda: models.conditional_svm(X, Y, 1.0, 0.0, -2.0, outliers=np.zeros(10, dtype=bool)),
    "hinge_svm": lambda: models.hinge_svm(X, Y, 1.0),
    "neyman_pearson": lambda: models.neyman_pearson(X, Y, 0.4),
    "outlier_svm": lambda: models.outlier_svm(X, Y, 0.3),
    "polyhedral": lambda: models.polyhedral(X, Y, 2),
    "rlp": lambda: models.rlp(X, Y),
    "robust_svm": lambda: models.robust_svm(X, Y),
    "tau_fpl": lambda: models.tau_fpl(X, Y, 0.2, 0.1),
    "tau_fpl_dual": lambda: models.tau_fpl_dual(X, Y, 0.2, 0.1),
    "tau_fpl_kernel": lambda: models.tau_fpl_kernel(K, Y, 0.2, 0.1),
    "topk_cone_projection": lambda: models.topk_cone_projection([0.2, 0.9, -0.3], 2, 1.0),
    "topk_projection": lambda: models.topk_projection([0.2, 0.9], [0.5, 0.1, 0.4], 2),
    "zero_one": lambda: models.zero_one(X, Y),
}
"""Each function of `mipclass.models` that builds a problem."""

COMPOSED: dict[str, Callable[[], Any]] = {
    "a free offset": lambda: Model(X, Y, minimize=0.5 * L2() + Hinge()),
    "rows on the weights": lambda: _with_row(models.zero_one(X, Y)),
    "a penalised offset": lambda: models.robust_svm(X, Y, intercept="penalised"),
    "a kernel": lambda: models.robust_svm(X, Y, kernel=Kernel("rbf", 0.5)),
    "a kernel on sparse rows": lambda: models.robust_svm(sp.csr_array(X), Y, kernel=Kernel("rbf", 0.5)),
    "a precomputed kernel": lambda: models.robust_svm(K, Y, kernel=Kernel("precomputed")),
    "one hyperplane": lambda: models.polyhedral(X, Y, 1),
    "whole weights": lambda: Model(X, Y, minimize=Logistic(), subject_to=IntegerCoefficients(2, intercept=True)),
    "a free multiplier": lambda: Model(
        X, Y, minimize=Logistic(Logistic.FREE), subject_to=IntegerCoefficients(2, intercept=True)
    ),
    "chosen features": lambda: models.zero_one(X, Y, subject_to=[MaxFeatures(1)]),
    "hard margins": lambda: Model(X, Y, minimize=0.5 * L2() + ZeroOne(margin=1)),
}
"""Models that are put together of parts, each with a rule or a part whose values differ in kind."""

EVERY_PROBLEM = {**BY_NAME, **COMPOSED}


def _with_row(model: Model) -> Model:
    return model.subject_to(model.w[0] >= 0)
