"""Cases for every backend, whatever it takes: functions `any__name`."""

from __future__ import annotations

import numpy as np

from ..backends.base import Backend
from ..modelling.program import Feature, Program
from ..protocol.result import Status
from .case import LIMITS, Case, require
from .programs import random_box_qp, random_integer_program, random_lp


def _simplest(backend: Backend) -> Program:
    """A small program of the simplest kind that the backend takes."""
    if Feature.LP in backend.features:
        return random_lp(0)
    if Feature.QP in backend.features:
        return random_box_qp(0)
    return random_integer_program(0, quadratic=Feature.MIP not in backend.features)


def any__declares_itself(case: Case) -> None:
    """Name, features, installation, version and options are declared."""
    backend = case.backend
    require(bool(backend.name) and bool(backend.features), "name or features are missing")
    require(backend.is_installed(), f"{backend.name} is not installed")
    require(backend.version() != "unknown", f"no version of distribution {backend.distribution!r}")
    require(all(option.doc for option in backend.options.values()), "an option has no description")


def any__used_up_time_is_no_error(case: Case) -> None:
    """A time limit of a nanosecond ends in a limit or an optimum."""
    solution = case.solve(_simplest(case.backend), time_limit=1e-9)
    require(solution.status in (Status.OPTIMAL, *LIMITS), f"status {solution.status} ({solution.raw_status})")


def any__stateless(case: Case) -> None:
    """The same program gives the same answer with another one in between."""
    program = _simplest(case.backend)
    first = case.solve(program)
    case.solve(program.replace_with(c=-program.c))
    second = case.solve(program)
    same = first.x is not None and second.x is not None and np.array_equal(first.x, second.x)
    require(bool(same), "an earlier solve changed a later one")
