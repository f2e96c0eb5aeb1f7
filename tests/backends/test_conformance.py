"""Every backend against the conformance suite."""

from __future__ import annotations

import pytest

from mipclass.backends.base import Backend
from mipclass.errors import SolverNotFoundError
from mipclass.solving import registry
from mipclass.testing import Case, cases

SOLVERS = ["highs", "osqp", "piqp", "scip", "cvxpy:CLARABEL", "cvxpy:HIGHS", "pyomo:highs"]


def every_case() -> list[object]:
    found: list[object] = []
    for name in SOLVERS:
        try:
            backend = registry.find(name)
        except SolverNotFoundError as missing:
            found.append(pytest.param(None, id=name, marks=pytest.mark.skip(reason=str(missing))))
            continue
        assert isinstance(backend, Backend)
        found += [pytest.param(case, id=str(case)) for case in cases(backend)]
    return found


@pytest.mark.parametrize("case", every_case())
def test_conformance(case: Case) -> None:
    case.check()
