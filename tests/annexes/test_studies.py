"""The table of studies names every study there is, and says of each what its module says."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

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


def test_simulated_workers_wait_for_boxes_and_for_the_end_of_a_pass():
    """Two passes: a task of 2 s that hands over two of 1 s; then one of 4 s. Two workers need 2 + 1 + 4 seconds for 8."""
    from benchmarks.studies.zero_one.parallel_proofs import simulated

    tasks = [(5, 0, -1, 2.0, 9), (5, 1, 0, 1.0, 9), (5, 2, 0, 1.0, 9), (7, 0, -1, 4.0, 9)]
    assert simulated(tasks, 1) == 1.0
    assert simulated(tasks, 2) == 8 / (2 * 7)
    assert simulated([], 8) == 1.0
