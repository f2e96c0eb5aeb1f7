"""A solver that cannot be interrupted, in a process that can.

OSQP, PIQP and the solvers behind CVXPY and Pyomo look at no clock during a factorisation, and hear Ctrl-C only when they return:
one factorisation of a dense QP of 4000 columns takes OSQP a minute. HiGHS hears nothing during a QP, SCIP nothing during an LP. Where a program is large enough for such a step to be long,
the solver works in a process of its own: its reports arrive here, and it is ended when the limit is over. The process is started
by joblib's loky, which needs no guard around the caller's main module and no fork.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..backends.base import Backend, Solution
from ..modelling.convexity import is_semidefinite
from ..modelling.program import Program
from ..protocol.result import Status
from ..protocol.run import Event, Run
from . import registry
from .continuous import answered

LONG_STEP = 500_000
"""Entries of Q and A from which one factorisation may take longer than the start of a process, half a second. A dense Q of 700
columns has as many."""

LONG_FACTORISATION = 3_000
"""Columns of Q from which the factorisation that decides convexity may take a second, dense or with much fill."""

MANY_INTEGERS = 30
"""Integer columns from which a search may take for ever; with fewer, solvers of others end before anybody presses Ctrl-C."""

POLL_SECONDS = 0.05
"""Seconds between two looks at the limits."""

GRACE = 0.3
"""Seconds after the time limit in which the process may still send the point that it has: less than half of the overrun that a call
may take at most."""


def solution_of(program: Program, backend: Backend, run: Run, start: Array | None) -> Solution:
    """What the backend says of the program (`answered`), here or in a process of its own."""
    if backend.hears(program) or not has_long_steps(program) or run.options.get("hooks") is not None:
        return answered(program, backend, run, start)
    found = in_own_process(Answering(program, backend.name, start), run)
    return found if isinstance(found, Solution) else _unfinished(found)


def settle_convexity(program: Program, run: Run) -> Status | None:
    """Find out whether a program is convex; the reason why not when a limit ended the factorisation that decides it."""
    Q = program.Q
    is_short = Q is None or Q.shape[0] < LONG_FACTORISATION or Q.nnz <= Q.shape[0]
    if is_short or run.time_limit is None or "is_convex" in program.__dict__:
        return None
    found = in_own_process(Deciding(Q), run)
    if isinstance(found, Status):
        return found
    program.__dict__["is_convex"] = found
    return None


def has_long_steps(program: Program) -> bool:
    """Whether a single step of a solver may take longer than a user waits."""
    entries = program.A.nnz + (0 if program.Q is None else program.Q.nnz)
    return entries >= LONG_STEP or int(np.count_nonzero(program.integer)) >= MANY_INTEGERS


@dataclass(frozen=True)
class Answering:
    """`answered` with its arguments, to be sent to a process."""

    program: Program
    backend: str
    start: Array | None

    def __call__(self, run: Run) -> Solution:
        backend = registry.find(self.backend)
        assert isinstance(backend, Backend)
        return answered(self.program, backend, run, self.start)


@dataclass(frozen=True)
class Deciding:
    """The question whether Q is semidefinite, to be sent to a process."""

    Q: Any

    def __call__(self, run: Run) -> bool:
        return is_semidefinite(self.Q)


def in_own_process(task: Callable[[Run], Any], run: Run) -> Any:
    """What the task returns; the Status of a limit that ended it, NUMERICAL_ERROR when its process died.

    The task gets a Run with the limits of this one. What it reports is reported here, and what it raises is raised here.
    """
    from joblib.externals.loky.backend import get_context

    context = get_context("loky")
    connection, theirs = context.Pipe()
    limits = {"gap": run.gap, "seed": run.seed, "threads": run.threads, "options": run.options}
    until = None if run.time_limit is None else time.time() + run.seconds_left()
    process = context.Process(target=_work, args=(theirs, task, limits, until), daemon=True)
    process.start()
    theirs.close()
    try:
        return _wait(connection, run)
    except (EOFError, ConnectionResetError):
        return Status.NUMERICAL_ERROR
    finally:
        _end(process)
        connection.close()


def _wait(connection: Any, run: Run) -> Any:
    """The task's answer, or the limit that ended it, which is looked at after every message: reports may come without a pause."""
    while True:
        if connection.poll(POLL_SECONDS):
            what, content = connection.recv()
            if what == "answer":
                return content
            if what == "error":
                raise content
            run.report(**content)
        stopped = run.stop()
        if stopped is Status.INTERRUPTED or (run.time_limit is not None and run.seconds() > run.time_limit + GRACE):
            return stopped


def _end(process: Any) -> None:
    """End the process and the executables that it started, which form a group where the system has groups."""
    if hasattr(os, "killpg") and process.is_alive():
        with suppress(ProcessLookupError):  # it has not made its group yet
            os.killpg(process.pid, signal.SIGKILL)
    process.terminate()
    process.join()


def _work(connection: Any, task: Callable[[Run], Any], limits: dict[str, Any], until: float | None) -> None:
    """What the process does. Ctrl-C does not reach it: the caller hears it, and ends the process."""
    if hasattr(os, "setsid"):
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def tell(event: Event) -> None:
        told = {
            "objective": event.objective,
            "bound": event.bound,
            "nodes": event.nodes,
            "iterations": event.iterations,
        }
        connection.send(("report", told | dict(event.extra)))

    left = None if until is None else max(0.0, until - time.time())
    try:
        connection.send(("answer", task(Run(time_limit=left, callback=tell, **limits))))
    except BrokenPipeError:
        pass  # the caller has gone; nobody is left to tell
    except Exception as error:  # it is raised where the caller can see it
        connection.send(("error", _sendable(error)))
    finally:
        connection.close()


def _sendable(error: Exception) -> Exception:
    """The error, or its words where it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class does when it is copied
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _unfinished(status: Status) -> Solution:
    words = {
        Status.TIME_LIMIT: "ended by the time limit within a step",
        Status.INTERRUPTED: "ended by an interruption within a step",
    }.get(status, "its process ended without an answer, most likely for want of memory; use another solver")
    return Solution(status, words)
