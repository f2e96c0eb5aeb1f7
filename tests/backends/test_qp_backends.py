"""OSQP and PIQP: rough answers are never called solved; time, iterations and warm starts."""

from __future__ import annotations

import numpy as np
import osqp
import pytest
import scipy.sparse as sp

from mipclass.backends import osqp as osqp_backend
from mipclass.backends.highs import HighsBackend
from mipclass.backends.osqp import OsqpBackend
from mipclass.backends.piqp import STATUS as PIQP_STATUS
from mipclass.backends.piqp import PiqpBackend
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run


def svm(n: int = 60, C: float = 100.0, scale: float = 1.0) -> Program:
    """Soft-margin SVM in the primal; large C and badly scaled features make first-order methods slow."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * np.array([1.0, 1.0, scale, 1 / scale])
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    build = Builder("svm")
    w, b = build.variables("w", 4), build.variables("b")
    slack = build.variables("slack", n, lower=0)
    build.subject_to("margin", y * (X @ w + b) + slack >= 1)
    build.add_square(w, 0.5)
    build.minimize(C * slack.sum())
    return build.build()


def test_status_tables_are_complete() -> None:
    piqp = pytest.importorskip("piqp")
    assert set(osqp_backend.STATUS) == {status.name for status in osqp.SolverStatus}
    assert set(PIQP_STATUS) == set(piqp.Status.__members__)


def test_osqp_says_solved_when_it_is_rough_and_we_do_not() -> None:
    """The trap: OSQP's defaults stop at 'solved' with an objective that is visibly wrong."""
    program = svm()
    truth = HighsBackend().solve(program, Run.quiet()).objective
    assert truth is not None
    rough = osqp.OSQP()
    identity = sp.eye_array(program.n_columns, format="csr")[np.isfinite(program.lower)]
    A = sp.csc_matrix(sp.vstack([program.A, identity]))
    lower = np.concatenate([program.row_lower, np.zeros(identity.shape[0])])
    rough.setup(
        sp.csc_matrix(sp.triu(program.Q)), np.array(program.c), A, lower, np.full(len(lower), np.inf), verbose=False
    )
    answer = rough.solve(raise_error=False)
    assert answer.info.status == "solved"
    assert abs(program.objective(answer.x) - truth) > 1e-3
    ours = OsqpBackend().solve(program, Run.quiet())
    assert ours.status is Status.OPTIMAL
    assert ours.objective == pytest.approx(truth, rel=1e-6)


def test_osqp_reports_a_rough_answer_with_advice() -> None:
    solution = OsqpBackend().solve(svm(scale=1e3), Run.quiet(iteration_limit=200))
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.objective is None or solution.x is not None
    assert solution.bound is None
    assert "piqp" in solution.extra["advice"]
    assert "rough" in solution.raw_status
    assert solution.extra["rough_point"].shape == (svm().n_columns,)


def test_osqp_user_tolerance_cannot_buy_a_false_solved() -> None:
    solution = OsqpBackend().solve(svm(), Run.quiet(osqp={"eps_abs": 1e-1, "eps_rel": 1e-1, "polishing": False}))
    assert solution.status is Status.NUMERICAL_ERROR
    assert solution.extra["residuals"].worst > 1e-6


def test_osqp_stops_for_the_callback_and_for_time() -> None:
    hard = svm(n=400, C=1e6, scale=1e3)
    stopped = OsqpBackend().solve(hard, Run(callback=lambda event: False))
    assert stopped.status is Status.INTERRUPTED
    timed = OsqpBackend().solve(hard, Run.quiet(time_limit=0.05))
    assert timed.status is Status.TIME_LIMIT


@pytest.mark.parametrize("linear_algebra", ["dense", "sparse", "choose"])
def test_piqp_dense_and_sparse_agree(linear_algebra: str) -> None:
    pytest.importorskip("piqp")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=50))
    kernel = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    build = Builder("kernel SVM dual")
    alpha = build.variables("alpha", 50, lower=0, upper=1)
    build.add_quadratic(alpha, np.outer(y, y) * kernel)
    build.minimize(-alpha.sum())
    build.subject_to("balance", y @ alpha == 0)
    program = build.build()
    solution = PiqpBackend().solve(program, Run.quiet(linear_algebra=linear_algebra))
    assert solution.objective == pytest.approx(HighsBackend().solve(program, Run.quiet()).objective, rel=1e-7)


def test_piqp_stays_within_its_time() -> None:
    pytest.importorskip("piqp")
    solution = PiqpBackend().solve(svm(n=2000), Run.quiet(time_limit=1e-4))
    assert solution.status is Status.TIME_LIMIT
    assert solution.x is None
