"""The benchmark compares like with like: every builder and every writer gives the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mipclass
from benchmarks.studies.general.model_building import BUILDERS, WRITERS, data, study, with_highspy

NEEDS = {"linopy": "linopy"}


@pytest.fixture(scope="module")
def points() -> tuple[Any, Any]:
    return data(20, 2)


def optimum(highs: Any) -> float:
    highs.setOptionValue("output_flag", False)
    highs.run()
    assert highs.getModelStatus().name == "kOptimal"
    return float(highs.getInfo().objective_function_value)


@pytest.fixture(scope="module")
def truth(points: tuple[Any, Any]) -> float:
    """The optimum of the hand-written model."""
    return optimum(with_highspy(*points))


@pytest.mark.parametrize("builder", list(BUILDERS))
def test_every_builder_loads_the_same_model(builder: str, points: tuple[Any, Any], truth: float) -> None:
    if builder in NEEDS:
        pytest.importorskip(NEEDS[builder])
    highs = BUILDERS[builder](*points)
    assert truth > 0
    assert optimum(highs) == pytest.approx(truth, abs=1e-6)


def test_mipclass_loads_the_very_matrix_of_the_hand_written_one(points: tuple[Any, Any]) -> None:
    ours, direct = BUILDERS["mipclass"](*points).getLp(), BUILDERS["highspy"](*points).getLp()
    for part in ("start_", "index_"):
        assert np.array_equal(getattr(ours.a_matrix_, part), getattr(direct.a_matrix_, part))
    assert np.allclose(ours.a_matrix_.value_, direct.a_matrix_.value_, rtol=1e-14)
    for part in ("col_cost_", "col_lower_", "col_upper_", "row_lower_", "row_upper_"):
        assert np.array_equal(getattr(ours, part), getattr(direct, part))


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("writer", list(WRITERS))
def test_every_writer_writes_it(
    writer: str, ending: str, points: tuple[Any, Any], truth: float, tmp_path: Path
) -> None:
    if writer in NEEDS:
        pytest.importorskip(NEEDS[writer])
    WRITERS[writer](*points, tmp_path / f"model.{ending}")()
    again = mipclass.solve(mipclass.read(tmp_path / f"model.{ending}"), "highs")
    assert again.objective == pytest.approx(truth, abs=1e-6)


def test_the_study_lists_each_case_once() -> None:
    for full in (False, True):
        keys = [case.key(0) for case in study.cases(full)]
        assert len(keys) == len(set(keys)) > 10
