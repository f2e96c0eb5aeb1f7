"""Solver "exact": proven optimum of the 0-1 loss, with a certificate.

Preprocess (merge, cancel, drop constant columns), ask the separability LP, find a good rule by local search, then prove: by boxes where
there are few features, by infeasible subsystems where there are many or constraints, by both in turn in between. They share the
incumbent and the better bound; whoever is ahead gets most of the work. With threads=2 each has a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...modelling.model import Model
from ...protocol.options import Options
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..base import Method
from ..zero_one.prepared import ZeroOneData, best_offset, prepare, recentre, separating_rule
from .answer import PROOF_OPTIONS, Task, answer, refuse
from .box.search import MAX_RANK
from .iis.cover import cover_data
from .provers import BoxEngine, Engine, IISEngine, trivial_lower
from .rational import integer_weights
from .remote import RemoteIIS

BOX_ALONE = 8  # features up to which boxes need no company, unless the loss is small
SMALL_LOSS = 20
BOX_AT_MOST = 9  # features beyond which boxes take longer than the time most callers have
TURN = 12  # looks at the clock in the first turn
MOST_STEPS = 3e8  # line searches times entries of the data: some seconds
LOOKS = {"box": 1, "iis": 24}  # about as many looks take the same time


class Exact(Method):
    """The choice of solver="auto" for the 0-1 loss, plain or with limits on errors and homogeneous rows."""

    name: ClassVar[str] = "exact"
    promise: ClassVar[str] = "proven: optimum with a checkable certificate when it finishes, a proven bound at any time"
    options: ClassVar[Options] = PROOF_OPTIONS

    def refuses(self, problem: Any) -> str | None:
        reason = refuse(problem, plain=False)
        if reason is None and problem.terms[0][1].margin:
            return "it proves the scale-free loss, ZeroOne(margin=0); use solver='iis' or 'highs' for a margin."
        return reason

    def solve(self, problem: Model, run: Run) -> Outcome:
        task = Task.of(problem, run)
        if not task.statement.is_plain:
            from .iis.method import prove_constrained

            return prove_constrained(task)
        return prove_plain(task, None)


def engines_for(n_features: int, loss: float) -> tuple[str, ...]:
    """Boxes are fast in few dimensions whatever the loss, subsystems in any dimension when the loss is small."""
    if n_features > BOX_AT_MOST:
        return ("iis",)
    return ("box",) if (n_features <= BOX_ALONE and loss > SMALL_LOSS) or n_features <= 2 else ("iis", "box")


def prove_plain(task: Task, names: Sequence[str] | None) -> Outcome:
    """The plain problem by the named engines, or by those that suit it."""
    X = task.X
    data = prepare(X, task.y, task.statement.costs)
    W = separating_rule(data)
    if W is not None:
        rule = _finished_rule(task, data, W)
        return answer(task, rule=rule, lower=trivial_lower(data), stopped=None, nodes=0)
    start = first_rule(task, data)
    if names is None:
        W = np.append(start[:-1][data.columns], _moved_offset(_some_point(task), start, data))
        names = engines_for(len(data.columns), data.loss(W) - data.constant)
    names = [name for name in names if name != "box" or data.Z.shape[1] <= MAX_RANK]
    remote = None
    if task.run.threads > 1 and len(names) > 1:
        remote = RemoteIIS(X, task.y, task.statement, task.run.seed, start)
        names = [name for name in names if name != "iis"]
    engines = [_engine(name, task, data) for name in names]
    for engine in engines:
        engine.offer(start)
    race = Race(task, data, engines, remote)
    try:
        stopped = race.run()
        lead = race.leader()
    finally:
        if remote is not None:
            remote.close(want_proof=False)
    w, b = data.rule(race.best_kept())
    return answer(
        task,
        rule=_finished_rule(task, data, np.append(w[data.columns], b)),
        lower=lead.proof(),
        stopped=stopped,
        nodes=sum(engine.nodes for engine in race.engines),
        extra={"proof_by": lead.name, **{f"bound_{e.name}": race.cost(e.lower) for e in race.engines}},
    )


def _engine(name: str, task: Task, data: ZeroOneData) -> Engine:
    if name == "box":
        return BoxEngine(data, _some_point(task))
    return IISEngine(cover_data(task.X, task.y, task.statement), task.run.seed, True, task.run)


def first_rule(task: Task, data: ZeroOneData) -> Array:
    """A good rule over all features: the caller's or least squares, improved by local and by swap search."""
    from ..zero_one.csa import swap_search
    from ..zero_one.local import local_search

    run = task.run
    start = None
    if run.warm_start is not None and "w" in run.warm_start:
        given = np.append(run.warm_start["w"], run.warm_start.get("b", 0.0))
        start = np.append(given[:-1][data.columns], _moved_offset(_some_point(task), given, data))
    affordable = max(200, int(MOST_STEPS / max(1, data.Z.size)))
    steps = min(int(run.options.get("local_steps", 0)), affordable)

    def tell(W: Array, loss: float, done: int) -> None:
        run.report(objective=loss + data.constant, iterations=done)

    found = local_search(data.Z, data.weights, start, run.seed, steps=steps, stop=run.stop, on_improvement=tell)
    found = swap_search(data.Z, data.weights, found.w, run.seed, steps=2 * steps, stop=run.stop, on_improvement=tell)
    w, b = data.rule(found.w)
    return np.append(w, b)


def _some_point(task: Task) -> Array:
    """Any point that counts: it has the value of every column that is constant."""
    return np.asarray(task.X[int(np.argmax(task.statement.costs > 0))])


def _moved_offset(at: Array, W: Array, data: ZeroOneData) -> float:
    """The offset that also does the work of the columns dropped as constant."""
    dropped = np.setdiff1d(np.arange(data.n_features), data.columns)
    return float(W[-1] + at[dropped] @ W[dropped])


def plain_rule(task: Task, W: Array) -> tuple[Array, float]:
    """A rule W = (w, b) over all features, finished: in the middle of its cell and without ties."""
    data = prepare(task.X, task.y, task.statement.costs)
    return _finished_rule(task, data, np.append(W[:-1][data.columns], _moved_offset(_some_point(task), W, data)))


def _finished_rule(task: Task, data: ZeroOneData, W: Array) -> tuple[Array, float]:
    """W in the middle of its cell, in the user's units, without ties."""
    centred = recentre(data, W)
    w, b = data.rule(centred)
    return w, best_offset(np.asarray(task.X @ w), task.y, task.statement.costs, b)


class Race:
    """Engines that share incumbents and the better bound; turns are counted in looks at the clock, so that runs repeat."""

    def __init__(self, task: Task, data: ZeroOneData, engines: list[Engine], remote: RemoteIIS | None = None) -> None:
        """`remote` runs in a process of its own all the while; the others take turns here."""
        self.task, self.data, self.remote = task, data, remote
        self.engines: list[Engine] = [*engines, remote] if remote is not None else engines
        _, self.unit = integer_weights(data.weights)  # what every engine counts in

    @property
    def lower(self) -> int:
        return max(engine.lower for engine in self.engines)

    @property
    def best(self) -> int:
        return min(engine.best for engine in self.engines if engine.best is not None)

    def best_kept(self) -> Array:
        """The best rule over the kept columns."""
        lead = min((e for e in self.engines if e.best is not None), key=lambda e: e.best or 0)
        W = lead.rule
        assert W is not None
        return np.append(W[:-1][self.data.columns], _moved_offset(_some_point(self.task), W, self.data))

    def leader(self) -> Engine:
        """The engine with the best bound whose proof is at hand."""
        own = max((e for e in self.engines if e is not self.remote), key=lambda engine: engine.lower)
        if self.remote is not None and self.remote.lower > own.lower and self.remote.close(want_proof=True):
            return self.remote
        return own

    def cost(self, value: int) -> float:
        return float(self.data.constant + self.unit * value)

    def tell(self) -> None:
        self.task.run.report(
            objective=self.cost(self.best), bound=self.cost(self.lower), nodes=sum(e.nodes for e in self.engines)
        )

    def _done(self) -> bool:
        return self.best - self.lower <= self.task.run.gap * max(1, self.best)

    def _poll_and_done(self) -> bool:
        if self.remote is not None:
            self.remote.poll()
            self._share()
        return self._done()

    def run(self) -> Status | None:
        """Until the bound meets the incumbent or a limit; the limit that stopped it, if one did."""
        stop = self.task.stopper(lambda: sum(e.nodes for e in self.engines), self._poll_and_done)
        self.tell()
        turn = TURN
        while not self._done():
            status = stop()
            if status is not None:
                return status
            alive = [engine for engine in self.engines if not engine.exhausted]
            if not alive:
                return Status.NUMERICAL_ERROR
            here = [engine for engine in alive if engine is not self.remote] or alive
            lead = max(here, key=lambda engine: engine.lower)
            for engine in here:
                early = turn <= (
                    4 * TURN if engine.lower > 0 else TURN
                )  # one turn is enough to see that a bound stays at zero
                share = turn if engine is lead or early else max(1, turn // 8)
                engine.advance(_for_a_while(share * LOOKS[engine.name], stop), self.tell)
                self._share()
                if self._done() or stop() is not None:
                    break
            turn = int(turn * 1.5) if len(here) > 1 else 10**9
        return None

    def _share(self) -> None:
        best = self.best
        lead = next(engine for engine in self.engines if engine.best == best)
        rule = lead.rule
        for engine in self.engines:
            if rule is not None and engine is not lead and (engine.best is None or engine.best > best):
                engine.offer(rule)


def _for_a_while(looks: int, stop: Callable[[], object]) -> Callable[[], object]:
    """A stop that also says yes after so many looks."""
    left = looks

    def enough() -> object:
        nonlocal left
        left -= 1
        return left < 0 or stop()

    return enough
