"""Every declared model: the same optimum from every capable backend and from its exported files, read by others."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.methods.tau_fpl import projections
from mipclass.modelling.program import Feature
from tests.breadth import mostly_slow
from tests.files.test_readers import by_cbc, by_glpsol, by_highs, by_scip

BACKENDS = ("highs", "scip", "osqp", "piqp", "cvxpy:CLARABEL", "pyomo:highs")
# What a solver's own tolerances leave of an optimum; models whose dual or kernel is singular are the hard ones.
RELATIVE = 1e-6


def points(n: int = 9, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(n, d)), 3)
    return X, np.where(X[:, 0] + 0.6 * rng.normal(size=n) > 0, 1, -1)


def declared() -> dict[str, Callable[[], Any]]:
    X, y = points()
    outliers = np.zeros(len(y), bool)
    one_flipped = np.where(X[:, 0] > np.median(X[:, 0]), 1, -1)
    one_flipped[np.argmax(X[:, 0])] = -1
    v = np.array([0.9, -0.3, 0.4, 1.7, 0.2])
    kernel = X @ X.T + np.eye(len(X))
    return {
        "zero_one": lambda: models.zero_one(X, y),
        "neyman_pearson": lambda: models.neyman_pearson(X, y, 0.25),
        "hinge_svm": lambda: models.hinge_svm(X, y),
        "hinge_svm L1": lambda: models.hinge_svm(X, y, penalty="l1"),
        "rlp": lambda: models.rlp(X, y),
        "polyhedral": lambda: models.polyhedral(X, y, 2, l1=0.1),
        "robust_svm": lambda: models.robust_svm(X, y, C=1.0, theta=0.0, s=0.0),
        "conditional_svm": lambda: models.conditional_svm(X, y, C=1.0, theta=1.0, s=-5.0, outliers=outliers),
        "conditional_dual": lambda: models.conditional_dual(kernel, y, C=1.0, theta=1.0, s=-5.0, outliers=outliers),
        "outlier_svm": lambda: models.outlier_svm(X, one_flipped, 0.12, max_norm=50.0),
        "outlier_svm one class": lambda: models.outlier_svm(X + 3.0, None, 0.2),
        "tau_fpl": lambda: models.tau_fpl(X, y, 0.5, 0.1),
        "tau_fpl_dual": lambda: models.tau_fpl_dual(X, y, 0.5, 0.1),
        "topk_projection": lambda: models.topk_projection(v, -v[:4], 2),
        "capped_simplex": lambda: models.capped_simplex_projection(v, 1.0, 0.4),
        "topk_cone": lambda: models.topk_cone_projection(v, 2),
        "topk_simplex of radius": lambda: models.topk_cone_projection(v, 2, 1.0),
    }


NAMES = sorted(declared())
DIFFERENT = (
    "conditional_svm",
    "hinge_svm",
    "neyman_pearson",
    "outlier_svm one class",
    "polyhedral",
    "rlp",
    "tau_fpl",
    "topk_projection",
    "zero_one",
)
"""One model of each kind of program and of each family of methods."""


@cache
def optimum(name: str) -> float:
    """By SCIP, which takes every class natively; every other solver is held to it."""
    result = mipclass.solve(declared()[name](), "scip")
    assert result.status == "optimal"
    assert result.objective is not None
    return result.objective


@pytest.mark.parametrize("name", mostly_slow(NAMES, fast=DIFFERENT))
def test_every_capable_solver_agrees(name: str) -> None:
    problem = declared()[name]()
    truth = optimum(name)
    rows = {row.name: row for row in mipclass.solvers(problem)}
    capable = [backend for backend in BACKENDS if rows[backend].accepts]
    assert len(capable) >= (1 if name == "polyhedral" else 2)
    for backend in capable:
        result = mipclass.solve(problem, backend)
        assert result.objective == pytest.approx(truth, rel=RELATIVE, abs=RELATIVE), backend
        assert result.recounted, backend


@pytest.mark.parametrize("name", mostly_slow(NAMES, fast=DIFFERENT))
def test_exports_have_the_same_optimum_elsewhere(name: str, tmp_path: Path) -> None:
    problem = declared()[name]()
    truth = optimum(name)
    program = problem.program()
    bounded = name not in ("outlier_svm", "outlier_svm one class")  # no big-M without a bound on w
    readers = {Feature.LP: [by_highs, by_scip], Feature.MIP: [by_highs, by_scip]}.get(program.kind, [by_scip])
    if program.kind is Feature.QP:
        readers.append(by_highs)
    if program.Q is None:
        readers += [by_glpsol] * (shutil.which("glpsol") is not None) + [by_cbc] * (shutil.which("cbc") is not None)
    for reader in readers:
        path = tmp_path / f"{reader.__name__}.lp"
        if not bounded:
            if reader is not by_scip:
                continue
            program.write(path, indicators="native")
        else:
            program.write(path)
        assert reader(path) == pytest.approx(truth, rel=RELATIVE, abs=RELATIVE), reader.__name__


def test_relatives_of_the_projection_equal_the_kernels() -> None:
    v = np.array([0.9, -0.3, 0.4, 1.7, 0.2])
    pairs = {
        "capped_simplex": projections.project_capped_simplex(v, 1.0, 0.4),
        "topk_cone": projections.project_topk_cone(v, 2),
        "topk_simplex of radius": projections.project_topk_simplex_radius(v, 2, 1.0),
    }
    for name, expected in pairs.items():
        problem = declared()[name]()
        result = mipclass.solve(problem, "highs")
        assert np.allclose(result.values["p"], expected, atol=1e-5)
        n, extra_rows = len(v), len(v) if name != "capped_simplex" else 0
        assert (problem.program().n_columns, problem.program().n_rows) == (n + 1, 1 + extra_rows)
