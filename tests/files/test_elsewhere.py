"""LP and MPS files that others wrote, and files and calls that are refused with an explanation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mipclass
from mipclass.errors import InvalidInputError, MipclassWarning, ReadError
from mipclass.modelling.blocks import Block
from mipclass.modelling.builder import Builder
from mipclass.testing import random_lp

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
    with pytest.warns(MipclassWarning, match="'Y' has the upper bound -1 and no lower bound"):
        program = mipclass.read(tmp_path / "sample.mps")
    assert program.name == "SAMPLE"
    assert program.column_names() == ["X", "Y", "K", "Z"]
    assert np.array_equal(program.c, [-1, -2, 0, 1])
    assert program.constant == 7  # maximise x + 2y - z - 7
    assert np.array_equal(program.row_lower, [1.5, 1, 4])
    assert np.array_equal(program.row_upper, [4, np.inf, 7])
    assert np.array_equal(program.lower, [0, 0, 0, -np.inf])
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


MPS = "ROWS\n N o\n L c\nCOLUMNS\n x o 1 c 1\n{}ENDATA\n"
"""A small MPS file with a place for further sections, the first of them on line 6."""


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
        ("a.lp", "min\n x\nst\n c: x >= 1\nsos\n s1: S1:: x:1\nend\n", "'sos' is not supported"),
        (
            "a.lp",
            "min\n x\nst\n c: x >= 1\nGeneral Constraints\n g: y = ABS ( x )\nend\n",
            "'general constraints' is not",
        ),
        ("a.lp", "min\n x\nst\n c: x >= 1\nbounds\n 3 <= 4\nend\n", "needs the name of a column"),
        ("a.lp", "min\n x\nst\n c: x >= 1\nbounds\n x\nend\n", "line 6: expected '<'"),
        ("a.lp", "min\n x\nst\n c: x >= 1\nbounds\n x >= inf\nend\n", "line 6: the bounds of column 'x'"),
        ("a.lp", "min\n x\nst\n c: x >= nan\nend\n", "line 4: expected a number"),
        ("a.lp", "min\n x\nst\n c: x + inf >= 1\nend\n", "line 4: 'inf' stands where the name"),
        ("a.lp", "min\n x\nst\n c: x y >= 1\nend\n", "line 4: expected '<'"),
        ("a.lp", "min\n x y\nst\n c: x >= 1\nend\n", "line 2: the objective cannot be read"),
        ("a.lp", "min\n 3 4 x\nst\n c: x >= 1\nend\n", "line 2: the objective cannot be read"),
        (
            "a.lp",
            "min\n x + 2 [ x ^2 ] / 2\nst\n c: x >= 1\nend\n",
            "line 2: expected a sign before the quadratic part",
        ),
        ("a.lp", "min\n x\nst\n c: 3 <= x >= 5\nend\n", "line 4: a row between two numbers"),
        ("a.lp", "min\n x\nst\n c: 3 <= x = 5\nend\n", "line 4: a row between two numbers"),
        ("a.lp", "min\n x\nst\n c: x >= 1\n x >= 2 <= 5\nend\n", "line 5: expected terms"),
        ("a.lp", "min\n x\nst\n c: x >= 1\nmax\n x\nend\n", "line 5: 'max' begins a second objective"),
        ("a.lp", "min\n x\nst\n d: y\n + 1e400 x >= 1\nend\n", "line 5: '1e400' is infinite"),
        ("a.lp", "min\n x\nst\n q1: x + [ x * y ] <= 1\nend\n", "line 4: row 'q1' is quadratic"),
        ("a.lp", "min\n x\nst\n q1: [ x ^2 ] <= 1\nend\n", "line 4: row 'q1' is quadratic"),
        ("a.lp", "min\n x\nst\n c: x >= 1\nPWLObj\n x: (0, 0)\nend\n", "line 6: expected"),
        ("a.lp", "min\n x\nst\n c: b = 2 -> x >= 1\nbinary\n b\nend\n", "an indicator reads"),
        ("a.lp", "min\n x\nst\n c: b = 1 -> x >= 1\nend\n", "not binary"),
        ("a.lp", "min\n [ x ^ 3 ] / 2\nst\n c: x >= 1\nend\n", "expected '2'"),
        ("a.mps", "", "without ENDATA"),
        ("a.mps", "NAME x\nROWS\n L a\nCOLUMNS\nENDATA\n", "no objective"),
        ("a.mps", "ROWS\n N o\n N o\n", "line 3: row 'o' is declared twice"),
        ("a.mps", "ROWS\n N o\n Q a\n", "unknown type 'Q'"),
        ("a.mps", "ROWS\n N o\nCOLUMNS\n x y 1\n", "unknown row 'y'"),
        ("a.mps", "ROWS\n N o\nCOLUMNS\n x o one\n", "line 4: 'one' is not a number"),
        ("a.mps", "ROWS\n N o\nCOLUMNS\n x o 1\nBOUNDS\n SC BND x 3\n", "'SC'"),
        ("a.mps", "ROWS\n N o\nSOS\n", "section 'SOS' is not supported"),
        ("a.mps", " x o 1\n", "before the first section"),
        ("a.mps", MPS.format("RHS\n RHS\n"), "line 7: a line of RHS has a name"),
        ("a.mps", MPS.format("RHS\n c\n"), "line 7: a line of RHS has a name"),
        ("a.mps", MPS.format("RHS\n RHS c 1 o\n"), "line 7: section RHS names the unknown row 'RHS'"),
        ("a.mps", MPS.format("RHS c 4\n"), "line 6: 'RHS c 4' begins in the first column"),
        ("a.mps", MPS.format("RHS\n RHS c 4\n RHS c 5\n"), "line 8: section RHS gives row 'c' two numbers"),
        ("a.mps", MPS.format("RHS\n RHS c nan\n"), "line 7: 'nan' is not a number"),
        ("a.mps", MPS.format("RHS\n RHS c 1_0\n"), "line 7: '1_0' is not a number"),
        ("a.mps", MPS.format("RHS\n RHS o inf\n"), "line 7: 'inf' is infinite"),
        ("a.mps", MPS.format("BOUNDS\n BV BND x\nINDICATORS\n IF c x 2\n"), "line 9: an indicator reads"),
        ("a.mps", MPS.format("BOUNDS\n BV BND x\nINDICATORS\n c x 1\n"), "line 9: an indicator reads"),
        ("a.mps", MPS.format("BOUNDS\n BV BND x\n UP BND x 3\n"), "line 8: column 'x' has two bounds on one side"),
        ("a.mps", MPS.format("BOUNDS\n LO BND x inf\n"), "line 7: the lower bound of column 'x'"),
        ("a.mps", MPS.format("COLUMNS\n M 'MARKER' 'SOSORG'\n"), "line 7: a marker must be"),
        ("a.mps", MPS.format("QCMATRIX c\n x x 2\n"), "line 6: section QCMATRIX makes row 'c' quadratic"),
        ("a.mps", MPS.format("QSECTION c\n x x 2\n"), "line 6: section QSECTION makes row 'c' quadratic"),
        ("a.mps", MPS.format("COLUMNS\n y o 1\nQMATRIX\n x y 2\n"), "QMATRIX is not symmetric: 'x' with 'y'"),
    ],
)
def test_bad_files_are_explained(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ReadError, match=complaint):
        mipclass.read(tmp_path / name)


def test_bad_calls_are_explained(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"one of \.lp"):
        random_lp(0).write(tmp_path / "toy.txt")
    with pytest.raises(InvalidInputError, match=r"one of \.lp"):
        mipclass.read(tmp_path / "toy.txt")
    with pytest.raises(InvalidInputError, match="'bigm' or 'native'"):
        random_lp(0).write(tmp_path / "toy.lp", indicators="sos")
    with pytest.raises(FileNotFoundError):
        mipclass.read(tmp_path / "absent.lp")
    with pytest.raises(InvalidInputError, match="no columns"):
        Builder("nothing").build().write(tmp_path / "nothing.lp")
