"""HiGHS: the traps that its backend works around, the warm LP session, and infeasibility."""

from __future__ import annotations

import os
import signal
import threading
import time

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from mipclass.backends.highs import HighsBackend
from mipclass.backends.highs_direct import read_solution
from mipclass.backends.highs_object import STATUS, HighsError, load
from mipclass.backends.linear_session import LinearSession
from mipclass.backends.rays import proves_infeasible
from mipclass.errors import OptionError
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program
from mipclass.protocol.hooks import Hooks
from mipclass.protocol.options import resolve_options
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run, interruptible
from mipclass.testing import (
    best_active_set,
    best_integer_point,
    best_vertex,
    hard_mip,
    random_box_qp,
    random_integer_program,
    random_lp,
)


def miqp() -> Program:
    return random_integer_program(0, quadratic=True)


def test_status_table_is_complete() -> None:
    assert set(STATUS) == set(highspy.HighsModelStatus.__members__)


def test_highs_hands_out_a_stale_point_after_an_miqp_error_and_we_do_not() -> None:
    program = miqp()
    highs = load(program)
    ran = highs.run()
    assert ran.name == "kError"  # HiGHS has no MIQP
    assert read_solution(highs, program, Run.quiet(), ok=ran.name != "kError").x is None
    solved = HighsBackend().solve(program, Run.quiet())  # through the outer-approximation loop instead
    assert solved.objective == pytest.approx(best_integer_point(program), rel=1e-6)
    assert solved.extra["algorithm"] == "outer approximation"


def test_an_empty_integrality_array_would_empty_the_model() -> None:
    """The trap itself, and that `load` avoids it: every column and row arrives."""
    program = random_lp(0)
    A = program.A
    arguments = [3, 5, A.nnz, 2, 1, 0.0, program.c, program.lower, program.upper, program.row_lower, program.row_upper]
    arguments += [A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data]
    trapped = highspy.Highs()
    trapped.silent()
    trapped.passModel(*arguments, np.zeros(0, dtype=np.int32))
    trapped.run()
    assert trapped.getModelStatus().name == "kModelEmpty"
    loaded = load(program)
    assert (loaded.getNumCol(), loaded.getNumRow()) == (3, 5)


def test_a_program_without_columns_or_rows() -> None:
    nothing = np.zeros(0)
    empty = Program(
        nothing, sp.csr_array((0, 0)), nothing, nothing, nothing, nothing, nothing.astype(bool), constant=4.0
    )
    solution = HighsBackend().solve(empty, Run.quiet())
    assert (solution.status, solution.objective, solution.bound) == ("optimal", 4.0, 4.0)


def test_unbounded_qp_is_not_called_optimal() -> None:
    """HiGHS adds a tiny square to every QP and so calls this one optimal, at -1e7."""
    build = Builder()
    x = build.variables("x", 2)
    build.add_square(x[0])
    build.minimize(x[1])
    program = build.build()
    highs = load(program)
    highs.run()
    assert highs.getModelStatus().name == "kOptimal"
    assert HighsBackend().solve(program, Run.quiet()).status is Status.UNBOUNDED


def tiny_units(seed: int) -> Program:
    """A box QP in columns that are a thousand times too large."""
    program, scale = random_box_qp(seed), 1e-3
    assert program.Q is not None
    return program.replace_with(
        c=scale * program.c, Q=scale**2 * program.Q, lower=program.lower / scale, upper=program.upper / scale
    )


def test_the_square_that_highs_adds_is_taken_out_again() -> None:
    program = tiny_units(1)
    truth = best_active_set(program)
    highs = load(program)
    highs.run()
    assert highs.getModelStatus().name == "kOptimal"
    assert program.objective(highs.getSolution().col_value) > truth + 1e-3
    solution = HighsBackend().solve(program, Run.quiet())
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(truth, rel=1e-8)


def test_a_qp_on_which_highs_cycles_comes_to_an_end() -> None:
    solution = HighsBackend().solve(tiny_units(6), Run.quiet(time_limit=30))
    assert solution.status in (Status.ITERATION_LIMIT, Status.OPTIMAL)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_child_forked_after_a_threaded_run_does_not_hang(threads: int) -> None:
    program = random_integer_program(1, quadratic=False)
    HighsBackend().solve(program, Run(threads=2))
    pid = os.fork()
    if pid == 0:
        solved = HighsBackend().solve(program, Run(threads=threads))
        os._exit(0 if solved.status is Status.OPTIMAL else 3)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            assert code == 0
            return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail("the forked child hangs")


def test_the_number_of_threads_may_change() -> None:
    program = random_integer_program(1, quadratic=False)
    truth = best_integer_point(program)
    for threads in (1, 2, 1, 2):
        assert HighsBackend().solve(program, Run(threads=threads)).objective == pytest.approx(truth)


def test_ctrl_c_returns_the_incumbent() -> None:
    run = Run(time_limit=30)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with interruptible(run):
        solution = HighsBackend().solve(hard_mip(), run)
    timer.join()
    assert solution.status is Status.INTERRUPTED
    assert solution.x is not None
    assert hard_mip().violation(solution.x) <= 1e-6


def test_hook_proposes_an_incumbent_and_a_wrong_one_is_rejected() -> None:
    program = random_integer_program(0, quadratic=False)
    best = HighsBackend().solve(program, Run.quiet())
    asked = []

    def propose(x: np.ndarray | None) -> np.ndarray | None:
        asked.append(x)
        return best.x if len(asked) % 2 else np.full(4, 77.0)

    solved = HighsBackend().solve(program, Run.quiet(hooks=Hooks(incumbent=propose), presolve="off"))
    assert asked
    assert solved.objective == pytest.approx(best.objective)


def test_an_exception_in_a_hook_surfaces() -> None:
    def broken(x: object) -> None:
        raise ZeroDivisionError("in the rule")

    with pytest.raises(ZeroDivisionError, match="in the rule"):
        HighsBackend().solve(hard_mip(), Run.quiet(time_limit=5, hooks=Hooks(incumbent=broken)))


def test_a_rule_that_highs_cannot_follow_is_refused() -> None:
    """Lazy cuts change the answer and are refused; rules that only guide the search are left out."""
    with pytest.raises(OptionError, match="solver 'scip' can"):
        resolve_options("highs", HighsBackend.options, {"hooks": Hooks(separate=lambda x: [])})
    resolve_options("highs", HighsBackend.options, {"hooks": Hooks(branch=lambda lower, upper, x: None)})


def test_unknown_highs_option_is_refused() -> None:
    with pytest.raises(OptionError, match="no_such_option"):
        HighsBackend().solve(random_lp(0), Run.quiet(highs={"no_such_option": 1}))


def test_session_follows_changes_and_stays_warm() -> None:
    program = random_lp(3)
    session = LinearSession(program)
    assert session.solve().objective == pytest.approx(best_vertex(program))
    assert session.solve().iterations == 0
    costs = np.array([3.0, -2.0, 1.0])
    session.set_costs([0, 1, 2], costs)
    assert session.solve().objective == pytest.approx(best_vertex(program.replace_with(c=costs)))
    narrow = program.replace_with(c=costs, upper=np.array([0.5, 3.0, 2.0]))
    session.set_column_bounds([0], [-2.0], [0.5])
    assert session.solve().objective == pytest.approx(best_vertex(narrow))
    row = np.array([[1.0, 1.0, 0.0]])
    more = narrow.replace_with(
        A=sp.csr_array(sp.vstack([narrow.A, row])),
        row_lower=np.append(narrow.row_lower, -np.inf),
        row_upper=np.append(narrow.row_upper, 1.0),
        rows=(),
    )
    session.add_rows(row, -np.inf, 1.0)
    assert session.solve().objective == pytest.approx(best_vertex(more))
    with pytest.raises(HighsError, match="holds an LP"):
        LinearSession(random_integer_program(0, quadratic=False))


def test_session_gives_a_farkas_ray() -> None:
    program = random_lp(0)
    session = LinearSession(program)
    row = np.array([[1.0, 1.0, 1.0]])
    session.add_rows(row, 100.0, np.inf)
    solution = session.solve()
    assert solution.status is Status.INFEASIBLE
    assert solution.ray is not None
    impossible = program.replace_with(
        A=sp.csr_array(sp.vstack([program.A, row])),
        row_lower=np.append(program.row_lower, 100.0),
        row_upper=np.append(program.row_upper, np.inf),
        rows=(),
    )
    assert proves_infeasible(impossible, solution.ray)
