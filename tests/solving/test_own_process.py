"""Solvers that hear nothing work in a process that is ended when the limit is over, and whose answers and errors arrive."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mipclass
from mipclass.modelling.program import Program
from mipclass.protocol.result import Status
from mipclass.protocol.run import Event, Run
from mipclass.solving import own_process
from tests.breadth import mostly_slow


def deaf(run: Run) -> str:
    """Looks at no clock."""
    time.sleep(600.0)
    return "never"


def talking(run: Run) -> tuple[float, int]:
    """Reports, and returns what it was allowed."""
    run.report(objective=3.0, bound=1.0, iterations=7, residual=0.5)
    assert run.time_limit is not None
    return run.time_limit, run.seed


def failing(run: Run) -> None:
    """Raises."""
    raise mipclass.errors.OptionError("an option is wrong.")


class LocalError(Exception):
    """Cannot be made again from its arguments, as errors of other packages."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


def failing_locally(run: Run) -> None:
    """Raises what no other process can read."""
    raise LocalError("matrix", "singular")


def chattering(run: Run) -> None:
    """Reports without a pause and without an end."""
    while True:
        run.report(iterations=1)


def dying(run: Run) -> None:
    """Ends without a word, as a process does that the system kills for want of memory."""
    os._exit(1)


def test_the_time_limit_ends_a_deaf_task() -> None:
    began = time.perf_counter()
    assert own_process.in_own_process(deaf, Run(time_limit=0.5)) is Status.TIME_LIMIT
    assert time.perf_counter() - began < 60.0  # far below the 600 s of the task


def test_an_interruption_ends_a_deaf_task() -> None:
    run = Run()
    threading.Timer(0.2, run.interrupt).start()
    assert own_process.in_own_process(deaf, run) is Status.INTERRUPTED


def test_answers_and_reports_arrive() -> None:
    events: list[Event] = []
    run = Run(time_limit=1000.0, seed=5, callback=events.append)
    limit, seed = own_process.in_own_process(talking, run)
    assert 0.0 < limit <= 1000.0
    assert seed == 5
    assert (run.objective, run.bound) == (3.0, 1.0)
    assert [(event.iterations, event.extra) for event in events] == [(7, {"residual": 0.5})]


def test_errors_are_raised_here() -> None:
    with pytest.raises(mipclass.errors.OptionError, match="an option is wrong"):
        own_process.in_own_process(failing, Run())


def test_an_error_that_cannot_be_sent_arrives_in_words() -> None:
    with pytest.raises(RuntimeError, match="LocalError: matrix: singular"):
        own_process.in_own_process(failing_locally, Run())


def test_a_task_that_reports_without_end_is_ended() -> None:
    assert own_process.in_own_process(chattering, Run(time_limit=0.5)) is Status.TIME_LIMIT


def test_a_process_that_dies_is_told() -> None:
    assert own_process.in_own_process(dying, Run()) is Status.NUMERICAL_ERROR


def strictly_convex(n: int) -> Program:
    """minimise 1/2 x'Qx - sum x over x >= 0, Q = I + 1 1'/n: every x_j = 1/2."""
    Q = sp.csc_array(np.eye(n) + 1.0 / n)
    A = sp.csr_array((0, n))
    none: Any = np.zeros(0)
    return Program(
        c=-np.ones(n),
        Q=Q,
        A=A,
        row_lower=none,
        row_upper=none,
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=bool),
    )


@pytest.mark.parametrize("solver", mostly_slow(["osqp", "cvxpy:CLARABEL"], fast=["osqp"]))
def test_the_answer_is_the_same_in_a_process(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = strictly_convex(20)
    here = mipclass.solve(program, solver)
    monkeypatch.setattr(own_process, "LONG_STEP", 1)
    monkeypatch.setattr(own_process, "LONG_FACTORISATION", 1)
    apart = mipclass.solve(strictly_convex(20), solver, time_limit=100.0)
    assert here.claim == apart.claim == "proven"
    assert apart.objective == pytest.approx(-5.0, abs=1e-5)
    np.testing.assert_allclose(apart.values["x"], 0.5, atol=1e-5)


def test_a_limit_within_the_decision_on_convexity_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_process, "LONG_FACTORISATION", 1)
    monkeypatch.setattr(own_process, "GRACE", 0.0)
    result = mipclass.solve(strictly_convex(20), "osqp", time_limit=1e-3)
    assert result.status == "time_limit"
    assert result.claim == "none"
