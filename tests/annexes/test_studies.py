"""The table of studies names every study there is, and says of each what its module says."""

from __future__ import annotations

import ast
import dataclasses
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import mipclass
from benchmarks.harness import Study
from benchmarks.studies import STUDIES
from tests.paths import ROOT

FOLDER = ROOT / "benchmarks" / "studies"


def assigned(path: Path) -> set[str]:
    """The names that a module assigns at its top level."""
    statements = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
    return {target.id for node in statements for target in node.targets if isinstance(target, ast.Name)}


def test_every_module_with_a_study_is_in_the_table() -> None:
    found = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in FOLDER.rglob("*.py")
        if "study" in assigned(path)
    }
    assert {entry.module for entry in STUDIES.values()} == found


@pytest.mark.parametrize("name", STUDIES)
def test_an_entry_is_what_its_module_says(name: str) -> None:
    module = import_module(STUDIES[name].module)
    assert isinstance(module.study, Study)
    assert module.study.name == name
    assert (module.__doc__ or "").partition("\n")[0] == STUDIES[name].reproduces


def test_every_section_of_the_results_belongs_to_a_study() -> None:
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text()
    assert set(re.findall(r"<!-- begin (\w+) \w+ -->", text)) <= set(STUDIES)


def test_compositions_run_apart_and_meet_in_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick run of one cell each on data of its own: ours and the peers' in calls of their own, and the section from the cache."""
    from benchmarks.studies.zero_one import compositions

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + rng.normal(size=30) > 0, 1, -1)
    monkeypatch.setattr(compositions.datasets, "load", lambda name: (X, y))
    monkeypatch.setattr(compositions, "RUNS", {"one feature": {"tiny": 5.0}})
    study = dataclasses.replace(
        compositions.study, cache=tmp_path / "cache", results_file=tmp_path / "RESULTS.md", warmup=None
    )
    assert study.main(["--only", "exact("]) == 0
    assert study.last.computed == 1
    assert study.main(["--without", "exact("]) == 0
    assert study.last.computed == 2
    assert not (tmp_path / "RESULTS.md").exists()
    assert study.main([]) == 0
    assert study.last.cached == 3
    assert study.last.computed == 0
    line = next(line for line in (tmp_path / "RESULTS.md").read_text().splitlines() if "tiny" in line)
    _, problem, _, errors, bound, _, certified, highs, scip, _ = (cell.strip() for cell in line.split("|"))
    truth = mipclass.solve(compositions.COMPOSITIONS["one feature"](X, y), "exact").objective
    assert problem == "one feature"
    assert float(errors) == float(bound) == truth
    assert certified == "yes"
    assert {float(entry.partition(" / ")[0]) for entry in (highs, scip)} == {truth}


def test_the_study_of_compositions_has_all_cells() -> None:
    from benchmarks.studies.zero_one.compositions import PEER_SECONDS, SEVEN_SETS, cases

    found = {(c.parameters["composition"], c.parameters["name"], c.label): c.parameters["limit"] for c in cases(True)}
    wanted = [("Neyman-Pearson 5 %", name) for name in ("liver_bupa", "heart_statlog", "pima")]
    wanted += [(f"{k} feature{s}", name) for k, s in (("one", ""), ("two", "s"), ("three", "s")) for name in SEVEN_SETS]
    wanted += [("whole weights", name) for name in ("pima", "liver_bupa", "breast_wisconsin", "heart_statlog")]
    for composition, name in wanted:
        assert (composition, name, "exact") in found
        assert found[composition, name, "highs"] == found[composition, name, "scip"] == PEER_SECONDS


def test_simulated_workers_wait_for_boxes_and_for_the_end_of_a_pass():
    """Two passes: a task of 2 s that hands over two of 1 s; then one of 4 s. Two workers need 2 + 1 + 4 seconds for 8."""
    from benchmarks.studies.zero_one.parallel_proofs import simulated

    tasks = [(5, 0, -1, 2.0, 9), (5, 1, 0, 1.0, 9), (5, 2, 0, 1.0, 9), (7, 0, -1, 4.0, 9)]
    assert simulated(tasks, 1) == 1.0
    assert simulated(tasks, 2) == 8 / (2 * 7)
    assert simulated([], 8) == 1.0


def test_the_trend_of_long_proofs_goes_through_the_last_passes_and_across_a_kill():
    """Passes that take twice as long for each ten errors more: 60 is reached at 160 s, so 80 at 640 s."""
    from benchmarks.studies.zero_one.long_proofs import reached, resumed, seconds_to_close, thinned

    log = [[0, 1.0, 80, 0, 20, 0.1], [0, 10.0, 80, 20, 30, 0.0], [0, 20.0, 80, 30, 40, 0.2], [1, 21.0, 80, 30, 40, 0.1]]
    log += [[1, 40.0, 80, 40, 50, 0.0], [1, 80.0, 80, 50, 60, 0.0], [1, 160.0, 80, 60, 70, 0.0]]
    assert reached(log) == [(20, 10.0), (30, 20.0), (40, 40.0), (50, 80.0), (60, 160.0)]
    assert resumed(log) == [(log[2], log[3])]
    assert abs(seconds_to_close(log) - 640.0) < 1e-9
    assert seconds_to_close(log[:2]) is None
    between = [[0, 12.0, 80, 20, 30, 0.3], [0, 14.0, 80, 20, 30, 0.5], [0, 19.0, 80, 20, 30, 0.9]]
    longer = [*log[:2], *between, *log[2:]]
    assert thinned(longer) == [*log[:2], between[-1], *log[2:]]
