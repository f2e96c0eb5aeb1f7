"""The conformance suite: what every backend must get right, ours or a third party's.

    import pytest
    from mipclass.testing import cases

    @pytest.mark.parametrize("case", cases(MyBackend()), ids=str)
    def test_my_backend(case):
        case.check()

or, without pytest, `check_backend(MyBackend())`, which returns the names of the cases that passed and raises at the first
that fails. A case is offered only when the backend declares the features that its program needs. The truth never comes
from a solver: it is computed by hand, by enumerating integers, vertices or active sets, or by recomputing optimality
conditions from the Program's data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..backends.base import Backend
from ..modelling.program import Feature
from . import common_cases, continuous_cases, integer_cases
from .case import TOLERANCES, Case, Tolerance
from .programs import hard_mip, line_rule, random_box_qp, random_integer_program, random_lp
from .truth import best_active_set, best_integer_point, best_vertex, fewest_errors_on_a_line

__all__ = [
    "TOLERANCES",
    "Case",
    "Tolerance",
    "best_active_set",
    "best_integer_point",
    "best_vertex",
    "cases",
    "check_backend",
    "fewest_errors_on_a_line",
    "hard_mip",
    "line_rule",
    "random_box_qp",
    "random_integer_program",
    "random_lp",
]

NEEDS = {
    "lp": frozenset({Feature.LP}),
    "qp": frozenset({Feature.QP}),
    "mip": frozenset({Feature.MIP}),
    "miqp": frozenset({Feature.MIQP}),
    "indicator": frozenset({Feature.MIP, Feature.INDICATOR}),
    "any": frozenset[Feature](),
}


def cases(backend: Backend, tolerance: Tolerance | None = None) -> list[Case]:
    """The cases whose features the backend declares."""
    tolerance = tolerance or TOLERANCES.get(backend.name, TOLERANCES["default"])
    return [Case(name, backend, tolerance, body) for name, needs, body in _suite() if needs <= backend.features]


def check_backend(backend: Backend, tolerance: Tolerance | None = None) -> list[str]:
    """Run every case; the names of those that passed. Raises AssertionError, naming the case, at the first failure."""
    passed = []
    for case in cases(backend, tolerance):
        try:
            case.check()
        except AssertionError as err:
            raise AssertionError(f"{case}: {err}") from err
        passed.append(case.name)
    return passed


def _suite() -> Iterator[tuple[str, frozenset[Feature], Callable[[Case], None]]]:
    """(name, features needed, body): the functions `kind__name` of the modules of cases, in order."""
    for module in (continuous_cases, integer_cases, common_cases):
        for name, body in vars(module).items():
            kind, separator, _ = name.partition("__")
            if separator and kind in NEEDS:
                yield name.replace("__", "-"), NEEDS[kind], body
