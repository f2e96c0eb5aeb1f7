"""One solve's limits, and what a solve inside it gets of them."""

from __future__ import annotations

import os
import signal
import time

import joblib
import numpy as np
import pytest

from mipclass.backends.base import infeasible_or_unbounded
from mipclass.backends.highs import HighsBackend
from mipclass.backends.registry import find_backend
from mipclass.errors import SolverNotFoundError
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program
from mipclass.protocol.result import Status
from mipclass.protocol.run import Event, Run, interruptible
from mipclass.testing import hard_mip


def test_an_inner_run_has_the_rest_of_the_time_and_the_seed() -> None:
    outer = Run(time_limit=100.0, gap=0.1, seed=7, warm_start={"w": np.ones(1)}, options={"presolve": "off"})
    time.sleep(0.02)
    inner = outer.inner(gap=0.05, node_limit=3)
    assert inner.seed == 7
    assert inner.time_limit is not None
    assert 99.0 < inner.time_limit <= 99.98
    assert inner.gap == 0.05  # its own, not the outer's
    assert inner.options == {"node_limit": 3}
    assert inner.warm_start is None
    assert outer.inner(time_limit=1.0).time_limit == 1.0
    assert outer.inner(time_limit=1000.0).time_limit <= 99.98
    assert Run().inner().time_limit is None
    assert Run().inner(time_limit=5.0).time_limit == 5.0


def test_an_inner_run_stops_with_the_outer_one_at_any_depth() -> None:
    outer = Run()
    middle = outer.inner()
    inner = middle.inner()
    assert inner.stop() is None
    outer.interrupted = True
    assert inner.stop() is middle.stop() is Status.INTERRUPTED


def test_an_inner_interrupt_reaches_the_outer_run() -> None:
    """A solver that takes Ctrl-C itself tells the run it was given, which may be an inner one."""
    outer = Run()
    inner = outer.inner().inner()
    inner.interrupt()
    assert outer.stop() is Status.INTERRUPTED


def test_used_up_time_leaves_nothing_for_an_inner_run() -> None:
    assert Run(time_limit=0.0).inner().stop() is Status.TIME_LIMIT
    assert Run(time_limit=0.0).inner(time_limit=10.0).stop() is Status.TIME_LIMIT


def test_inner_events_go_to_the_inner_callback_alone() -> None:
    outside: list[Event] = []
    inside: list[Event] = []
    inner = Run(callback=outside.append).inner(callback=inside.append)
    inner.report(objective=1.0)
    assert len(inside) == 1
    assert not outside
    stopping = Run().inner(callback=lambda event: False)
    stopping.report(objective=1.0)
    assert stopping.stop() is Status.INTERRUPTED


def test_a_callback_that_said_stop_ends_a_solve_inside_the_solve() -> None:
    outer = Run(callback=lambda event: event.seconds < 0.2)
    inner = outer.inner(callback=lambda event: outer.report(nodes=event.nodes))  # events of the inner solve, handed on
    began = time.perf_counter()
    solution = HighsBackend().solve(hard_mip(), inner)
    assert solution.status is Status.INTERRUPTED
    assert time.perf_counter() - began < 10.0


def test_ctrl_c_ends_a_solve_inside_the_solve() -> None:
    outer = Run()
    sent = []

    def once(event: Event) -> None:
        if not sent:
            sent.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    with interruptible(outer):
        solution = HighsBackend().solve(hard_mip(), outer.inner(callback=once))
    assert sent
    assert solution.status is Status.INTERRUPTED


def test_an_inner_solve_keeps_the_outer_limit() -> None:
    outer = Run(time_limit=0.5)
    solution = HighsBackend().solve(hard_mip(), outer.inner(time_limit=60.0))
    assert solution.status is Status.TIME_LIMIT
    assert outer.seconds() < 2.0


def downhill(*, feasible: bool) -> Program:
    """A free direction of descent; infeasible on demand through another column."""
    build = Builder("downhill")
    x = build.variables("x", 2, lower=[-np.inf, 0])
    build.subject_to("row", x[1] <= (1.0 if feasible else -1.0))
    build.subject_to("tie", x[0] + x[1] <= 5.0)
    build.minimize(x[0])
    return build.build()


@pytest.mark.parametrize("name", ["highs", "piqp", "scip", "cvxpy:CLARABEL", "pyomo:highs"])
@pytest.mark.parametrize("feasible", [True, False])
def test_infeasible_is_told_from_unbounded(name: str, feasible: bool) -> None:
    try:
        backend = find_backend(name)
    except SolverNotFoundError:
        pytest.skip(f"{name} is not installed")
    expected = Status.UNBOUNDED if feasible else Status.INFEASIBLE
    assert backend.solve(downhill(feasible=feasible), Run()).status is expected
    told = infeasible_or_unbounded(backend.solve, downhill(feasible=feasible), Run(), Status.NUMERICAL_ERROR)
    assert told.status is expected


def test_a_limit_leaves_it_open_which_of_the_two_it_is() -> None:
    used_up = Run(time_limit=0.0)
    told = infeasible_or_unbounded(HighsBackend().solve, downhill(feasible=True), used_up, Status.NUMERICAL_ERROR)
    assert told.status in (Status.TIME_LIMIT, Status.UNBOUNDED)
    hard = hard_mip()
    odd = hard.replace_with(row_lower=hard.row_lower + 0.5, row_upper=hard.row_upper + 0.5)
    told = infeasible_or_unbounded(HighsBackend().solve, odd, used_up, Status.NUMERICAL_ERROR)
    assert told.status is not Status.INFEASIBLE


def test_the_caller_may_use_the_cores_of_its_workers_on_this_machine():
    run = Run()
    assert (run.crew(), run.threads_here()) == (None, 1)
    with joblib.parallel_config("loky", n_jobs=3):
        run = Run()
        inner = run.inner()
        assert inner.crew() is run.crew()
        assert (run.threads_here(), inner.threads_here()) == (3, 3)
        own = inner.own_threads()
        assert own is run.own_threads()
        assert (own.sees_memory, own.workers) == (True, 3)
        run.close()
    assert Run().own_threads() is None
    several = Run(threads=2)
    threads, processes = several.crew(), several.crew(in_processes=True)
    assert (threads.sees_memory, processes.sees_memory, processes.workers) == (True, False, 2)
    several.close()
    assert several.threads_here() == 2
