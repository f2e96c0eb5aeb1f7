"""General solvers through mipclass against calling them by hand or through CVXPY: dense QPs and convex MIQPs.

1. The dual of an RBF support vector machine, a dense QP in n variables. Packages as they are (their own defaults) and through
   mipclass, with the error of the objective: a fast answer that is wrong is not fast.
2. Errors at margin 1 plus 0.25 |w|^2 as a MIQP in n binaries: outer approximation on HiGHS (which has no MIQP), SCIP through
   mipclass, SCIP with the objective expanded as its recipe has it, and SCIP through CVXPY.

Run: python -m benchmarks.studies.general.solvers
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import Case, Results, Study, table
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program
from mipclass.protocol.run import Run
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM

LIMIT = 120.0  # seconds for one MIQP


def kernel_dual(n: int) -> Program:
    """min 1/2 a'(yy' K)a - 1'a,  y'a = 0,  0 <= a <= 1,  K Gaussian."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    squares = (X**2).sum(axis=1)
    kernel = np.exp(-0.2 * (squares[:, None] + squares[None] - 2 * X @ X.T))
    build = Builder("kernel dual")
    a = build.variables("a", n, lower=0, upper=1)
    build.add_quadratic(a, np.outer(y, y) * kernel)
    build.minimize(-a.sum())
    build.subject_to("balance", y @ a == 0)
    return build.build()


def regularised_zero_one(n: int) -> Program:
    """min sum_i error_i + 0.25 |w|^2,  y_i (w.x_i + b) >= 1 unless error_i,  |w_j| <= 3,  |b| <= 5; indicators as big-M rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    build = Builder("regularised 0-1")
    w, b = build.variables("w", 3, lower=-3, upper=3), build.variables("b", lower=-5, upper=5)
    error = build.binaries("error", n)
    build.subject_to("margin", y * (X @ w + b) >= 1, when=(error, 0))
    build.minimize(error.sum())
    build.add_square(w, 0.25)
    return IndicatorToBigM().apply(build.build())[0]


# -- solvers: a program in, an objective out ---------------------------------------------------------------------------------


def through_mipclass(kind: str, n: int, solver: str) -> dict[str, Any]:
    """One solve through a backend of mipclass; building the program is not timed."""
    from mipclass.solving import registry

    program = kernel_dual(n) if kind == "QP" else regularised_zero_one(n)
    backend = registry.find(solver)
    began = time.perf_counter()
    solution = backend.solve(program, Run.quiet(time_limit=LIMIT if kind == "MIQP" else None))
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "objective": solution.objective, "status": str(solution.status)}


def through_cvxpy(kind: str, n: int, solver: str) -> dict[str, Any]:
    """CVXPY as a user writes it, solver defaults; SCIP is asked for gap 0."""
    import cvxpy

    program = kernel_dual(n) if kind == "QP" else regularised_zero_one(n)
    began = time.perf_counter()
    parts = [cvxpy.Variable(int(program.integer.sum()), boolean=True)] if program.is_integer else []
    x = cvxpy.hstack([cvxpy.Variable(int((~program.integer).sum())), *parts])
    objective = 0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(sp.csc_matrix(program.Q))) + program.c @ x
    activity = sp.csr_matrix(program.A) @ x
    rows = [activity == program.row_lower] if kind == "QP" else [activity >= program.row_lower]
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [*rows, x >= program.lower, x <= program.upper])
    settings = {"scip_params": {"limits/time": LIMIT, "limits/gap": 0.0}} if kind == "MIQP" else {}
    problem.solve(solver=solver, **settings)
    return {"seconds": time.perf_counter() - began, "objective": float(problem.value), "status": problem.status}


def osqp_by_hand(kind: str, n: int) -> dict[str, Any]:
    """OSQP's defaults."""
    import osqp

    program = kernel_dual(n)
    began = time.perf_counter()
    solver = osqp.OSQP()
    A = sp.csc_matrix(sp.vstack([program.A, sp.eye_array(n)]))
    lower, upper = np.append(program.row_lower, program.lower), np.append(program.row_upper, program.upper)
    solver.setup(sp.csc_matrix(sp.triu(program.Q)), np.array(program.c), A, lower, upper, verbose=False)
    answer = solver.solve(raise_error=False)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "objective": program.objective(answer.x), "status": answer.info.status}


def scip_by_hand(kind: str, n: int) -> dict[str, Any]:
    """PySCIPOpt with the objective expanded into products, moved into a row."""
    from pyscipopt import Model, quicksum

    program = regularised_zero_one(n)
    began = time.perf_counter()
    model = Model()
    model.hideOutput()
    kinds = np.where(program.integer, "B", "C")
    x = [
        model.addVar(vtype=str(k), lb=float(l), ub=float(u), obj=float(c))
        for k, l, u, c in zip(kinds, program.lower, program.upper, program.c, strict=True)
    ]
    square = model.addVar(lb=None, obj=1.0)
    Q = sp.coo_array(program.Q)
    model.addCons(quicksum(0.5 * float(q) * x[i] * x[j] for i, j, q in zip(*Q.coords, Q.data, strict=True)) <= square)
    A = program.A
    for i in range(program.n_rows):
        span = slice(A.indptr[i], A.indptr[i + 1])
        row = quicksum(float(a) * x[j] for a, j in zip(A.data[span], A.indices[span], strict=True))
        model.addCons(row >= float(program.row_lower[i]))
    model.setParam("limits/time", LIMIT)
    model.optimize()
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "objective": float(model.getPrimalbound()), "status": model.getStatus()}


# -- the study ---------------------------------------------------------------------------------------------------------------


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for n in (300, 1000) if full else (300,):
        for solver in ("piqp", "highs", "osqp", "cvxpy:CLARABEL"):
            yield Case(f"mipclass {solver}", through_mipclass, {"kind": "QP", "n": n, "solver": solver})
        for solver in ("CLARABEL", "OSQP"):
            yield Case(f"CVXPY {solver}", through_cvxpy, {"kind": "QP", "n": n, "solver": solver})
        yield Case("OSQP, defaults", osqp_by_hand, {"kind": "QP", "n": n})
    for n in (20, 30, 40) if full else (20,):
        for solver in ("highs", "scip"):
            yield Case(f"mipclass {solver}", through_mipclass, {"kind": "MIQP", "n": n, "solver": solver})
        yield Case("SCIP, recipe", scip_by_hand, {"kind": "MIQP", "n": n})
        yield Case("CVXPY SCIP", through_cvxpy, {"kind": "MIQP", "n": n, "solver": "SCIP"})


def report(results: Results) -> str:
    """The section's markdown."""
    return "\n\n".join(
        [
            "The dual of an RBF support vector machine (dense QP): processor seconds and, in brackets, the error of the objective. "
            "mipclass returns an answer as solved only when its residuals, recomputed from the data, are below 1e-6.",
            _part(results.where(kind="QP")),
            f"Errors at margin 1 plus 0.25 |w|^2, a convex MIQP, solved to gap 0 (limit {LIMIT:g} s). `mipclass highs` is outer "
            "approximation; HiGHS itself has no MIQP.",
            _part(results.where(kind="MIQP")),
        ]
    )


def _part(results: Results) -> str:
    sizes = sorted({cell.case.parameters["n"] for cell in results.cells})
    rows = []
    for n in sizes:
        here = results.where(n=n)
        found = [value for label in here.labels if "mipclass" in label for value in here.where(label).all("objective")]
        best = float(np.median(found)) if found else float("nan")
        row: list[Any] = [n]
        for label in results.labels:
            cells = here.where(label)
            seconds, objective = cells.median("cpu_seconds"), cells.median("objective")
            row.append("-" if seconds is None or objective is None else f"{seconds:.3g} ({abs(objective - best):.1e})")
        rows.append(row)
    return table(["n", *results.labels], rows)


def warmup() -> None:
    """Import every package once, on tiny problems."""
    for case in cases(full=False):
        case.function(**{**case.parameters, "n": 12})


study = Study(
    "general_solvers",
    "General solvers",
    cases,
    report,
    repeats=3,
    packages=("piqp", "pyscipopt", "clarabel"),
    warmup=warmup,
)

if __name__ == "__main__":
    study.main()
