"""Compile the kernels of all methods beforehand, by tiny problems that take the same ways as real ones.

A method's kernels are otherwise compiled when it is first called, while the clock of its time limit stands still. Images of
machines and continuous integration call this once, by `mipclass warm`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import Array, Index
from ..errors import MipclassWarning
from ..kernels.waiting import WAIT
from ..modelling.model import Model
from ..models.coefficient_constraints import IntegerCoefficients
from ..models.false_positive import tau_fpl, tau_fpl_kernel
from ..models.logistic import Logistic
from ..models.outlier_svm import outlier_svm
from ..models.penalties import L1, L2
from ..models.polyhedral import polyhedral
from ..models.ramp import Ramp
from ..models.rate_constraints import FalsePositiveRate
from ..models.robust_svm import robust_svm
from ..models.rules import Kernel
from ..models.topk_projection import topk_projection
from ..models.zero_one import zero_one
from ..models.zero_one_loss import ZeroOne
from .driver import solve

Rehearsal = tuple[str, Callable[[], Any], Mapping[str, Any]]
"""A solver, a tiny problem and options."""


def _points(n: int, d: int) -> tuple[Array, Index]:
    """Two overlapping classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


def _gram() -> tuple[Array, Index]:
    X, y = _points(24, 2)
    return np.exp(-np.square(X[:, None] - X[None]).sum(axis=2)), y


def _hard_margin() -> Model:
    return Model(*_points(24, 3), minimize=0.5 * L2() + ZeroOne(margin=1))


REHEARSALS: Mapping[str, tuple[Rehearsal, ...]] = {
    "zero-one loss, heuristics": (
        *((name, lambda: zero_one(*_points(24, 2)), {}) for name in ("csa", "sla", "local", "pcs", "bnb")),
        ("pcs", lambda: zero_one(*_points(24, 2)), {"variant": "paper"}),  # from a rule that it improves
    ),
    "zero-one loss, proofs by boxes": (("box", lambda: zero_one(*_points(24, 3)), {}),),
    "zero-one loss, proofs by subsystems": (
        ("iis", lambda: zero_one(*_points(24, 3)), {}),
        ("exact", lambda: zero_one(*_points(24, 3), subject_to=[FalsePositiveRate(0.2)]), {}),
        ("exact", lambda: zero_one(*_points(24, 3), subject_to=[IntegerCoefficients(2)]), {}),
    ),
    "polyhedral separation": (
        ("slp", lambda: polyhedral(*_points(24, 2), 2), {"lp": "interior-point"}),
        ("slp", lambda: polyhedral(*_points(24, 2), 2), {"variant": "paper"}),
    ),
    "robust SVM, linear": (
        ("outlier-path", lambda: robust_svm(*_points(40, 3), 1.0, 0.0, 0.0), {}),
        ("outlier-path", lambda: robust_svm(*_points(40, 3), 1.0, 0.0, 0.0), {"path": "s"}),
        ("outlier-path", lambda: robust_svm(*_points(4000, 2), 1.0, 0.0, 0.0), {"path": "s"}),  # on working sets
        ("cccp", lambda: robust_svm(*_points(40, 3), 1.0, 0.0, 0.0), {}),
        ("balls", lambda: robust_svm(*_points(24, 2), 1.0, 0.0, 0.0), {"starts": 2}),
        ("balls", lambda: Model(*_points(16, 2), minimize=0.5 * L2() + Ramp()), {"starts": 2}),  # a free offset
    ),
    "robust SVM, kernel": (
        ("outlier-path", lambda: robust_svm(*_points(40, 3), 1.0, 0.0, 0.0, kernel=Kernel("rbf", 0.5)), {}),
        ("outlier-path", lambda: robust_svm(*_points(40, 3), 1.0, 0.0, 0.0, kernel=Kernel("rbf", 0.5)), {"path": "s"}),
        ("cccp", lambda: robust_svm(*_points(40, 3), 1.0, 0.0, 0.0, kernel=Kernel("rbf", 0.5)), {}),
    ),
    "hard-margin loss": (("directions", _hard_margin, {}), ("subsystems", _hard_margin, {})),
    "SVM with outliers": (("rgd-tree", lambda: outlier_svm(*_points(24, 2), 0.3), {}),),
    "tau-FPL": (
        ("lbfgs", lambda: tau_fpl(*_points(40, 2), 0.1, 1e-2), {}),
        ("fista", lambda: tau_fpl(*_points(40, 2), 0.1, 1e-2), {}),
        ("fista", lambda: tau_fpl_kernel(*_gram(), 0.1, 1e-2), {}),
        ("topk", lambda: topk_projection(np.linspace(0.0, 1.0, 9), np.linspace(0.5, 2.0, 7), 2), {}),
        (
            "topk",
            lambda: topk_projection(np.linspace(0.0, 1.0, 1500), np.linspace(0.5, 2.0, 1500), 20),
            {},
        ),  # by sampling
    ),
    "logistic loss": (
        ("newton", lambda: Model(*_points(40, 2), minimize=Logistic() + L1()), {}),
        ("newton", lambda: Model(*_points(40, 2), minimize=Logistic() + L2()), {}),
        ("lattice", lambda: Model(*_points(40, 2), minimize=Logistic(), subject_to=IntegerCoefficients(2)), {}),
        ("cutting-plane", lambda: Model(*_points(40, 2), minimize=Logistic(), subject_to=IntegerCoefficients(2)), {}),
    ),
}
"""Group of kernels -> what calls all of them; groups share few kernels, so that processes may compile them side by side."""


def warm(group: str) -> None:
    """Compile the kernels of one group of REHEARSALS; kernels that are kept from before are only loaded.

    The caller tells the user what is going on, for instance by a progress bar.
    """
    WAIT.hush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MipclassWarning)  # about the answers, which nobody asked for
        for solver, problem, options in REHEARSALS[group]:
            solve(problem(), solver, options=options)
