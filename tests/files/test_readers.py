"""The same optimum from readers that are not ours: HiGHS, SCIP, GLPK's glpsol and CBC."""

from __future__ import annotations

import importlib.util
import itertools
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mipclass.backends.highs import HighsBackend
from mipclass.files.names import legal_names
from mipclass.modelling.blocks import Block
from mipclass.modelling.builder import Builder
from mipclass.modelling.expression import ranged
from mipclass.modelling.program import Program
from mipclass.protocol.run import Run
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM


def by_highs(path: Path) -> float:
    import highspy

    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)).name == "kOk"
    highs.run()
    assert highs.getModelStatus().name == "kOptimal"
    return float(highs.getInfo().objective_function_value)


def by_scip(path: Path) -> float:
    from pyscipopt import Model

    model = Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    assert model.getStatus() == "optimal"
    return float(model.getObjVal())


def by_glpsol(path: Path) -> float:
    answer = path.with_suffix(".answer")
    kind = "--lp" if path.suffix == ".lp" else "--freemps"
    said = subprocess.run(
        ["glpsol", kind, str(path), "--write", str(answer)], capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stdout
    assert "OPTIMAL" in said.stdout
    (line,) = re.findall(r"^s .*$", answer.read_text(), re.M)
    return float(line.split()[-1])


def by_cbc(path: Path) -> float:
    answer = path.with_suffix(".answer")
    said = subprocess.run(
        ["cbc", str(path), "-solve", "-solution", str(answer)], capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stdout
    found = re.match(r"Optimal - objective value\s+(\S+)", answer.read_text())
    assert found, said.stdout
    return float(found.group(1))


def reader(name: str, call: Callable[[Path], float], there: bool, how: str) -> object:
    return pytest.param(call, id=name, marks=pytest.mark.skipif(not there, reason=f"{name} is not installed; {how}"))


HIGHS = reader("highs", by_highs, importlib.util.find_spec("highspy") is not None, "pip install highspy")
SCIP = reader("scip", by_scip, importlib.util.find_spec("pyscipopt") is not None, "pip install pyscipopt")
GLPSOL = reader("glpsol", by_glpsol, shutil.which("glpsol") is not None, "apt-get install glpk-utils")
CBC = reader("cbc", by_cbc, shutil.which("cbc") is not None, "apt-get install coinor-cbc")
LINEAR, QUADRATIC, NATIVE = [HIGHS, SCIP, GLPSOL, CBC], [HIGHS, SCIP], [SCIP]


def in_memory(program: Program) -> float:
    """The optimum of the program itself, by the backend that never saw a file."""
    solution = HighsBackend().solve(IndicatorToBigM().apply(program)[0], Run.quiet())
    assert solution.status == "optimal"
    assert solution.objective is not None
    return solution.objective


def check(call: Callable[[Path], float], program: Program, path: Path, truth: float, indicators: str = "bigm") -> None:
    program.write(path, indicators=indicators)
    assert call(path) == pytest.approx(truth, rel=1e-6, abs=1e-6)


# -- the programs ---------------------------------------------------------------------------------------------------------


def linear(*, integer: bool) -> Program:
    """Every kind of bound and row, a constant, an empty row, an unused column, nasty names."""
    rng = np.random.default_rng(4)
    build = Builder("every kind")
    labels = ["e5", "1st", "a b", "größe", "free", "x[3]"]
    x = build.variables("x", labels=labels, lower=-3, upper=3)
    f = build.variables("f")
    low = build.variables("low", lower=-7)
    high = build.variables("st", lower=-np.inf, upper=-0.5)
    build.variables("fixed", lower=2.5, upper=2.5)
    k = build.variables("e1", 2, lower=-2, upper=5, integer=integer)
    build.variables("unused", lower=-1, upper=4, integer=integer)
    A = rng.normal(size=(8, 6))
    build.subject_to("row", A @ x + f >= rng.normal(size=8))
    build.subject_to("range", ranged(A[0] @ x - k.sum(), -1.25, 4))
    build.subject_to("equal", f + low - high == 3)
    build.subject_to("most", k[0] - 0.3 * k[1] + 0.1 * f <= 2)
    build.subject_to("obj", low - high >= 1)
    build.subject_to("nothing", 0 * x[0] >= -1)
    build.minimize(f + 0.37 * low - 0.11 * high + rng.normal(size=6) @ x + 0.21 * k[0] - 0.4 * k[1] - 12.5)
    return build.build()


def zero_one() -> Program:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(15, 2)), rng.choice([-1.0, 1.0], size=15)
    build = Builder("zero_one")
    w = build.variables("w", labels=["age", "dose"], lower=-1, upper=1)
    b = build.variables("b", lower=-3, upper=3)
    z = build.binaries("error", 15)
    build.subject_to("margin", y * (X @ w + b) >= 0.1, when=(z, 0))
    build.minimize(z.sum())
    return build.build()


def quadratic(*, integer: bool) -> Program:
    """min (v - t)'(M'M)(v - t) written as squares with an off-diagonal Q, plus a row."""
    rng = np.random.default_rng(8)
    M, t = rng.normal(size=(3, 3)), rng.uniform(-2, 2, size=3)
    build = Builder("quadratic")
    v = build.variables("v", labels=["a", "b", "c"], lower=-3, upper=3, integer=integer)
    build.subject_to("sum", v.sum() >= 0.5)
    build.add_square(M @ v - M @ t)
    build.minimize(0.3 * v["a"] + 1.0)
    return build.build()


# -- the checks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("call", LINEAR)
@pytest.mark.parametrize("integer", [False, True])
def test_linear(call: Callable[[Path], float], ending: str, integer: bool, tmp_path: Path) -> None:
    program = linear(integer=integer)
    check(call, program, tmp_path / f"linear.{ending}", in_memory(program))


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("call", LINEAR)
def test_zero_one_in_big_m_form(call: Callable[[Path], float], ending: str, tmp_path: Path) -> None:
    program = zero_one()
    check(call, program, tmp_path / f"zero_one.{ending}", in_memory(program))


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("call", LINEAR)
def test_a_program_of_bounds_only(call: Callable[[Path], float], ending: str, tmp_path: Path) -> None:
    build = Builder("bounds only")
    x = build.variables("x", 3, lower=[-1.0, 0.5, 2.0], upper=4)
    build.minimize(x.sum())
    check(call, build.build(), tmp_path / f"bounds.{ending}", 1.5)


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("call", QUADRATIC)
def test_convex_quadratic(call: Callable[[Path], float], ending: str, tmp_path: Path) -> None:
    program = quadratic(integer=False)
    check(call, program, tmp_path / f"quadratic.{ending}", in_memory(program))


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("call", NATIVE)
def test_integer_quadratic(call: Callable[[Path], float], ending: str, tmp_path: Path) -> None:
    program = quadratic(integer=True)
    points = (np.array(p, dtype=float) for p in itertools.product(range(-3, 4), repeat=3))
    truth = min(program.objective(p) for p in points if p.sum() >= 0.5)
    check(call, program, tmp_path / f"integer.{ending}", truth)


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("call", NATIVE)
def test_native_indicators(call: Callable[[Path], float], ending: str, tmp_path: Path) -> None:
    program = zero_one()
    check(call, program, tmp_path / f"native.{ending}", in_memory(program), indicators="native")


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("call", NATIVE)
@pytest.mark.parametrize("value", [0, 1])
def test_native_indicators_of_every_sense(
    call: Callable[[Path], float], ending: str, value: int, tmp_path: Path
) -> None:
    build = Builder("senses")
    x = build.variables("x", 4, lower=-5, upper=5)
    z = build.binaries("z", 4)
    cost = 1.5 if value == 0 else -1.5  # it pays to switch the rows on, a little less than x would gain in one of them
    for i, rows in enumerate([x[0] >= 2, x[1] <= -1.5, x[2] == 0.75, ranged(x[3], 0.25, 3.0)]):
        build.subject_to(f"row{i}", rows, when=(z[i], value))
    signs = np.array([1.0, -1.0, 0.3, 0.2])
    build.minimize(signs @ x + cost * z.sum())
    program = build.build()
    check(call, program, tmp_path / f"senses.{ending}", in_memory(program), indicators="native")


def test_readers_see_our_names(tmp_path: Path) -> None:
    import highspy

    program = linear(integer=True)
    names = legal_names(program.variables)
    for ending in ("lp", "mps"):
        program.write(tmp_path / f"names.{ending}")
        highs = highspy.Highs()
        highs.silent()
        assert highs.readModel(str(tmp_path / f"names.{ending}")).name == "kOk"
        assert set(names) | {"objective_constant"} == set(highs.getLp().col_names_)
    assert isinstance(program.variables[0], Block)


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("seed", range(8))
def test_highs_reads_the_very_numbers(ending: str, seed: int, tmp_path: Path) -> None:
    """Matrix, costs, bounds and integers of a random program, entry by entry through names, without any tolerance."""
    import highspy
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    n, m = 7, 9
    scale = 10.0 ** rng.integers(-5, 8, size=(m, n))  # HiGHS drops entries below 1e-9
    build = Builder("random")
    x = build.variables("x", n, lower=-np.abs(rng.normal(size=n)), upper=np.abs(rng.normal(size=n)) * 10)
    f, k = build.variables("f"), build.variables("k", 2, lower=-3, upper=rng.normal(size=2), integer=True)
    z = build.binaries("z", 2)
    build.subject_to("row", (rng.normal(size=(m, n)) * scale) @ x + f >= rng.normal(size=m))
    build.subject_to("most", rng.normal(size=n) @ x + k.sum() - z.sum() <= rng.normal())
    build.subject_to("equal", k.sum() + 0.1 * f == 1 / 3)
    build.minimize(rng.normal(size=n) @ x + z.sum())
    program = build.build()
    program.write(tmp_path / f"random.{ending}")
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(tmp_path / f"random.{ending}")).name == "kOk"
    lp = highs.getLp()
    place = [list(lp.col_names_).index(name) for name in legal_names(program.variables)]
    row_place = [list(lp.row_names_).index(name) for name in legal_names(program.rows)]
    matrix = (lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_)
    read = (sp.csc_array if lp.a_matrix_.format_.name == "kColwise" else sp.csr_array)(matrix, shape=(m + 2, n + 5))
    assert np.array_equal(read.toarray()[row_place][:, place], program.A.toarray())
    for ours, theirs, order in (
        (program.c, lp.col_cost_, place),
        (program.lower, lp.col_lower_, place),
        (program.upper, lp.col_upper_, place),
        (program.row_lower, lp.row_lower_, row_place),
        (program.row_upper, lp.row_upper_, row_place),
        (program.integer, [kind.name == "kInteger" for kind in lp.integrality_], place),
    ):
        assert np.array_equal(np.array(theirs)[order], ours)
