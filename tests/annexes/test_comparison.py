"""A paper's cells beside ours: verdicts by hand-made numbers, causes only where experiments confirm them, files that come back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness import Case, Cause, Cell, Comparison, Results, Study, compare_means, error_of_difference
from benchmarks.harness.comparison import count_in_words, load, settle
from benchmarks.studies import STUDIES
from benchmarks.studies.outlier_path.settled import read
from benchmarks.studies.tau_fpl.settled import np_score
from benchmarks.studies.zero_one.settled import compared as zero_one_compared
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("paper", "ours", "error", "higher", "verdict"),
    [
        (27, 27, 0.0, False, "better"),
        (27, 28, 0.0, False, "open"),
        (27, 28, 0.5, False, "within error"),
        (27, 28, 0.49, False, "open"),
        (27, 26, 0.0, True, "open"),
        (27, 28, 0.0, True, "better"),
    ],
)
def test_verdicts(paper: float, ours: float, error: float, higher: bool, verdict: str) -> None:
    assert Comparison("Table 1", "Heart", "SLA", paper, ours, error, higher).verdict == verdict


def test_error_of_a_difference() -> None:
    ours = [1.0, 2.0, 3.0, 6.0]
    variance = np.var(ours, ddof=1)
    assert error_of_difference(ours, 3.0, 9) == pytest.approx(np.sqrt(variance / 4 + 1.0))
    assert error_of_difference(ours) == pytest.approx(np.sqrt(variance / 4 + variance))  # a single printed run
    assert error_of_difference([5.0]) == 0.0
    assert compare_means(("T", "r", "c"), 2.0, ours).ours == 3.0


def test_a_cause_counts_only_where_its_experiment_confirms_it() -> None:
    worse = Comparison("Table 1", "Heart", "SLA", 27, 28, 0.0)
    cell = Comparison("Table 1", "Heart", "LR", 39, 38, 0.0)
    denied = Cause("Another start.", "It ends at 28.", False, "Table 1", ("Heart",), ("SLA",))
    elsewhere = Cause("Another class.", "It is met.", True, "Table 4", ("Heart",))
    shown = Cause("Another start.", "It ends at 27.", True, "Table 1", ("Heart",))
    assert settle("s", "today", [worse], [denied, elsewhere]).cells[0].verdict == "open"
    settled = settle("s", "today", [worse, cell], [denied, shown])
    assert [c.verdict for c in settled.cells] == ["worse", "better"]
    assert settled.cells[0].evidence == "It ends at 27."
    assert settled.cells[1].cause == ""  # a cell that is not worse needs none
    (counts,) = settled.counts()
    assert count_in_words(counts) == "s, Table 1: 1 better, 0 within error, 1 worse (cause shown), 0 open"


def test_cells_come_back_from_the_file(tmp_path: Path) -> None:
    cells = [Comparison("Table 1", 'a "b"', "±", 0.1, 1 / 3, 1e-17, True, "why", "how")]
    made = settle("toy", "2026-01-31", cells, [])
    made.save(tmp_path)
    assert load("toy", tmp_path) == made
    assert load("nothing", tmp_path) is None


def value(k: int) -> dict[str, float]:
    return {"loss": float(k)}


def toy(folder: Path) -> Study:
    def compared(results: Results) -> tuple[list[Comparison], list[Cause]]:
        return [compare_means(("Table 9", "row", "column"), 1.0, results.all("loss"))], []

    return Study(
        "toy",
        "Toy",
        lambda full: [Case("ours", value, {"k": k}) for k in range(3 if full else 1)],
        lambda results: "",
        cache=folder / "cache",
        results_file=folder / "RESULTS.md",
        compared=compared,
    )


def test_only_a_full_run_that_is_written_stores_its_cells(tmp_path: Path) -> None:
    study, stored = toy(tmp_path), tmp_path / "comparisons"
    study.main(["--quick"])
    assert study.last.compared is not None
    assert study.last.compared.counts()[0]["better"] == 1
    study.main(["--full", "--no-write"])
    assert load("toy", stored) is None
    study.main(["--full"])
    found = load("toy", stored)
    assert found is not None
    assert found.cells[0].ours == 1.0
    assert found.cells[0].error == pytest.approx(np.sqrt(1 / 3 + 1))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks" / "comparisons").glob("*.json")), ids=lambda path: path.stem
)
def test_stored_cells_belong_to_a_study_and_worse_ones_have_evidence(path: Path) -> None:
    found = load(path.stem)
    assert found is not None
    assert found.study == path.stem
    assert path.stem in STUDIES
    assert len({(cell.table, cell.row, cell.column) for cell in found.cells}) == len(found.cells)
    for cell in found.cells:
        assert bool(cell.cause) == bool(cell.evidence) == (cell.verdict == "worse")
    assert json.loads(path.read_text())["when"]


def test_printed_cells_are_read() -> None:
    assert read(".056(.016)") == (0.056, 0.016)
    # Zhang et al., heart at 5 %: BS-SVM's rates (.069, .675) are printed with the NP-score .713, that of rounded rates
    assert np_score([(0.069, 0.675, 0.0)], 0.05) == pytest.approx(0.705)


def test_breast_is_compared_with_the_papers_ten_columns() -> None:
    def cell(name: str, label: str, loss: float) -> Cell:
        return Cell(Case(label, value, {"name": name, "label": label, "noise": 0.0}), 0, {"loss": loss})

    cells, _ = zero_one_compared(Results([cell("Breast", "BnB", 11), cell("Breast (10)", "BnB", 10)]))
    (found,) = cells
    assert (found.row, found.column, found.ours, found.verdict) == ("Breast", "BnB", 10.0, "better")
