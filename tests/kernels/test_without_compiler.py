"""Kernels give the same answers as Python functions, where indices out of range raise instead of reading other memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mipclass import solve
from mipclass.models import Model
from mipclass.solving.warm import REHEARSALS

LONG = (
    "zero-one loss, heuristics",
    "zero-one loss, proofs by subsystems",
    "polyhedral separation",
    "hard-margin loss",
    "robust SVM, linear",
    "robust SVM, kernel",
    "logistic loss",
)
"""Groups that take more than a second as Python."""

SAME = 1e-7
"""Relative difference of two objectives that sums in another order may make."""

ACCURACY = {"cccp": 1e-5}
"""Relative accuracy at which a solver stops, where it is coarser."""

MOST_POINTS = 1000
"""Points up to which a path is short enough for Python."""

PROGRAM = """
import json, sys, warnings
from mipclass import solve
from tests.kernels.test_without_compiler import tiny
warnings.simplefilter("ignore")
found = [solve(problem, solver, options=options) for solver, problem, options in tiny(sys.argv[1])]
print(json.dumps([[result.claim, result.objective] for result in found]))
"""


def tiny(group: str) -> Iterator[tuple[str, Any, Any]]:
    """The solvers, problems and options of a group that Python can do."""
    for solver, declare, options in REHEARSALS[group]:
        problem = declare()
        if not isinstance(problem, Model) or problem.data.n <= MOST_POINTS:
            yield solver, problem, options


@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@pytest.mark.parametrize("group", [pytest.param(g, marks=[pytest.mark.slow] * (g in LONG)) for g in REHEARSALS])
def test_the_same_answers_without_the_compiler(group):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, group],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for (claim, objective), (solver, problem, options) in zip(json.loads(done.stdout), tiny(group), strict=True):
        compiled = solve(problem, solver, options=options)
        assert claim == compiled.claim
        assert objective == pytest.approx(compiled.objective, rel=ACCURACY.get(solver, SAME), abs=1e-9)
