"""solve: limits, stops, callbacks, traces, warm starts, claims, refusals."""

from __future__ import annotations

import io
import os
import signal
import sys
import time

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.errors import InvalidInputError, OptionError, SolverNotFoundError, UnsupportedProgramError
from mipclass.modelling.builder import Builder
from mipclass.protocol.result import Status
from mipclass.protocol.run import Event, Run


def hard_problem(n: int = 120) -> models.Model:
    """Random labels: no solver proves this in a test's time."""
    rng = np.random.default_rng(0)
    return models.zero_one(rng.normal(size=(n, 4)), rng.integers(0, 2, n))


def test_too_large_a_constant_is_never_proven() -> None:
    """With M = 1e7 solvers cheat within their tolerances; the recount shows it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40) > 0
    honest = mipclass.solve(models.zero_one(X, y), "highs")
    cheated = mipclass.solve(models.Model(X, y, minimize=models.ZeroOne(margin=1, big_m=1e7)), "highs")
    assert honest.claim == "proven"
    assert cheated.status == "optimal"
    assert cheated.objective < honest.objective
    assert not cheated.recounted
    assert cheated.claim != "proven"
    assert not cheated.certified
    assert cheated.extra["recounted_objective"] >= honest.objective


def test_time_limit_covers_building_and_returns_the_incumbent() -> None:
    start = time.perf_counter()
    result = mipclass.solve(hard_problem(), "highs", time_limit=1.0)
    assert time.perf_counter() - start < 3.0
    assert result.status == "time_limit"
    assert result.claim == "heuristic"
    assert result.has_point
    assert result.bound is not None
    assert result.bound <= result.objective
    assert result.gap > 0


def test_callback_sees_progress_and_only_false_stops() -> None:
    events: list[Event] = []
    result = mipclass.solve(
        hard_problem(), "highs", time_limit=20, callback=lambda event: len(events) < 3 and events.append(event)
    )
    assert result.status == Status.INTERRUPTED
    assert result.has_point
    assert len(events) == 3
    with_none = mipclass.solve(models.zero_one([[0.0], [1.0]], [0, 1]), "highs", callback=lambda event: None)
    assert with_none.status == "optimal"


def test_an_exception_in_a_callback_reaches_the_user() -> None:
    def broken(event: Event) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        mipclass.solve(hard_problem(), "highs", time_limit=20, callback=broken)


def test_interrupt_returns_the_incumbent() -> None:
    pressed: list[float] = []

    def press(event: Event) -> None:
        if event.objective is not None and event.seconds > 0.2 and not pressed:
            pressed.append(event.seconds)
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    result = mipclass.solve(hard_problem(), "highs", time_limit=30, callback=press)
    assert result.status == "interrupted"
    assert result.has_point
    assert result.seconds < 20
    assert signal.getsignal(signal.SIGINT) is before


def test_trace_is_monotone() -> None:
    result = mipclass.solve(hard_problem(40), "highs", time_limit=2)
    seconds, objectives, bounds = zip(*result.trace, strict=True)
    assert list(seconds) == sorted(seconds)
    assert [o for o in objectives if o is not None] == sorted((o for o in objectives if o is not None), reverse=True)
    assert [b for b in bounds if b is not None] == sorted(b for b in bounds if b is not None)


def test_warm_start_is_at_least_as_good() -> None:
    problem = hard_problem()
    first = mipclass.solve(problem, "highs", time_limit=1.0)
    again = mipclass.solve(problem, "highs", time_limit=1.0, warm_start=first)
    assert again.objective <= first.objective
    start = problem.encode(first.values)
    assert not np.isnan(start).any()
    assert problem.program().violation(start) <= 1e-6


def test_same_seed_same_answer() -> None:
    problem = models.zero_one(*_separable(60, 3))
    first, second = (mipclass.solve(problem, "highs", seed=7) for _ in range(2))
    assert np.array_equal(first.values["w"], second.values["w"])


def _separable(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1, d + 1) > 0.1


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    mipclass.solve(hard_problem(), "highs", time_limit=1.5, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "highs" in captured.err
    assert "bound" in captured.err


def test_a_method_says_at_once_that_it_is_at_work(capsys: pytest.CaptureFixture[str]) -> None:
    """Before the first event kernels may have to be compiled, which takes seconds."""
    mipclass.solve(mipclass.models.zero_one([[0.0], [1.0], [2.0]], [0, 1, 0]), "exact", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("exact: at work")


def test_progress_in_place_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run = Run(progress=True, solver="test")
    run.report(objective=3.0, bound=1.0)
    run.close()
    assert terminal.getvalue().startswith("\r")
    assert terminal.getvalue().endswith("\n")


def test_programs_are_solved_directly_and_statuses_are_told_apart() -> None:
    build = Builder("lp")
    x = build.variables("x", 2, lower=0)
    build.subject_to("r", x.sum() >= 2)
    build.minimize(x[0] + 3 * x[1])
    result = mipclass.solve(build.build())
    assert (result.objective, result.bound, result.claim) == (2.0, 2.0, "proven")
    assert np.array_equal(result.values["x"], [2.0, 0.0])
    build.subject_to("s", x.sum() <= 1)
    infeasible = mipclass.solve(build.build())
    assert (infeasible.status, infeasible.values, infeasible.objective) == ("infeasible", {}, None)
    free = Builder("free")
    free.minimize(free.variables("x") + 0.0)
    assert mipclass.solve(free.build()).status == "unbounded"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"solver": "higs"}, SolverNotFoundError, "Did you mean 'highs'"),
        ({"solver": 3}, SolverNotFoundError, "must be a name"),
        ({"options": {"presolv": "off"}}, OptionError, "Did you mean 'presolve'"),
        ({"options": {"presolve": "maybe"}}, OptionError, "one of 'choose', 'on', 'off'"),
        ({"time_limit": 0}, InvalidInputError, "positive number of seconds"),
        ({"gap": -1}, InvalidInputError, "gap must be"),
        ({"threads": 0}, InvalidInputError, "threads must be"),
        ({"warm_start": [1, 2]}, InvalidInputError, "takes a Result"),
        ({"warm_start": {"w": [1.0, 2.0]}}, InvalidInputError, "2 value.s. for 'w'; this model's 'w' has 1"),
        ({"warm_start": {"w": [np.nan]}}, InvalidInputError, "NaN or infinity for 'w'"),
        (
            {"warm_start": {"coef": [1.0]}},
            InvalidInputError,
            "holds 'coef', which 'zero_one' does not have; it has w, b, error",
        ),
        ({"warm_start": {"w": [1.0], "errors": 1.0}}, InvalidInputError, "Did you mean 'error'"),
        ({"warm_start": {"w": "steep"}}, InvalidInputError, "arrays of numbers"),
        ({"time_limit": "3"}, InvalidInputError, "positive number of seconds"),
        ({"gap": "3"}, InvalidInputError, "gap must be"),
        ({"seed": None}, InvalidInputError, "seed must be"),
        ({"callback": "stop"}, InvalidInputError, "callback must be"),
        ({"options": ["presolve"]}, OptionError, "takes a mapping"),
        ({"solver": "osqp"}, UnsupportedProgramError, "Installed solvers that can: .*highs"),
    ],
)
def test_bad_calls_are_explained_before_any_work(arguments: dict[str, object], error: type, message: str) -> None:
    problem = models.zero_one([[0.0], [1.0]], [0, 1])
    with pytest.raises(error, match=message):
        mipclass.solve(problem, **{"solver": "highs", **arguments})  # type: ignore[arg-type]


def test_only_problems_can_be_solved() -> None:
    with pytest.raises(InvalidInputError, match="takes a mipclass Model or Program"):
        mipclass.solve([1, 2, 3])


def test_solvers_tells_who_can_and_why_not() -> None:
    rows = {row.name: row for row in mipclass.solvers(models.zero_one([[0.0], [1.0]], [0, 1]))}
    assert rows["highs"].accepts
    assert not rows["osqp"].accepts
    assert "MIP" in rows["osqp"].reason
    assert all(row.accepts is None for row in mipclass.solvers())


def test_result_prints_in_a_few_lines() -> None:
    text = str(mipclass.solve(models.zero_one([[0.0], [1.0]], [0, 1]), "highs"))
    assert "optimal (proven)" in text
    assert "objective 0, bound 0, gap 0" in text


def test_a_gap_that_was_asked_for_is_no_proof() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    result = mipclass.solve(models.zero_one(X, y), "highs", gap=0.9)
    assert result.status == "optimal"
    assert (result.claim == "proven") == (result.bound is not None and result.bound >= result.objective)


def test_an_infeasibility_says_within_which_box() -> None:
    limits = [models.FalsePositiveRate(0.0), models.FalseNegativeRate(0.0)]
    result = mipclass.solve(models.zero_one([[0.0], [1.0], [2.0]], [0, 1, 0], subject_to=limits), "highs")
    assert result.status == "infeasible"
    assert "margin >=" in result.extra["scope"]


@pytest.mark.parametrize("auto", [False, True])
def test_a_rejected_certificate_leaves_no_claim(monkeypatch: pytest.MonkeyPatch, auto: bool) -> None:
    import mipclass.methods.exact.answer as answers

    honest = answers.certificate

    def overstated(*args: object, lower: dict, **kwargs: object) -> object:
        """The certificate of a prover that claims one error more than its proof gives."""
        return honest(*args, lower={**lower, "bound": str(int(lower["bound"]) + 1)}, **kwargs)

    monkeypatch.setattr(answers, "certificate", overstated)
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    result = mipclass.solve(models.zero_one(X, y), "auto" if auto else "exact")
    if auto:  # the policy goes on to a solver whose answer can stand
        assert result.solver != "exact"
        assert "does not accept the certificate" in result.extra["auto"]["tried"][0]
        return
    assert (result.status, result.claim, result.bound, result.certified) == (
        "numerical_error",
        "heuristic",
        None,
        False,
    )
    assert "does not accept the certificate (rejected at lower" in result.raw_status
    assert "try another solver" in result.raw_status


def test_a_rejected_certificate_of_infeasibility_leaves_no_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    import mipclass.checker as checker

    monkeypatch.setattr(checker, "check", lambda *_: checker.Verdict(False, reason="no", place="here"))
    limits = [models.FalsePositiveRate(0.0), models.FalseNegativeRate(0.0)]
    result = mipclass.solve(models.zero_one([[0.0], [1.0], [2.0]], [0, 1, 0], subject_to=limits), "exact")
    assert (result.status, result.claim, result.bound) == ("numerical_error", "none", None)
