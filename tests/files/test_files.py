"""LP and MPS files: golden text, and round trips that lose no bit."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.errors import MipclassWarning, UnsupportedProgramError
from mipclass.files import write
from mipclass.modelling.blocks import Block
from mipclass.modelling.builder import Builder
from mipclass.modelling.expression import ranged
from mipclass.modelling.indicators import Indicators
from mipclass.modelling.program import Program
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM
from mipclass.testing import random_lp

FORMATS = ["lp", "mps"]


def small() -> Program:
    """A program with one of everything."""
    build = Builder("toy model")
    w = build.variables("w", labels=["age", "dose (mg)"], lower=-1, upper=1)
    b = build.variables("b")
    k = build.variables("k", lower=-2, upper=3, integer=True)
    t = build.variables("t", lower=-np.inf, upper=-0.5)
    z = build.binaries("error", 2)
    X = np.array([[0.1, -2.0], [3.0, 1e-5]])
    build.subject_to("margin", X @ w + b >= 1, when=(z, 0))
    build.subject_to("rate", ranged(z.sum() + k, 0.25, 2))
    build.subject_to("tie", w["age"] - 3 * t == 4)
    build.subject_to("cap", k + b <= 7)
    build.add_square(w - 0.5 * b)
    build.minimize(z.sum() + 0.1 * k + 2.5)
    return build.build()


GOLDEN_LP = """\
\\ toy model: MIQP, written by mipclass
\\ Holds indicator constraints: CBC and SYMPHONY misread them; SCIP, CPLEX and Gurobi read them.
Minimize
 obj: +0.1 k +1 error_0 +1 error_1 +2.5 objective_constant
 + [ +2 w_age ^2 +2 w_dose_mg ^2 -2 w_age * b
  -2 w_dose_mg * b +1 b ^2 ] / 2
Subject To
 margin_0: error_0 = 0 -> +0.1 w_age -2 w_dose_mg +1 b >= 1
 margin_1: error_1 = 0 -> +3 w_age +1e-05 w_dose_mg +1 b >= 1
 rate: +1 k +1 error_0 +1 error_1 >= 0.25
 tie: +1 w_age -3 t = 4
 cap: +1 b +1 k <= 7
\\ upper_side[1]: upper sides of rows with two limits, which stand above with their lower sides
 upper_side_rate: +1 k +1 error_0 +1 error_1 <= 2
Bounds
 -1 <= w_age <= 1
 -1 <= w_dose_mg <= 1
 b free
 -2 <= k <= 3
 -inf <= t <= -0.5
 0 <= error_0 <= 1
 0 <= error_1 <= 1
 objective_constant = 1
Binaries
 error_0
 error_1
Generals
 k
End
"""

GOLDEN_MPS = """\
* toy model: MIQP, written by mipclass
* Holds indicator constraints: CBC and SYMPHONY misread them; SCIP, CPLEX and Gurobi read them.
* upper_side[1]: upper sides of rows with two limits, which stand above with their lower sides
NAME toy_model FREE
ROWS
 N obj
 G margin_0
 G margin_1
 G rate
 E tie
 L cap
 L upper_side_rate
COLUMNS
 w_age margin_0 0.1
 w_age margin_1 3
 w_age tie 1
 w_dose_mg margin_0 -2
 w_dose_mg margin_1 1e-05
 b margin_0 1
 b margin_1 1
 b cap 1
 MARKER 'MARKER' 'INTORG'
 k obj 0.1
 k rate 1
 k cap 1
 k upper_side_rate 1
 MARKER 'MARKER' 'INTEND'
 t tie -3
 MARKER 'MARKER' 'INTORG'
 error_0 obj 1
 error_0 rate 1
 error_0 upper_side_rate 1
 error_1 obj 1
 error_1 rate 1
 error_1 upper_side_rate 1
 MARKER 'MARKER' 'INTEND'
 objective_constant obj 2.5
RHS
 RHS margin_0 1
 RHS margin_1 1
 RHS rate 0.25
 RHS tie 4
 RHS cap 7
 RHS upper_side_rate 2
BOUNDS
 UP BND w_age 1
 LO BND w_age -1
 UP BND w_dose_mg 1
 LO BND w_dose_mg -1
 FR BND b
 UP BND k 3
 LO BND k -2
 MI BND t
 UP BND t -0.5
 BV BND error_0
 BV BND error_1
 FX BND objective_constant 1
QUADOBJ
 w_age w_age 2
 w_age b -1
 w_dose_mg w_dose_mg 2
 w_dose_mg b -1
 b b 1
INDICATORS
 IF margin_0 error_0 0
 IF margin_1 error_1 0
ENDATA
"""


@pytest.mark.parametrize(("ending", "golden"), [("lp", GOLDEN_LP), ("mps", GOLDEN_MPS)])
def test_golden_text(tmp_path: Path, ending: str, golden: str) -> None:
    small().write(tmp_path / f"toy.{ending}", indicators="native")
    assert (tmp_path / f"toy.{ending}").read_text() == golden


def test_the_sidecar_maps_names_to_features_and_rows(tmp_path: Path) -> None:
    small().write(tmp_path / "toy.lp", indicators="native")
    said = json.loads((tmp_path / "toy.names.json").read_text())
    assert said["program"] == "toy model"
    assert said["indicators"] == "native"
    assert said["variables"][0] == {
        "name": "w",
        "shape": [2],
        "labels": [["age", "dose (mg)"]],
        "in_file": ["w_age", "w_dose_mg"],
    }
    assert said["rows"][0]["in_file"] == ["margin_0", "margin_1"]
    assert said["upper_sides"] == {"upper_side_rate": "rate"}


# -- round trips ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [*FORMATS, "lp.gz", "mps.gz"])
def test_native_round_trip_is_exact(tmp_path: Path, ending: str) -> None:
    program = small()
    program.write(tmp_path / f"toy.{ending}", indicators="native")
    again = mipclass.read(tmp_path / f"toy.{ending}")
    assert again == program
    assert again.name == "toy model"
    if ending.endswith("gz"):
        with gzip.open(tmp_path / f"toy.{ending}", "rt") as stream:
            assert "written by mipclass" in stream.readline()


def bounded() -> Program:
    program = small()
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[2], upper[2], lower[4] = -9.0, 9.0, -4.0
    return program.replace_with(lower=lower, upper=upper)


@pytest.mark.parametrize("ending", FORMATS)
def test_the_default_is_the_big_m_form(tmp_path: Path, ending: str) -> None:
    program = bounded()
    program.write(tmp_path / f"toy.{ending}")
    text = (tmp_path / f"toy.{ending}").read_text()
    assert "Indicator rows are written in big-M form." in text
    assert "->" not in text
    assert "INDICATORS" not in text
    assert mipclass.read(tmp_path / f"toy.{ending}") == IndicatorToBigM().apply(program)[0]


def test_an_unbounded_indicator_row_has_no_big_m_form(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedProgramError, match="Bound these variables"):
        small().write(tmp_path / "toy.lp")
    assert not (tmp_path / "toy.lp").exists()


numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e29, max_value=1e29)
coefficients = st.one_of(st.integers(-3, 3).map(float), numbers)


@st.composite
def programs(draw: Any) -> Program:
    n, m = draw(st.integers(1, 5)), draw(st.integers(0, 4))

    def vector(size: int, elements: Any) -> np.ndarray:
        return np.array(draw(st.lists(elements, min_size=size, max_size=size)), dtype=float)

    def interval(size: int) -> tuple[np.ndarray, np.ndarray]:
        ends = np.sort(np.array([vector(size, numbers), vector(size, numbers)]), axis=0)
        open_low = vector(size, st.booleans()).astype(bool)
        open_high = vector(size, st.booleans()).astype(bool)
        return np.where(open_low, -np.inf, ends[0]), np.where(open_high, np.inf, ends[1])

    lower, upper = interval(n)
    row_lower, row_upper = interval(m)
    integer = vector(n, st.booleans()).astype(bool)
    binary = integer & vector(n, st.booleans()).astype(bool)
    half = np.tril(vector(n * n, coefficients).reshape(n, n)) if draw(st.booleans()) else np.zeros((n, n))
    where = np.flatnonzero(binary)
    switched = [i for i in range(m) if len(where) and draw(st.booleans())]
    columns = [int(draw(st.sampled_from(where.tolist()))) for _ in switched]
    values = [draw(st.integers(0, 1)) for _ in switched]
    limits = [draw(st.one_of(st.just(np.inf), st.floats(0, 1e9))) for _ in switched]
    return Program(
        c=vector(n, coefficients),
        A=sp.csr_array(vector(m * n, coefficients).reshape(m, n)),
        row_lower=row_lower,
        row_upper=row_upper,
        lower=np.where(binary, 0.0, lower),
        upper=np.where(binary, 1.0, upper),
        integer=integer,
        Q=sp.csc_array(half + np.tril(half, -1).T),
        constant=draw(coefficients),
        indicators=Indicators(
            np.array(switched, np.int64), np.array(columns, np.int64), np.array(values, np.int8), np.array(limits)
        ),
        variables=(Block(draw(st.text(max_size=8)), 0, (n,), (tuple(draw(st.text(max_size=6)) for _ in range(n)),)),),
        rows=(Block(draw(st.text(max_size=8)), 0, (m,), (None,)),),
        name=draw(st.text(max_size=10)),
    )


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=15, deadline=None)
@given(program=programs())
def test_any_program_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, ending: str, program: Program
) -> None:
    check_that_it_comes_back(tmp_path_factory, ending, program)


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=200, deadline=None)
@given(program=programs())
def test_many_programs_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, ending: str, program: Program
) -> None:
    check_that_it_comes_back(tmp_path_factory, ending, program)


def check_that_it_comes_back(tmp_path_factory: pytest.TempPathFactory, ending: str, program: Program) -> None:
    path = tmp_path_factory.mktemp("any") / f"any.{ending}"
    program.write(path, indicators="native")
    again = mipclass.read(path)
    assert again == program
    assert again.name == program.name


@pytest.mark.parametrize("ending", FORMATS)
def test_every_coefficient_of_a_wide_program_survives(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 40)) * 10.0 ** rng.integers(-12, 12, size=(300, 40))
    A[rng.random(A.shape) < 0.3] = 0.0
    A[5] = 0.0
    A[:, 7] = 0.0
    build = Builder("wide")
    x = build.variables("x", 40, lower=-1, upper=1)
    build.subject_to("row", A @ x >= rng.normal(size=300))
    build.minimize(rng.normal(size=40) @ x)
    program = build.build()
    program.write(tmp_path / f"wide.{ending}")
    text = (tmp_path / f"wide.{ending}").read_text()
    assert max(map(len, text.splitlines())) <= 560
    assert np.array_equal(mipclass.read(tmp_path / f"wide.{ending}").A.toarray(), A)


def test_lines_stay_within_the_limit_of_the_language(tmp_path: Path) -> None:
    build = Builder("long")
    x = build.variables("x", labels=[f"{k}{'x' * 200}" for k in range(9)], lower=-1 / 3, upper=1 / 3)
    z = build.binaries("z" * 90, 2)
    build.subject_to("row" * 50, (np.ones((2, 9)) * -1e-300 / 3) @ x >= [-1e-299 / 3, -1e-298 / 3], when=(z, 0))
    build.add_square(x)
    build.minimize((np.ones(9) / 3) @ x)
    build.build().write(tmp_path / "long.lp", indicators="native")
    assert max(map(len, (tmp_path / "long.lp").read_text().splitlines())) <= 560
    assert mipclass.read(tmp_path / "long.lp") == build.build()


@pytest.mark.parametrize("ending", FORMATS)
def test_without_the_sidecar_the_names_stand_for_themselves(tmp_path: Path, ending: str) -> None:
    program = small()
    write(program, tmp_path / f"toy.{ending}", indicators="native", sidecar=False)
    assert [path.name for path in tmp_path.iterdir()] == [f"toy.{ending}"]
    again = mipclass.read(tmp_path / f"toy.{ending}")
    assert [block.name for block in again.variables] == ["w", "b", "k", "t", "error"]
    assert again.variables[0].labels == (("age", "dose_mg"),)
    assert again.constant == 2.5
    assert np.array_equal(again.c, program.c)
    assert again.n_rows == program.n_rows + 1  # the ranged row stays a pair


def test_a_sidecar_of_another_file_is_not_used(tmp_path: Path) -> None:
    small().write(tmp_path / "toy.lp", indicators="native")
    names = (tmp_path / "toy.names.json").read_text()
    (tmp_path / "toy.names.json").write_text(names.replace("w_age", "w_height"))
    with pytest.warns(MipclassWarning, match="belongs to a file with other names"):
        again = mipclass.read(tmp_path / "toy.lp")
    assert again.column_names()[0] == "w[age]"
    for nonsense in ("{", "[1]", '{"format": "mipclass names", "version": 99}'):
        (tmp_path / "toy.names.json").write_text(nonsense)
        with pytest.warns(MipclassWarning, match="not a names file"):
            mipclass.read(tmp_path / "toy.lp")


def test_a_file_never_stands_beside_the_names_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two programs with the same names in the file and other labels behind them, the second write cut off before its sidecar."""
    first, second = (Builder("labels") for _ in range(2))
    for build, label in ((first, "a b"), (second, "a_b")):
        w = build.variables("w", labels=[label], lower=0, upper=1)
        build.minimize(w.sum())
    first.build().write(tmp_path / "m.lp")
    monkeypatch.setattr("mipclass.files.write_safely", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        second.build().write(tmp_path / "m.lp")
    assert mipclass.read(tmp_path / "m.lp").column_names() == ["w[a_b]"]


def test_writing_without_a_sidecar_leaves_no_older_one(tmp_path: Path) -> None:
    random_lp(0).write(tmp_path / "m.lp")
    write(random_lp(1), tmp_path / "m.lp", sidecar=False)
    assert [file.name for file in tmp_path.iterdir()] == ["m.lp"]


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_files_of_models_say_what_each_block_is_in_short_numbers(tmp_path: Path, ending: str) -> None:
    """Comments name every block; big-M constants have three digits and are none too small."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 3)) * [1.0, 50.0, 0.01], rng.permutation(np.arange(20) % 2)
    limits = [models.FalsePositiveRate(0.2), models.MaxFeatures(2)]
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=limits, feature_names=["a", "b", "c"])
    problem.subject_to(problem.w["a"] >= 0)
    problem.write(tmp_path / f"model.{ending}")
    text = (tmp_path / f"model.{ending}").read_text()
    mark = {"lp": "\\", "mps": "*"}[ending]
    for block in (*problem.program().variables, *problem.program().rows):
        assert f"\n{mark} {block}: " in text
    assert re.search(r"centre_above.*50001\b", text)
    program, smallest = mipclass.read(tmp_path / f"model.{ending}"), IndicatorToBigM().apply(problem.program())[0]
    columns = program.block("error").slice
    written, needed = program.A[: program.n_rows, columns], smallest.A[: smallest.n_rows, columns]
    margins = next(block for block in program.rows if block.name == "margin").slice
    M, least = written[margins].diagonal(), needed[margins].diagonal()
    assert (least <= M).all()
    assert (1.01 * least >= M).all()
    assert all(float(f"{value:.2e}") == value for value in M)
    assert mipclass.solve(program, "highs").objective == pytest.approx(mipclass.solve(problem, "highs").objective)
