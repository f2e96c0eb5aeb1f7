"""Random programs of every sort: big-M rows and outer approximation on HiGHS against native rows and squares on SCIP."""

from __future__ import annotations

import pytest

import mipclass
from tests.reductions.test_reductions import random_program

pytest.importorskip("pyscipopt")


def require_agreement(seed: int) -> None:
    program = random_program(seed)
    highs, scip = (mipclass.solve(program, solver) for solver in ("highs", "scip"))
    assert highs.status == scip.status
    if highs.objective is not None:
        assert highs.objective == pytest.approx(scip.objective, rel=1e-5, abs=1e-5)
        assert highs.recounted
        assert scip.recounted
        for result in (highs, scip):
            assert program.violation(program.join(result.values)) <= 2e-6


@pytest.mark.parametrize("seed", range(8))
def test_two_solvers_agree(seed: int) -> None:
    require_agreement(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 100))
def test_two_solvers_agree_on_many(seed: int) -> None:
    require_agreement(seed)
