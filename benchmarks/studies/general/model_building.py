"""Building one model and loading it into HiGHS, and writing it to a file: mipclass against what one could use instead.

The model is the big-M form of the 0-1 loss with a bounded hyperplane,

    min sum_i z_i   s.t.   y_i (w.x_i + b) + M_i z_i >= eps,   |w_j| <= 1,   |b| <= 5,   z binary,
    M_i = eps + sum_j |x_ij| + 5,

on Gaussian X with D = 10. Every builder starts from the arrays X and y and ends with a model inside HiGHS, unsolved.
`highspy` is the hand-written matrix passed in one call: the least that can be done. Run: python -m benchmarks.studies.general.model_building
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table

D, EPS, OFFSET = 10, 1e-3, 5.0
SLOW = {"pyomo"}  # two hundred times the work: the largest model only in a full run, its file never


def data(n: int, d: int = D) -> tuple[Any, Any]:
    """n Gaussian points in d dimensions with random labels."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n)


# -- builders: arrays in, a loaded Highs object out ---------------------------------------------------------------------------


def with_highspy(X: Any, y: Any) -> Any:
    """The hand-written matrix in one call."""
    import highspy

    n, d = X.shape
    A = np.empty((n, d + 2))
    A[:, :d] = y[:, None] * X
    A[:, d] = y
    A[:, d + 1] = EPS + np.abs(X).sum(axis=1) + OFFSET
    indices = np.empty((n, d + 2), dtype=np.int32)
    indices[:, : d + 1] = np.arange(d + 1)
    indices[:, d + 1] = np.arange(d + 1, d + 1 + n)
    bound = np.concatenate([np.ones(d), [OFFSET]])
    highs = highspy.Highs()
    highs.silent()
    highs.passModel(
        d + 1 + n,
        n,
        A.size,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        np.concatenate([np.zeros(d + 1), np.ones(n)]),
        np.concatenate([-bound, np.zeros(n)]),
        np.concatenate([bound, np.ones(n)]),
        np.full(n, EPS),
        np.full(n, highspy.kHighsInf),
        np.arange(0, A.size + 1, d + 2, dtype=np.int32),
        indices.ravel(),
        A.ravel(),
        np.concatenate([np.zeros(d + 1, np.int32), np.ones(n, np.int32)]),
    )
    return highs


def mipclass_program(X: Any, y: Any) -> Any:
    """The indicator model of mipclass, then its own big-M reduction."""
    from mipclass.modelling.builder import Builder
    from mipclass.reductions.indicator_to_bigm import IndicatorToBigM

    build = Builder("zero_one")
    w = build.variables("w", X.shape[1], lower=-1, upper=1)
    b = build.variables("b", lower=-OFFSET, upper=OFFSET)
    z = build.binaries("error", len(y))
    build.subject_to("margin", y * (X @ w + b) >= EPS, when=(z, 0))
    build.minimize(z.sum())
    return IndicatorToBigM().apply(build.build())[0]


def with_mipclass(X: Any, y: Any) -> Any:
    """The Program of mipclass, loaded into HiGHS."""
    from mipclass.backends.highs_object import load

    return load(mipclass_program(X, y))


def linopy_model(X: Any, y: Any) -> Any:
    """The model in linopy."""
    import linopy
    import pandas as pd
    import xarray as xr

    n, d = X.shape
    model = linopy.Model()
    points, features = pd.RangeIndex(n, name="point"), pd.RangeIndex(d, name="feature")
    w = model.add_variables(-1, 1, coords=[features], name="w")
    b = model.add_variables(-OFFSET, OFFSET, name="b")
    z = model.add_variables(binary=True, coords=[points], name="error")
    signed = xr.DataArray(y[:, None] * X, coords=[points, features])
    label, M = xr.DataArray(y, coords=[points]), xr.DataArray(EPS + np.abs(X).sum(axis=1) + OFFSET, coords=[points])
    model.add_constraints((signed * w).sum("feature") + label * b + M * z >= EPS, name="margin")
    model.add_objective(z.sum())
    return model


def with_linopy(X: Any, y: Any) -> Any:
    """The model of linopy, loaded into HiGHS."""
    return linopy_model(X, y).to_highspy()


def with_cvxpy(X: Any, y: Any) -> Any:
    """CVXPY compiles to arrays for HiGHS; passing them on is what its interface does next."""
    import cvxpy
    import highspy

    n, d = X.shape
    w, b, z = cvxpy.Variable(d), cvxpy.Variable(), cvxpy.Variable(n, boolean=True)
    M = EPS + np.abs(X).sum(axis=1) + OFFSET
    rows = [cvxpy.multiply(y, X @ w + b) + cvxpy.multiply(M, z) >= EPS, cvxpy.abs(w) <= 1, cvxpy.abs(b) <= OFFSET]
    compiled, _, _ = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(z)), rows).get_problem_data(cvxpy.HIGHS)
    A, columns = compiled["A"].tocsr(), len(compiled["c"])
    kinds = np.zeros(columns, np.int32)
    kinds[[k[0] if isinstance(k, tuple) else k for k in compiled["bool_vars_idx"]]] = 1
    highs = highspy.Highs()
    highs.silent()
    free = np.full(columns, highspy.kHighsInf)
    highs.passModel(
        columns,
        A.shape[0],
        A.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        compiled["c"],
        np.where(kinds == 1, 0.0, -free),
        np.where(kinds == 1, 1.0, free),
        np.full(A.shape[0], -highspy.kHighsInf),
        compiled["b"],
        A.indptr.astype(np.int32),
        A.indices.astype(np.int32),
        A.data,
        kinds,
    )
    return highs


def pyomo_model(X: Any, y: Any) -> Any:
    """The model in Pyomo."""
    import pyomo.environ as pyo

    n, d = X.shape
    M = EPS + np.abs(X).sum(axis=1) + OFFSET
    model = pyo.ConcreteModel()
    model.w = pyo.Var(range(d), bounds=(-1, 1))
    model.b = pyo.Var(bounds=(-OFFSET, OFFSET))
    model.z = pyo.Var(range(n), within=pyo.Binary)
    signed, label, M = (y[:, None] * X).tolist(), y.tolist(), M.tolist()
    model.margin = pyo.Constraint(
        range(n),
        rule=lambda m, i: sum(signed[i][j] * m.w[j] for j in range(d)) + label[i] * m.b + M[i] * m.z[i] >= EPS,
    )
    model.loss = pyo.Objective(expr=pyo.quicksum(model.z.values()))
    return model


def with_pyomo(X: Any, y: Any) -> Any:
    """The model of Pyomo, loaded by its persistent HiGHS interface."""
    from pyomo.contrib.appsi.solvers import Highs

    solver = Highs()
    solver.set_instance(pyomo_model(X, y))
    return solver._solver_model


BUILDERS: dict[str, Callable[[Any, Any], Any]] = {
    "highspy": with_highspy,
    "mipclass": with_mipclass,
    "linopy": with_linopy,
    "cvxpy": with_cvxpy,
    "pyomo": with_pyomo,
}


def build(builder: str, n: int) -> dict[str, Any]:
    """Time from arrays to a loaded model, and its size; the second time, when memory and caches are as they will stay."""
    X, y = data(n)
    if builder not in SLOW:
        BUILDERS[builder](X, y)
    highs, spent = _timed(lambda: BUILDERS[builder](X, y))
    return {**spent, "columns": highs.getNumCol(), "rows": highs.getNumRow(), "nonzeros": highs.getNumNz()}


def _timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    start, start_cpu = time.perf_counter(), time.process_time()
    answer = call()
    return answer, {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - start_cpu}


# -- writers: a model in memory in, a file out ------------------------------------------------------------------------------


def write(writer: str, ending: str, n: int) -> dict[str, Any]:
    """Time to write the model that the writer's own library holds in memory; the second time, as above."""
    X, y = data(n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{ending}"
        call = WRITERS[writer](X, y, path)
        if writer not in SLOW:
            call()
        _, spent = _timed(call)
        return {**spent, "megabytes": path.stat().st_size / 1e6}


def highs_writer(X: Any, y: Any, path: Path) -> Callable[[], Any]:
    """A call that writes the model which HiGHS holds."""
    highs = with_highspy(X, y)
    return lambda: highs.writeModel(str(path))


def mipclass_writer(X: Any, y: Any, path: Path) -> Callable[[], Any]:
    """A call that writes the Program."""
    program = mipclass_program(X, y)
    return lambda: program.write(path)


def linopy_writer(X: Any, y: Any, path: Path) -> Callable[[], Any]:
    """A call that writes linopy's model."""
    model = linopy_model(X, y)
    return lambda: model.to_file(path, progress=False)


def pyomo_writer(X: Any, y: Any, path: Path) -> Callable[[], Any]:
    """A call that writes Pyomo's model."""
    model = pyomo_model(X, y)
    return lambda: model.write(str(path))


WRITERS: dict[str, Callable[[Any, Any, Path], Callable[[], Any]]] = {
    "HiGHS": highs_writer,
    "mipclass": mipclass_writer,
    "linopy": linopy_writer,
    "pyomo": pyomo_writer,
}


# -- the study --------------------------------------------------------------------------------------------------------------


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for n in (1_000, 10_000, 100_000):
        for builder in BUILDERS:
            if full or n < 100_000 or builder not in SLOW:
                yield Case(builder, build, {"builder": builder, "n": n})
    for n in (10_000, 100_000):
        for ending in ("lp", "mps"):
            for writer in WRITERS:
                linopy_mps = writer == "linopy" and ending == "mps"  # written by HiGHS
                if not linopy_mps and (n < 100_000 or writer not in SLOW):
                    yield Case(writer, write, {"writer": writer, "ending": ending, "n": n})


def _compared(results: Results, labels: list[str], settings: list[dict[str, Any]], names: list[str]) -> str:
    """Processor seconds with the ratio to the first label, and peak memory, one row per setting.

    Nothing here waits or runs in parallel, so that the processor's seconds are the wall clock's on an idle machine; on a busy
    one they are the steadier measure.
    """
    rows = []
    for setting in settings:
        row: list[Any] = [setting[name] for name in names]
        least = results.where(labels[0], **setting).median("cpu_seconds")
        for label in labels:
            here = results.where(label, **setting)
            seconds, memory = here.median("cpu_seconds"), here.median("peak_mb")
            if seconds is None or least is None:
                row.append("failed" if here.errors() else "-")
            else:
                row.append(f"{seconds:.3g} s ({seconds / least:.3g}x), {memory or 0:.0f} MB")
        rows.append(row)
    return table([*names, *labels], rows)


def report(results: Results) -> str:
    """The section's markdown."""
    builds = Results([cell for cell in results.cells if cell.case.function is build])
    writes = Results([cell for cell in results.cells if cell.case.function is write])
    sizes = sorted({cell.case.parameters["n"] for cell in results.cells})
    files = [{"n": n, "ending": e} for n in sizes for e in ("lp", "mps") if writes.where(n=n, ending=e).cells]
    parts = [
        "The big-M 0-1 model, D = 10, from arrays to a model loaded into HiGHS: processor seconds, ratio to the hand-written "
        "matrix, growth of memory at its peak. Goal: mipclass at most 2x at 1e4 and 1e5.",
        _compared(builds, list(BUILDERS), [{"n": n} for n in sizes if builds.where(n=n).cells], ["n"]),
        "Writing that model to a file, ratio to HiGHS's own writer. HiGHS writes 15 digits, so that a coefficient may change; "
        "mipclass writes the shortest digits that read back as the same number, and the sidecar with the names. Goal: LP files "
        "in at most 2x. linopy leaves MPS to HiGHS.",
        _compared(writes, list(WRITERS), files, ["n", "ending"]),
    ]
    return "\n\n".join(parts)


def warmup() -> None:
    """Compile and import everything that is timed."""
    for builder in BUILDERS.values():
        builder(*data(20))
    for writer in WRITERS:
        write(writer, "lp", 20)


study = Study(
    "model_building",
    "Building, loading and writing a model",
    cases,
    report,
    repeats=3,
    packages=("linopy",),
    warmup=warmup,
)

if __name__ == "__main__":
    study.main()
