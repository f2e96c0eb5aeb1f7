"""SCIP: native indicators, each hook's effect on the answer, and exceptions that surface."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("pyscipopt")

from mipclass import models
from mipclass.arrays import Array
from mipclass.backends.highs import HighsBackend
from mipclass.backends.scip import ScipBackend, load
from mipclass.errors import OptionError, UnsupportedProgramError
from mipclass.modelling.builder import Builder
from mipclass.modelling.program import Program
from mipclass.protocol.hooks import Cut, Hooks
from mipclass.protocol.options import resolve_options
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run, interruptible
from mipclass.reductions.indicator_to_bigm import IndicatorToBigM
from mipclass.testing import fewest_errors_on_a_line, hard_mip, line_rule, random_integer_program
from tests.paths import ROOT
from tests.truth.zero_one import has_rule, signed_points

EXAMPLES = ROOT / "examples"
ERRORS = slice(2, None)  # after w and b


def noisy_line(n: int = 12, seed: int = 3) -> tuple[Array, Array, Program]:
    rng = np.random.default_rng(seed)
    x = rng.permutation(np.linspace(-3, 3, n))
    y = np.where(x + 2 * rng.normal(size=n) > 0, 1.0, -1.0)
    return x, y, line_rule(x, y, on_at=0)


def run_with(hooks: Hooks, **settings: object) -> Run:
    return Run.quiet(hooks=hooks, **settings)  # type: ignore[arg-type]


def test_native_indicators_need_no_bounds() -> None:
    x, y, program = noisy_line()
    free = program.replace_with(
        lower=np.where(program.integer, 0.0, -np.inf), upper=np.where(program.integer, 1.0, np.inf)
    )
    with pytest.raises(UnsupportedProgramError, match="w"):
        IndicatorToBigM().apply(free)
    assert ScipBackend().solve(free, Run.quiet()).objective == pytest.approx(fewest_errors_on_a_line(x, y))


def test_native_and_big_m_agree() -> None:
    _, _, program = noisy_line(seed=5)
    native = ScipBackend().solve(program, Run.quiet())
    big_m = HighsBackend().solve(IndicatorToBigM().apply(program)[0], Run.quiet())
    assert native.objective == pytest.approx(big_m.objective)


def test_incumbent_hook_is_used() -> None:
    """The search must stop at once with the proposed point: node limit 1, heuristics off."""
    program = hard_mip()
    proposal = HighsBackend().solve(program, Run.quiet(time_limit=1.0))
    assert proposal.x is not None
    asked: list[Array | None] = []

    def propose(x: Array | None) -> Array | None:
        asked.append(x)
        return proposal.x

    silent = {"heuristics/trivial/freq": -1, "limits/bestsol": 1}
    solved = ScipBackend().solve(program, run_with(Hooks(incumbent=propose), node_limit=1, scip=silent, time_limit=5.0))
    assert asked
    assert solved.objective is not None
    assert proposal.objective is not None
    assert solved.objective <= proposal.objective + 1e-6


def test_lazy_cuts_hold_in_the_answer_and_are_asked_at_integer_points() -> None:
    """At least two errors more than needed: a constraint that SCIP learns only from the hook."""
    x, y, program = noisy_line()
    least = fewest_errors_on_a_line(x, y) + 2
    seen_integer = []

    def separate(point: Array) -> list[Cut]:
        if point[ERRORS].sum() >= least - 1e-6:
            return []
        seen_integer.append(bool(np.allclose(point[ERRORS], np.round(point[ERRORS]))))
        columns = np.arange(2, program.n_columns)
        return [Cut(columns, np.ones(len(columns)), float(least), np.inf)]

    solved = ScipBackend().solve(program, run_with(Hooks(separate=separate)))
    assert solved.status is Status.OPTIMAL
    assert solved.objective == pytest.approx(least)
    assert seen_integer


def test_no_good_cuts_enumerate_every_optimum() -> None:
    """Exclude each integer point as it is found: the cheapest subset must move to the next one, three times."""
    build = Builder("subsets")
    z = build.binaries("z", 4)
    build.minimize(np.array([1.0, 2.0, 4.0, 8.0]) @ z)
    program = build.build()
    forbidden = [np.zeros(4), np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0])]

    def separate(point: Array) -> list[Cut]:
        return [
            Cut(np.arange(4), 1 - 2 * bad, 1 - bad.sum(), np.inf)
            for bad in forbidden
            if np.abs(point - bad).sum() < 1 - 1e-6
        ]

    solved = ScipBackend().solve(program, run_with(Hooks(separate=separate)))
    assert solved.objective == pytest.approx(3.0)  # 1 + 2, after 0, 1 and 2 are excluded


def test_one_search_with_lazy_cuts_finds_every_best_error_set() -> None:
    """The example's claim against trying every pair of errors with an LP each."""
    spec = importlib.util.spec_from_file_location("example", EXAMPLES / "plot_rules_inside_scip.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rng = np.random.default_rng(42)
    X = rng.normal(size=(18, 2))
    y = X[:, 0] + 1.2 * rng.normal(size=18) > 0
    found, search = example.all_best_rules(models.zero_one(X, y))
    signs = np.where(y, 1.0, -1.0)
    truth = set()
    for pair in combinations(range(18), 2):
        correct = np.ones(18, dtype=bool)
        correct[list(pair)] = False
        if has_rule(signed_points(X, signs)[correct]):
            truth.add(pair)
    assert set(found) == truth
    assert len(truth) == 5
    assert search.objective == pytest.approx(3.0)  # the best that is left


def test_propagation_hook_tightens_what_it_is_shown() -> None:
    """A rule that knows the optimal errors fixes one after the other; the answer stays, and fewer nodes are needed."""
    x, y, program = noisy_line(n=16)
    plain = {"presolving/maxrounds": 0}
    best = ScipBackend().solve(program, Run.quiet(scip=plain))
    assert best.x is not None
    seen: list[int] = []

    def propagate(lower: Array, upper: Array) -> tuple[np.ndarray, Array, Array] | None:
        assert (lower <= upper).all()
        free = np.flatnonzero(program.integer & (lower < upper))
        seen.append(len(free))
        known = np.round(best.x[free[:1]])  # type: ignore[index]
        return free[:1], known, known

    solved = ScipBackend().solve(program, run_with(Hooks(propagate=propagate), scip=plain))
    assert solved.objective == pytest.approx(fewest_errors_on_a_line(x, y))
    assert min(seen) == 0  # in the end every column had been fixed by the rule
    assert solved.nodes is not None
    assert best.nodes is not None
    assert solved.nodes <= best.nodes


def test_propagation_hook_can_end_the_search() -> None:
    """With the optimum proposed and every node cut off, nothing is left to search."""
    _, _, program = noisy_line(n=16)
    best = ScipBackend().solve(program, Run.quiet())
    hooks = Hooks(incumbent=lambda point: best.x, propagate=lambda lower, upper: None)
    solved = ScipBackend().solve(program, run_with(hooks, scip={"presolving/maxrounds": 0}))
    assert solved.status is Status.OPTIMAL
    assert solved.nodes == 1


def test_branching_hook_is_followed_and_keeps_the_optimum() -> None:
    x, y, program = noisy_line(n=16)
    chosen: list[int] = []

    def branch(lower: Array, upper: Array, point: Array | None) -> tuple[int, int] | None:
        free = np.flatnonzero(program.integer & (lower < upper))
        chosen.append(int(free[-1]))
        return int(free[-1]), 1

    plain = {"presolving/maxrounds": 0, "separating/maxrounds": 0, "separating/maxroundsroot": 0}
    solved = ScipBackend().solve(program, run_with(Hooks(branch=branch), scip=plain))
    assert solved.objective == pytest.approx(fewest_errors_on_a_line(x, y))
    assert chosen


def test_branching_on_a_continuous_column_is_an_error() -> None:
    program = hard_mip()
    continuous = int(np.flatnonzero(~program.integer)[0])
    with pytest.raises(ValueError, match=rf"hooks\.branch chose column {continuous}"):
        ScipBackend().solve(
            program, run_with(Hooks(branch=lambda lower, upper, point: (continuous, 1)), time_limit=10.0)
        )


@pytest.mark.parametrize("hook", ["incumbent", "separate", "propagate", "branch"])
def test_exceptions_in_hooks_surface(hook: str) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError(f"in {hook}")

    with pytest.raises(ZeroDivisionError, match=hook):
        ScipBackend().solve(hard_mip(), run_with(Hooks(**{hook: broken}), time_limit=10.0))  # type: ignore[arg-type]


def test_exception_in_the_callback_surfaces() -> None:
    def broken(event: object) -> None:
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="callback"):
        ScipBackend().solve(hard_mip(), Run(callback=broken, time_limit=5.0))


def test_the_time_limit_covers_building() -> None:
    """Building 30,000 rows in Python takes longer than this limit; the answer comes before it is done."""
    build = Builder("long")
    x = build.variables("x", 20, lower=0, upper=1)
    build.subject_to("row", np.random.default_rng(0).random((30_000, 20)) @ x <= 15)
    build.minimize(-x.sum())
    run = Run.quiet(time_limit=0.05)
    solution = ScipBackend().solve(build.build(), run)
    assert solution.status is Status.TIME_LIMIT
    assert "built" in solution.raw_status


def test_ctrl_c_returns_the_incumbent() -> None:
    run = Run(time_limit=30)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with interruptible(run):
        solution = ScipBackend().solve(hard_mip(), run)
    timer.join()
    assert solution.status is Status.INTERRUPTED
    assert solution.x is not None
    assert hard_mip().violation(solution.x) <= 1e-5


def test_what_is_not_a_hook_is_refused() -> None:
    with pytest.raises(OptionError, match="Hooks"):
        resolve_options("scip", ScipBackend.options, {"hooks": {"branch": None}})


def test_unknown_scip_parameter_is_refused() -> None:
    with pytest.raises(OptionError, match="no/such"):
        ScipBackend().solve(hard_mip(), Run.quiet(scip={"no/such": 1}))


def test_nonconvex_objective_is_solved_by_scip_and_refused_by_highs() -> None:
    build = Builder("saddle")
    x = build.variables("x", 2, lower=-2, upper=3, integer=True)
    build.add_quadratic(x, np.array([[0.0, 1.0], [1.0, 0.0]]))
    program = build.build()
    assert ScipBackend().solve(program, Run.quiet()).objective == pytest.approx(-6.0)  # at (-2, 3)
    with pytest.raises(UnsupportedProgramError, match="not convex"):
        HighsBackend().solve(program, Run.quiet())


def test_load_keeps_every_row_and_column() -> None:
    program = random_integer_program(0, quadratic=False)
    model, columns = load(program, Run.quiet())
    assert len(columns) == program.n_columns
    assert model.getNConss() == program.n_rows
