"""Time limits and Ctrl-C end every method, backend and estimator soon, on data where none of them finishes.

The cases are those of the study `time_limits`, which writes the seconds taken into benchmarks/RESULTS.md.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import mipclass
from benchmarks.studies.general.time_limits import (
    BACKENDS,
    ESTIMATORS,
    METHODS,
    WORK,
    asked_and_taken,
    load_packages,
    overlapping,
)
from mipclass import OutlierPathSVC, models
from mipclass.checker import UnfinishedError, check
from mipclass.kernels.waiting import WAIT
from mipclass.solving.own_process import GRACE
from mipclass.solving.registry import METHODS as REGISTERED

ASKED = 3.0
"""Seconds that each call is allowed."""

FINITE = {"topk"}
"""Methods that end after one pass over sorted data: there is nothing to interrupt."""


def overrun(limit: float) -> float:
    """The most seconds that a call may take beyond its limit."""
    return max(1.0, 0.1 * limit)


def test_every_method_and_estimator_is_among_the_cases() -> None:
    assert {what.split(",")[0].split(" ")[0] for what in METHODS} == set(REGISTERED) - FINITE
    assert {what.split(",")[0] for what in ESTIMATORS} == {
        name for name in mipclass.__all__ if name.endswith(("Classifier", "SVC", "OneClass"))
    }
    assert {"highs", "scip", "osqp", "piqp"} <= {what.split(",")[0] for what in BACKENDS}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@pytest.mark.parametrize("what", WORK)
def test_a_time_limit_is_kept(what: str) -> None:
    found = asked_and_taken(what, ASKED)
    print(f"{what}: {found}")
    assert found["seconds"] <= ASKED + overrun(ASKED)
    assert found["status"] != "optimal" or found["seconds"] <= ASKED + GRACE
    assert found["status"] == "optimal" or found["claim"] in ("heuristic", "none")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@pytest.mark.parametrize("what", WORK)
def test_ctrl_c_returns_what_was_found(what: str) -> None:
    load_packages()
    call = WORK[what]()
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    began, compiled = time.perf_counter(), WAIT.seconds()
    timer.start()
    try:
        result = call(60.0)
    finally:
        timer.cancel()
    taken = time.perf_counter() - began - (WAIT.seconds() - compiled)
    print(f"{what}: {taken:.2f} s, {result.status}, {result.claim}")
    assert result.status == "interrupted" or taken < 1.0
    assert result.status == "optimal" or result.claim in ("heuristic", "none")
    assert taken <= 1.0 + overrun(1.0)


def test_a_fit_that_was_cut_short_says_so() -> None:
    """The values were chosen among those that the paths reached, whatever the last path claims of itself."""
    X, y = overlapping(3000, 20)
    fitted = OutlierPathSVC(time_limit=0.3).fit(X, y)
    assert fitted.result_.status == "time_limit"
    assert fitted.result_.claim == "heuristic"
    assert fitted.score(X, y) > 0.5


def test_a_check_that_does_not_fit_in_the_time_is_given_up() -> None:
    X, y = overlapping(60, 2)
    problem = models.zero_one(X, y)
    result = mipclass.solve(problem, "exact")
    assert result.certified
    with pytest.raises(UnfinishedError):
        check(result.certificate, problem, lambda: True)
    assert check(result.certificate, problem, lambda: False)


def test_an_unchecked_certificate_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = overlapping(60, 2)

    def unfinished(*given: object) -> None:
        raise UnfinishedError

    monkeypatch.setattr("mipclass.checker.check", unfinished)
    result = mipclass.solve(models.zero_one(X, y), "exact", time_limit=100.0)
    assert not result.certified
    assert result.certificate is not None
    assert "checker" in result.extra["unchecked"]
    assert "certified no: an interruption left no time" in result.summary()
    assert "left no time" in result._repr_html_()


def test_the_box_checker_pauses_without_losing_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a look at the clock after every box the verdict is the same."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    problem = models.zero_one(X, y)
    result = mipclass.solve(problem, "box")
    assert result.certified
    whole = check(result.certificate, problem)
    monkeypatch.setattr("mipclass.checker.box_kernel.POINTS_A_LOOK", 0)
    looks = []
    assert check(result.certificate, problem, lambda: looks.append(1)) == whole
    assert len(looks) > whole.nodes


def test_what_a_stopped_search_has_proven_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback that ends a search half-way gets a bound that the checker accepts, given the time for it."""
    monkeypatch.setattr("mipclass.solving.driver.CHECK_OVERRUN", 60.0)
    result = mipclass.solve(
        models.zero_one(*overlapping(300, 5)), "exact", callback=lambda event: not (event.bound or 0.0) >= 20.0
    )
    assert result.status == "interrupted"
    assert result.bound is not None
    assert result.bound >= 20.0
    assert result.certified


def test_a_fit_between_two_paths_says_that_it_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the first path has ended: the path is whole, the fit is not."""
    X, y = overlapping(60, 2)
    solve_path, runs = OutlierPathSVC._solve, []

    def solved(self: OutlierPathSVC, *given: object) -> object:
        found = solve_path(self, *given)
        runs.append(given[-2])
        given[-2].interrupt()
        return found

    monkeypatch.setattr(OutlierPathSVC, "_solve", solved)
    fitted = OutlierPathSVC(selection="cv", n_folds=3).fit(X, y)
    assert len(runs) == 1
    assert fitted.result_.status == "interrupted"
    assert fitted.result_.claim == "heuristic"


def test_the_search_leaves_time_for_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is a count of looks: the search stops before the limit once the check of the growing tree needs what is left."""
    from mipclass.methods.exact.box.search import BoxSearch
    from mipclass.protocol.run import Run

    problem = models.zero_one(*overlapping(300, 5))
    asked: list[float] = []

    def seconds(run: Run) -> float:
        return 0.1 * len(asked)

    def seconds_to_check(search: BoxSearch, threads: int) -> float:
        asked.append(search.lower)
        return 3.0 if search.lower > 0 else 0.0

    monkeypatch.setattr(Run, "seconds", seconds)
    monkeypatch.setattr(BoxSearch, "seconds_to_check", seconds_to_check)
    monkeypatch.setattr("mipclass.methods.exact.box.search.CHUNK", 2_000)
    result = mipclass.solve(problem, "box", time_limit=8.0)
    assert result.status == "time_limit"
    assert 5.0 <= 0.1 * len(asked) <= 5.2
    assert result.certified
    assert result.bound == asked[-1] > 0


def test_a_check_that_cannot_fit_gets_no_time_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The points alone take longer to read than what is left when the race begins: it then lasts until the limit."""
    from mipclass.methods.exact import race

    monkeypatch.setattr(race, "MOST_SECONDS_PER_POINT", 1e3)
    made = race.Race
    left: list[float | None] = []

    def watched(data: object, run: object, *more: object) -> object:
        run.time_limit = 1.5 * run.seconds()  # type: ignore[attr-defined]
        found = made(data, run, *more)  # type: ignore[arg-type]
        left.append(found._to_read)
        return found

    monkeypatch.setattr("mipclass.methods.exact.plain.Race", watched)
    mipclass.solve(models.zero_one(*overlapping(300, 5)), "box", time_limit=60.0)
    assert left == [None]
