"""Valid files that readers are known to stumble over: ours reads them as HiGHS does, and solves what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mipclass
from mipclass.errors import MipclassWarning, ReadError
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program

LP = "min\n obj: x + 2 y\nst\n {}\nbounds\n {}\nend\n"
MPS = "{}ROWS\n N obj\n L c1\n G c2\nCOLUMNS\n x obj 1 c1 1\n x c2 1\n y obj 1 c1 1\n{}ENDATA\n"


def by_highs(path: Path) -> dict[str, Any]:
    """Costs, bounds, sides and constant as HiGHS's own reader has them, by name."""
    import highspy

    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)).name != "kError"
    lp = highs.getLp()
    return {
        "columns": dict(zip(lp.col_names_, zip(lp.col_cost_, lp.col_lower_, lp.col_upper_, strict=True), strict=True)),
        "rows": dict(zip(lp.row_names_, zip(lp.row_lower_, lp.row_upper_, strict=True), strict=True)),
        "constant": lp.offset_,
        "entries": len(lp.a_matrix_.value_),
        "maximise": lp.sense_.name == "kMaximize",
    }


def as_read(program: Program, *, maximise: bool = False) -> dict[str, Any]:
    sign = -1 if maximise else 1
    return {
        "columns": dict(
            zip(program.column_names(), zip(sign * program.c, program.lower, program.upper, strict=True), strict=True)
        ),
        "rows": dict(zip(program.row_names(), zip(program.row_lower, program.row_upper, strict=True), strict=True)),
        "constant": sign * program.constant,
        "entries": program.A.nnz,
        "maximise": maximise,
    }


@pytest.mark.parametrize(
    "text",
    [
        LP.format("c1: x + y >= 1\n c2: >= -1", "x <= 4"),
        LP.format("c1: x + y >= 1\n c2: = 0\n c3: 0 >= 1", "x <= 4"),
        LP.format("c1: x + y >= 1", "x <= -3"),
        LP.format("c1: x + y >= 1", "x >= 0\n x <= -3"),
        LP.format("c1: x + y >= 1", "x <= 5 -1 <= y <= 6"),
    ],
    ids=["no terms", "no terms, numbers", "negative upper", "negative upper, zero lower", "two bounds on a line"],
)
def test_an_lp_file_is_read_as_highs_reads_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text(text)
    assert as_read(mipclass.read(tmp_path / "a.lp")) == by_highs(tmp_path / "a.lp")


@pytest.mark.parametrize(
    "text",
    [
        MPS.format("", "RHS\n RHS c1 4\nRANGES\n RNG obj 3 c1 2\n"),
        MPS.format("", "RHS\n RHS c1 1.5D1 c2 .25d-1\n"),
        MPS.format("", "RHS\n RHS c1 4 $ a comment\n RHS c2 1 $c1 2\n"),
        MPS.format("", "RHS\n c1 4 c2 1\n"),
        MPS.format("", "RHS\n *RHS* c1 4 c2 1\n"),
        MPS.format("", "BOUNDS\n UP BND x -3\n LO BND x 0\n FR y 0\n"),
        MPS.format("OBJSENSE\nMAX\n", "RHS\n RHS obj 3\n"),
        MPS.format("OBJSENSE\n    MAXIMISE\n", "RHS\n RHS obj 3\n"),
    ],
    ids=[
        "range of the objective",
        "Fortran",
        "comment",
        "no set",
        "star",
        "bounds",
        "sense in column 1",
        "sense in English",
    ],
)
def test_an_mps_file_is_read_as_highs_reads_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.mps").write_text(text)
    theirs = by_highs(tmp_path / "a.mps")
    assert as_read(mipclass.read(tmp_path / "a.mps"), maximise=theirs["maximise"]) == theirs


def test_a_negative_upper_bound_with_a_zero_lower_one_is_infeasible(tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text(LP.format("c1: x + y >= 1", "x <= -3"))
    assert mipclass.solve(mipclass.read(tmp_path / "a.lp"), "highs").status == "infeasible"


def test_blanks_in_fixed_names(tmp_path: Path) -> None:
    text = """\
NAME          BLANKS
ROWS
 N  THE COST
 L  ROW   1
 G  ROW   2                    $ a remark
COLUMNS
    COL  1    THE COST          1.50   ROW   1          2.0D0
    COL  1    ROW   2           1.00
    MARKER                 'MARKER'                 'INTORG'
    COL  2    THE COST         -1.00   ROW   1           1.00
    MARKER                 'MARKER'                 'INTEND'
RHS
              ROW   1           4.00   $ no set
    MY RHS    ROW   2           1.00
BOUNDS
 UP MY BND    COL  2            9.00
 MI           COL  1
ENDATA
"""
    (tmp_path / "f.mps").write_text(text)
    program = mipclass.read(tmp_path / "f.mps")
    assert program.column_names() == ["COL  1", "COL  2"]
    assert program.row_names() == ["ROW   1", "ROW   2"]
    assert np.array_equal(program.A.toarray(), [[2, 1], [1, 0]])
    assert (program.c.tolist(), program.lower.tolist(), program.upper.tolist()) == (
        [1.5, -1],
        [-np.inf, 0],
        [np.inf, 9],
    )
    assert (program.row_upper.tolist(), program.row_lower.tolist()) == ([4, np.inf], [-np.inf, 1])
    assert program.integer.tolist() == [False, True]


def test_a_quadratic_section_of_the_objective(tmp_path: Path) -> None:
    for title in ("QSECTION obj", "QUADOBJ"):
        (tmp_path / "q.mps").write_text(MPS.format("", f"{title}\n x x 2\n x y 1\n y y 3\n"))
        assert np.array_equal(mipclass.read(tmp_path / "q.mps").Q.toarray(), [[2, 1], [1, 3]])


def test_the_first_set_counts(tmp_path: Path) -> None:
    tail = "RHS\n A c1 4\n B c1 5 c2 1\nBOUNDS\n UP A x 3\n UP B x 5\n UP B y 6\n"
    (tmp_path / "s.mps").write_text(MPS.format("", tail))
    with pytest.warns(MipclassWarning, match="'A', the first, is used, 'B' is left out"):
        program = mipclass.read(tmp_path / "s.mps")
    assert program.row_upper.tolist() == [4, np.inf]
    assert program.row_lower.tolist() == [-np.inf, 0]
    assert program.upper.tolist() == [3, np.inf]


def test_a_coefficient_given_twice_is_remarked_on(tmp_path: Path) -> None:
    (tmp_path / "t.mps").write_text("ROWS\n N o\n L c\nCOLUMNS\n x o 1 c 1\n x c 3\nENDATA\n")
    with pytest.warns(MipclassWarning, match="given twice; the sum is used"):
        assert mipclass.read(tmp_path / "t.mps").A.toarray() == [[4]]


def test_a_row_without_a_label_makes_way_for_one_with_it(tmp_path: Path) -> None:
    (tmp_path / "r.lp").write_text("min\n x\nst\n x >= 1\n R1: x >= 2\nend\n")
    assert mipclass.read(tmp_path / "r.lp").row_names() == ["R1_", "R1"]


def test_a_row_that_is_called_like_none_is_kept(tmp_path: Path) -> None:
    (tmp_path / "n.lp").write_text("min\n x\nst\n no_rows: x >= 3\nend\n")
    assert mipclass.read(tmp_path / "n.lp").row_lower.tolist() == [3]


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_highs_reads_names_that_begin_like_infinity(ending: str, tmp_path: Path) -> None:
    build = Builder("names")
    scalars = [
        build.variables(name, lower=-1, upper=4) for name in ("info", "INFLOW", "nanograms", "infinity_pool", "Nan")
    ]
    labelled = build.variables("inf", labels=["rate", "age"], lower=0, upper=3)
    build.subject_to("nan_row", sum(scalars[1:], scalars[0]) + labelled.sum() >= 2)
    build.subject_to("infeasible", scalars[0] <= 3)
    build.minimize(scalars[0] + 2 * scalars[2] + labelled["rate"])
    program = build.build()
    program.write(tmp_path / f"n.{ending}")
    assert by_highs(tmp_path / f"n.{ending}")["entries"] == program.A.nnz
    assert mipclass.read(tmp_path / f"n.{ending}") == program
    assert mipclass.read(tmp_path / f"n.{ending}").column_names() == program.column_names()


# -- files that are damaged ----------------------------------------------------------------------------------------------


SEEDS = {
    "lp": "min\n obj: 3x + 2 y + 4\n + [ 2 x^2 - 4 x * y ] / 2\nst\n c1: x + y\n + 2 z <= 10\n -5 <= x - y <= 8\n i: b = 1 -> x >= 2\n"
    "bounds\n x <= 4\n -3 <= y\n -inf <= z <= -1\n q free\ninteger\n y\nbinary\n b\nend\n",
    "mps": "NAME S\nOBJSENSE\n MAX\nROWS\n N COST\n L LIM1\n G LIM2\n E EQ\nCOLUMNS\n X COST 1.0 LIM1 1\n M 'MARKER' 'INTORG'\n Y COST 2 LIM1 1\n"
    " M 'MARKER' 'INTEND'\n Z COST -1 EQ 1\nRHS\n RHS COST 7 LIM1 4\n RHS LIM2 1 EQ 7\nRANGES\n RNG LIM1 2.5 EQ -3\nBOUNDS\n UP BND X 4\n BV BND Y\n"
    " FR BND Z\nQUADOBJ\n X X 2\n X Z 1\nINDICATORS\n IF LIM1 Y 1\nENDATA\n",
}
PIECES = " \n\t:<>=+-[]^*/$'\\_.eEdD0129xyzXYZ\x00é"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
@pytest.mark.filterwarnings("ignore::mipclass.MipclassWarning")
@pytest.mark.parametrize("ending", sorted(SEEDS))
def test_a_damaged_file_is_read_or_refused_with_its_line(ending: str, tmp_path: Path, data: st.DataObject) -> None:
    check_damaged(ending, tmp_path, data)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
@pytest.mark.filterwarnings("ignore::mipclass.MipclassWarning")
@pytest.mark.parametrize("ending", sorted(SEEDS))
def test_many_damaged_files_are_read_or_refused(ending: str, tmp_path: Path, data: st.DataObject) -> None:
    check_damaged(ending, tmp_path, data)


def check_damaged(ending: str, tmp_path: Path, data: st.DataObject) -> None:
    text = SEEDS[ending]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.integers(0, 6)))
        piece = data.draw(
            st.one_of(
                st.text(PIECES, max_size=4), st.sampled_from(["inf", "nan", "1e400", "QSECTION", "free", "end", "RHS"])
            )
        )
        text = text[:start] + piece + text[stop:]
    path = tmp_path / f"d.{ending}"
    path.write_text(text)
    complaint = refusal(path)
    assert complaint is None or complaint.line is not None or "holds no valid program" in str(complaint), complaint


def refusal(path: Path) -> ReadError | None:
    """The ReadError of the file; any other exception is a failure of the reader."""
    try:
        mipclass.read(path)
    except ReadError as err:
        return err
    return None


@pytest.mark.parametrize("cut", [0, 5, 40])
def test_a_damaged_archive_is_refused(cut: int, tmp_path: Path) -> None:
    import gzip

    whole = gzip.compress(SEEDS["lp"].encode())
    for content in (whole[:-cut] if cut else b"not packed", whole[:20] + b"\x00\xff" * 3 + whole[26:]):
        (tmp_path / "a.lp.gz").write_bytes(content)
        with pytest.raises(ReadError, match="cannot be unpacked"):
            mipclass.read(tmp_path / "a.lp.gz")


@pytest.mark.parametrize(
    "said",
    [
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"format": "mipclass names", "version": 1}',
        b'{"format": "mipclass names", "version": 1, "variables": [3], "rows": 1}',
    ],
)
def test_a_damaged_sidecar_is_left_aside_with_a_warning(said: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text("min\n x\nst\n c: x >= 1\nend\n")
    (tmp_path / "a.names.json").write_bytes(said)
    with pytest.warns(MipclassWarning, match=r"a\.names\.json is not used"):
        assert mipclass.read(tmp_path / "a.lp").n_rows == 1
