"""LP and MPS files: golden text, legal names, and round trips that lose no bit."""

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
from mipclass.builder import Builder
from mipclass.errors import InvalidInputError, MipclassWarning, ReadError, UnsupportedProgramError
from mipclass.expression import ranged
from mipclass.files import write
from mipclass.files.digits import signed, texts
from mipclass.files.names import KEYWORDS, legal_names
from mipclass.program import Block, Indicators, Program
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM

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
@settings(max_examples=60, deadline=None)
@given(program=programs())
def test_any_program_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, ending: str, program: Program
) -> None:
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


# -- names and digits -----------------------------------------------------------------------------------------------------

LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def check_legal(names: list[str]) -> None:
    assert len(set(names)) == len(names)
    for name in names:
        assert LEGAL.fullmatch(name), name
        assert len(name) <= 96
        assert not re.match(r"[eE]\d", name)
        assert name.lower() not in KEYWORDS


def test_nasty_names() -> None:
    labels = ("age", "1st", "e5", "a b", "a_b", "a-b", "größe", "年", "", "x[3]", "x" * 300, "x" * 301, "'; DROP")
    names = legal_names([Block("w", 0, (len(labels),), (labels,))])
    check_legal(names)
    assert names[:6] == ["w_age", "w_1st", "w_e5", "w_a_b", "w_a_b_2", "w_a_b_3"]
    scalars = ["e1", "E22", "free", "Inf", "st", "3x", ".5", "max", "end", "e", "nan", "", "x", "x", "obj"]
    blocks = [Block(name, k, ()) for k, name in enumerate(scalars)]
    check_legal(legal_names(blocks))
    assert legal_names(blocks)[0] == "_e1"


def test_a_twin_never_takes_a_name_that_another_asked_for() -> None:
    labels = ("a b", "a_b", "a_b_2", "a.b", "a b")
    names = legal_names([Block("w", 0, (5,), (labels,))])
    assert names == ["w_a_b", "w_a_b_3", "w_a_b_2", "w_a.b", "w_a_b_4"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=120), st.lists(st.text(max_size=120), max_size=4)), max_size=5))
def test_names_are_always_legal_and_unique(described: list[tuple[str, list[str]]]) -> None:
    blocks, start = [], 0
    for name, labels in described:
        shape, axes = ((len(labels),), (tuple(labels),)) if labels else ((), ())
        blocks.append(Block(name, start, shape, axes))
        start += blocks[-1].size
    names = legal_names(blocks, taken={"obj"})
    check_legal(names)
    assert "obj" not in names
    assert len(names) == start


def test_a_column_that_poses_as_the_constant_is_left_alone(tmp_path: Path) -> None:
    build = Builder()
    x = build.variables("objective_constant", lower=1, upper=1)
    build.subject_to("row", x >= 0)
    build.minimize(3 * x + 4)
    for ending in FORMATS:
        build.build().write(tmp_path / f"x.{ending}")
        assert mipclass.read(tmp_path / f"x.{ending}") == build.build()


@settings(max_examples=300)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_digits_round_trip_and_are_the_shortest(value: float) -> None:
    (text,) = texts(np.array([value]))
    assert float(text) == np.clip(value, -1e30, 1e30)
    assert len(text) <= max(len(repr(value)), len("-1e+30"))
    assert float(signed(np.array([value]))[0]) == float(text)


def test_repeated_numbers_are_written_once_and_alike() -> None:
    values = np.tile([0.1, -2.0, 1e-7, np.inf], 500)
    assert texts(values) == ["0.1", "-2", "1e-07", "1e+30"] * 500


# -- files from elsewhere -------------------------------------------------------------------------------------------------

FOREIGN_LP = """\
\\Problem name: diet \\ a comment
Maximize
 profit: 3x + 2 y - z + 4
   + [ 2 x^2 - 4 x * y ] / 2 - 1
such that
 c1: x + y
   + 2 z <= 10
 -5 <= x - y <= 8
 c3: 2 x + 3 =>    -1
 ind: b = 1 -> x + y >= 2
bound
 x <= 4
 -3 <= y
 -infinity <= z <= -1
 b <= 1
 q free
Integer
 y
BINARY
 b
end
"""


def test_an_lp_file_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "diet.lp").write_text(FOREIGN_LP)
    program = mipclass.read(tmp_path / "diet.lp")
    assert program.column_names() == ["x", "y", "z", "b", "q"]
    assert np.array_equal(program.c, [-3, -2, 1, 0, 0])  # negated: a Program minimises
    assert program.constant == -3
    assert np.array_equal(program.Q.toarray()[:2, :2], [[-2, 2], [2, 0]])
    assert np.array_equal(program.A.toarray()[:, :3], [[1, 1, 2], [1, -1, 0], [2, 0, 0], [1, 1, 0]])
    assert np.array_equal(program.row_lower, [-np.inf, -5, -4, 2])
    assert np.array_equal(program.row_upper, [10, 8, np.inf, np.inf])
    assert np.array_equal(program.lower, [0, -3, -np.inf, 0, -np.inf])
    assert np.array_equal(program.upper, [4, np.inf, -1, 1, np.inf])
    assert np.array_equal(program.integer, [False, True, False, True, False])
    assert (program.indicators.row[0], program.indicators.column[0], program.indicators.value[0]) == (3, 3, 1)


FOREIGN_MPS = """\
* fixed format
NAME          SAMPLE
OBJSENSE
    MAX
ROWS
 N  COST
 L  LIM1
 G  LIM2
 E  MYEQN
 N  SPARE
COLUMNS
    X         COST         1.0   LIM1         1.0
    X         LIM2         1.0   SPARE        2.0
    MARKER                 'MARKER'                 'INTORG'
    Y         COST         2.0   LIM1         1.0
    K         MYEQN        1.0
    MARKER                 'MARKER'                 'INTEND'
    Z         COST        -1.0   MYEQN        1.0
RHS
    RHS       COST         7.0   LIM1         4.0
    RHS       LIM2         1.0   MYEQN        7.0
RANGES
    RNG       LIM1         2.5   MYEQN       -3.0
BOUNDS
 UP BND       X            4.0
 UP BND       Y           -1.0
 FR BND       Z
QMATRIX
    X X 2.0
    X Z 1.0
    Z X 1.0
ENDATA
"""


def test_an_mps_file_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "sample.mps").write_text(FOREIGN_MPS)
    program = mipclass.read(tmp_path / "sample.mps")
    assert program.name == "SAMPLE"
    assert program.column_names() == ["X", "Y", "K", "Z"]
    assert np.array_equal(program.c, [-1, -2, 0, 1])
    assert program.constant == 7  # maximise x + 2y - z - 7
    assert np.array_equal(program.row_lower, [1.5, 1, 4])
    assert np.array_equal(program.row_upper, [4, np.inf, 7])
    assert np.array_equal(program.lower, [0, -np.inf, 0, -np.inf])
    assert np.array_equal(program.upper, [4, -1, 1, np.inf])
    assert np.array_equal(program.integer, [False, True, True, False])
    assert np.array_equal(program.Q.toarray()[np.ix_([0, 3], [0, 3])], [[-2, -1], [-1, 0]])


def test_names_in_another_encoding(tmp_path: Path) -> None:
    text = "\\ Gr\xf6\xdfe\nmin\n 2 x\nst\n c: x >= 1\nend\n"
    (tmp_path / "l.lp").write_bytes(text.encode("latin-1"))
    assert mipclass.read(tmp_path / "l.lp").column_names() == ["x"]


def test_a_fixed_binary_stays_fixed(tmp_path: Path) -> None:
    (tmp_path / "b.lp").write_text("min\n a + b\nst\n c: a + b >= 1\nbounds\n b = 1\nbinary\n a b\nend\n")
    program = mipclass.read(tmp_path / "b.lp")
    assert (program.lower.tolist(), program.upper.tolist()) == ([0, 1], [1, 1])
    assert program.integer.all()


def test_bracketed_names_are_read_and_made_legal(tmp_path: Path) -> None:
    text = "min\n obj: 2 x[1,a] + x[2] + [ x[2] ^2 ] / 2\nst\n c[0]: x[1,a] + 3 x[2] >= 1\nbounds\n x[2] free\nend\n"
    (tmp_path / "g.lp").write_text(text)
    program = mipclass.read(tmp_path / "g.lp")
    assert program.column_names() == ["x[1,a]", "x[2]"]
    assert np.array_equal(program.A.toarray(), [[1, 3]])
    assert program.Q.toarray()[1, 1] == 1
    program.write(tmp_path / "h.lp")
    assert " +2 x_1_a +1 x_2" in (tmp_path / "h.lp").read_text()
    assert mipclass.read(tmp_path / "h.lp") == program


def test_unordered_names_become_one_labelled_block(tmp_path: Path) -> None:
    (tmp_path / "x.lp").write_text("min\n obj: x_1 + y_1 + x_2\nst\n r: x_1 + y_1 >= 1\nend\n")
    program = mipclass.read(tmp_path / "x.lp")
    assert program.variables == (Block("x", 0, (3,), (("x_1", "y_1", "x_2"),)),)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.lp", "", "begins with Minimize"),
        ("a.lp", "hello\nmin\n x\nst\n x >= 1\nend\n", "text before the objective"),
        ("a.lp", "min\n x\nst\n c: x >= 1\n", "without End"),
        ("a.lp", "min\n x\nst\n c: x 1\nend\n", "expected"),
        ("a.lp", "min\n x\nst\n c: x >= y\nend\n", "expected a number"),
        ("a.lp", "min\n x\nst\n c: x >= 1\n c: x >= 2\nend\n", "declared twice"),
        ("a.lp", "min\n x\nst\n c: x + >= 1\nend\n", "sign without a term"),
        ("a.lp", "min\n x\nst\n c: x >= 1\nbounds\n x <= -1\nend\n", "readers disagree"),
        ("a.lp", "min\n x\nst\n c: x >= 1\nsos\n s1: S1:: x:1\nend\n", "'sos' is not supported"),
        (
            "a.lp",
            "min\n x\nst\n c: x >= 1\nGeneral Constraints\n g: y = ABS ( x )\nend\n",
            "'general constraints' is not",
        ),
        ("a.lp", "min\n x\nst\n c: x >= 1\nbounds\n 3 <= 4\nend\n", "needs the name of a column"),
        ("a.lp", "min\n x\nst\n c: x >= 1\nbounds\n x <= 3 y <= 4\nend\n", "more than one bound"),
        ("a.lp", "min\n x\nst\n c: b = 2 -> x >= 1\nbinary\n b\nend\n", "an indicator reads"),
        ("a.lp", "min\n x\nst\n c: b = 1 -> x >= 1\nend\n", "not binary"),
        ("a.lp", "min\n [ x ^ 3 ] / 2\nst\n c: x >= 1\nend\n", "expected '2'"),
        ("a.mps", "", "without ENDATA"),
        ("a.mps", "NAME x\nROWS\n L a\nCOLUMNS\nENDATA\n", "no objective"),
        ("a.mps", "ROWS\n N o\n N o\n", "line 3: row 'o' is declared twice"),
        ("a.mps", "ROWS\n N o\n Q a\n", "unknown type 'Q'"),
        ("a.mps", "ROWS\n N o\nCOLUMNS\n x y 1\n", "unknown row 'y'"),
        ("a.mps", "ROWS\n N o\nCOLUMNS\n x o one\n", "cannot make sense"),
        ("a.mps", "ROWS\n N o\nCOLUMNS\n x o 1\nBOUNDS\n SC BND x 3\n", "'SC'"),
        ("a.mps", "ROWS\n N o\nSOS\n", "section 'SOS' is not supported"),
        ("a.mps", " x o 1\n", "before the first section"),
    ],
)
def test_bad_files_are_explained(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ReadError, match=complaint):
        mipclass.read(tmp_path / name)


def test_bad_calls_are_explained(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"one of \.lp"):
        small().write(tmp_path / "toy.txt")
    with pytest.raises(InvalidInputError, match=r"one of \.lp"):
        mipclass.read(tmp_path / "toy.txt")
    with pytest.raises(InvalidInputError, match="'bigm' or 'native'"):
        small().write(tmp_path / "toy.lp", indicators="sos")
    with pytest.raises(FileNotFoundError):
        mipclass.read(tmp_path / "absent.lp")
    with pytest.raises(InvalidInputError, match="no columns"):
        Builder("nothing").build().write(tmp_path / "nothing.lp")
