"""Cases with integers: functions `mip__name`, `miqp__name` and `indicator__name`."""

from __future__ import annotations

import numpy as np

from ..modelling.builder import Builder
from ..modelling.expression import ranged
from ..protocol.result import Status
from .case import Case, require
from .programs import hard_mip, line_rule, random_integer_program
from .truth import best_integer_point, fewest_errors_on_a_line


def mip__random_against_enumeration(case: Case) -> None:
    """Pure integer programs against all their points."""
    for seed in range(4):
        program = random_integer_program(seed, quadratic=False)
        case.require_optimal(program, case.solve(program), best_integer_point(program))


def mip__mixed(case: Case) -> None:
    """Fixed charge: open one of two tanks (10 or 4) and fill 3 at 1 or 3 a unit: 10 + 3 = 13 both ways, 4 + 9 = 13; with 2 units 10."""
    build = Builder("tanks")
    opened = build.binaries("opened", 2)
    amount = build.variables("amount", 2, lower=0, upper=5)
    build.subject_to("capacity", amount - 5 * opened <= 0)
    build.subject_to("demand", amount.sum() >= 2)
    build.minimize(np.array([10.0, 4.0]) @ opened + np.array([1.0, 3.0]) @ amount)
    program = build.build()
    case.require_optimal(program, case.solve(program), 10.0)


def mip__infeasible_by_integrality(case: Case) -> None:
    """The relaxation is feasible and no integer point is."""
    build = Builder("parity")
    x = build.variables("x", 2, lower=0, upper=10, integer=True)
    build.subject_to("odd", np.array([2.0, 4.0]) @ x == 7)
    build.minimize(x.sum())
    solution = case.solve(build.build())
    require(solution.status is Status.INFEASIBLE, f"status {solution.status} ({solution.raw_status})")


def mip__unbounded_is_never_called_solved(case: Case) -> None:
    """An integer column with a cost and no bound."""
    build = Builder("bottomless")
    x = build.variables("x", integer=True, lower=-np.inf, upper=0)
    y = build.binaries("y")
    build.minimize(x + y)
    solution = case.solve(build.build())
    require(solution.status is not Status.OPTIMAL, "called optimal")
    require(solution.status is not Status.INFEASIBLE, "called infeasible")
    require(solution.bound is None or solution.bound < -1e6, f"bound {solution.bound}")


def mip__warm_start(case: Case) -> None:
    """A right, a partial and an infeasible start change nothing but the way."""
    program = random_integer_program(0, quadratic=False)
    truth = best_integer_point(program)
    first = case.solve(program)
    assert first.x is not None
    for start in (first.x, np.where(np.arange(4) < 2, np.nan, first.x), np.full(4, 2.0)):
        case.require_optimal(program, case.solve(program, start=start), truth)


def mip__time_limit_returns_the_incumbent(case: Case) -> None:
    """The point, when there is one, is checked like any other; the status says that time ran out, not more."""
    solution = case.solve(hard_mip(), time_limit=0.6)
    require(solution.status is Status.TIME_LIMIT, f"status {solution.status} ({solution.raw_status})")
    if "node_limit" in case.backend.options:  # a solver that we see into: its incumbent must not get lost
        require(solution.x is not None, "no incumbent at the limit")


def mip__callback_stops(case: Case) -> None:
    """A callback that returns False ends the search; a solver that cannot be asked runs on, but within its limit."""
    solution = case.solve(hard_mip(), callback=lambda event: False, time_limit=1.0)
    require(solution.status in (Status.INTERRUPTED, Status.TIME_LIMIT, Status.OPTIMAL), f"status {solution.status}")


def mip__node_limit(case: Case) -> None:
    """One node ends in a limit or an optimum, with an honest bound."""
    if "node_limit" not in case.backend.options:
        return
    solution = case.solve(hard_mip(), options={"node_limit": 1}, time_limit=10.0)
    require(solution.status in (Status.NODE_LIMIT, Status.OPTIMAL), f"status {solution.status} ({solution.raw_status})")


def mip__same_seed_same_answer(case: Case) -> None:
    """One seed gives one answer."""
    program = random_integer_program(2, quadratic=False)
    first, second = (case.solve(program, seed=7) for _ in range(2))
    same = first.x is not None and second.x is not None and np.array_equal(first.x, second.x)
    require(bool(same), "two runs with one seed differ")


def miqp__random_against_enumeration(case: Case) -> None:
    """Convex pure integer QPs against all their points."""
    for seed in range(3):
        program = random_integer_program(seed, quadratic=True)
        case.require_optimal(program, case.solve(program), best_integer_point(program))


def miqp__mixed(case: Case) -> None:
    """(x - 1.4)^2 + (y - x)^2 with x integer in [-3, 3], y <= 0.5: x = 1, y = 0.5 costs 0.41, x = 0 costs 1.96."""
    build = Builder("mixed squares")
    x = build.variables("x", lower=-3, upper=3, integer=True)
    y = build.variables("y", lower=-10, upper=0.5)
    build.add_square(x - 1.4)
    build.add_square(y - x)
    program = build.build()
    case.require_optimal(program, case.solve(program), 0.41)


def miqp__infeasible(case: Case) -> None:
    """No integer point satisfies the rows."""
    build = Builder("parity")
    x = build.variables("x", 2, lower=0, upper=10, integer=True)
    build.subject_to("odd", np.array([2.0, 4.0]) @ x == 7)
    build.add_square(x)
    solution = case.solve(build.build())
    require(solution.status is Status.INFEASIBLE, f"status {solution.status} ({solution.raw_status})")


def indicator__rule_on_a_line(case: Case) -> None:
    """Fewest errors of a rule on a line, by native indicators, against all cuts."""
    for seed, on_at in ((0, 0), (1, 1)):
        rng = np.random.default_rng(seed)
        x = rng.permutation(np.linspace(-3, 3, 9))
        y = np.where(x + rng.normal(size=9) > 0, 1.0, -1.0)
        program = line_rule(x, y, on_at=on_at)
        case.require_optimal(program, case.solve(program), fewest_errors_on_a_line(x, y))


def indicator__two_sided(case: Case) -> None:
    """z = 1 forces 2 <= x <= 3; paying 1 for z = 0 or x^1 for the distance to 0: z = 0, x = 0 costs 1, z = 1 costs 2."""
    build = Builder("two-sided")
    x = build.variables("x", 1, lower=0, upper=10)
    z = build.binaries("z", 1)
    build.subject_to("window", ranged(1.0 * x, 2.0, 3.0), when=(z, 1))
    build.minimize(x.sum() + 1 - z.sum())
    program = build.build()
    case.require_optimal(program, case.solve(program), 1.0)
    forced = program.replace_with(lower=np.array([0.0, 1.0]))
    case.require_optimal(forced, case.solve(forced), 2.0)
