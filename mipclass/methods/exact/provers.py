"""The two proving searches behind one protocol, so that `box`, `iis` and `exact` can run either.

Losses and bounds are whole numbers in units of the problem, without its constant; rules are W = (w, b) over all features.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ...arrays import Array, Positions
from ...certificates.certificate import fraction
from ...protocol.run import Run
from ...protocol.tasks import TaskRecord
from ..zero_one.prepared import ZeroOneData
from ..zero_one.scope import column_scales
from .box.cone import Cone
from .box.copies import copied_rows
from .box.piece_pass import Help
from .box.search import BoxSearch
from .iis.at_once import ALONE_SECONDS, NodesAtOnce
from .iis.cover import CoverData
from .iis.proof import iis_lower
from .iis.rules import widest_rules
from .iis.saved import TreeSaver
from .iis.tree import IISSearch

Stop = Callable[[], object]
"""Asked often by a search; anything but None or False stops it."""


class Prover(Protocol):
    """A search that can be paused, told of rules, and asked for its proof."""

    name: str

    @property
    def lower(self) -> int:
        """The proven lower bound."""
        ...

    @property
    def best(self) -> int | None:
        """The incumbent's cost; None without an incumbent."""
        ...

    @property
    def rule(self) -> Array | None:
        """The incumbent; None without one."""
        ...

    @property
    def nodes(self) -> int:
        """Nodes visited so far."""
        ...

    @property
    def exhausted(self) -> bool:
        """Nothing more can be done, whether or not the bound meets the incumbent."""
        ...

    def offer(self, W: Array) -> None:
        """Take a rule as incumbent when it is better."""
        ...

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        """Go on until it is done or `stop()`; `on_progress` is called when the bound or the incumbent changed."""
        ...

    def proof(self) -> dict[str, Any]:
        """The lower part of a certificate: what is proven now."""
        ...

    def outlook(self) -> dict[str, Any]:
        """How far the search is and how long it may take, as far as it can tell."""
        ...

    def seconds_to_check(self, threads: int) -> float:
        """Seconds that so many threads may need to write its proof down and to check it, besides what every check of these points takes."""
        ...

    @property
    def log(self) -> Sequence[TaskRecord]:
        """The tasks of several workers."""
        ...


def trivial_lower(data: ZeroOneData) -> dict[str, Any]:
    """The proof that needs no search: what equal points of opposite labels cost."""
    constant = fraction(data.constant)
    return {"kind": "trivial", "bound": constant, "constant": constant, "unit": "1", "points": [], "weights": []}


def box_lower(data: ZeroOneData, search: BoxSearch, points: Positions | None = None) -> dict[str, Any]:
    """The tree of boxes over the prepared rows that proves what the search has proven; the trivial proof while that is zero.

    points : the data row that stands for each row of the search; None: the search has the prepared rows themselves.
    """
    constant, unit = data.constant, data.proof_counts.unit
    if search.lower <= 0:
        return trivial_lower(data)
    proof = search.proof()
    points = data.representatives if points is None else points
    return {
        "kind": "box",
        "relative_margin": fraction(proof.relative_margin),
        "bound": fraction(constant + unit * search.lower),
        "constant": fraction(constant),
        "unit": fraction(unit),
        "points": points.tolist(),
        "weights": search.weights[: len(points)].tolist(),
        "proof": proof.content(data),
    }


class BoxProver:
    """Boxes over the prepared rows of a plain problem, perhaps with the rules of a cone alone."""

    name = "box"

    def __init__(
        self,
        data: ZeroOneData,
        stop: Stop | None = None,
        cone: Cone | None = None,
        help: Help | None = None,
        *,
        copies: bool = False,
    ) -> None:
        """cone : over the kept columns.   help : see `BoxSearch`.   copies : rows of small weight become several of weight one.
        StoppedError when `stop()` before the search is set up."""
        self.data, self.cone = data, cone
        Z, weights = data.Z, data.proof_counts.counts
        self.points = data.representatives
        if copies:
            rows, weights = copied_rows(weights)
            Z, self.points = Z[rows], self.points[rows]
        if cone is None:
            self.search = BoxSearch(Z, weights, M=data.map, stop=stop, help=help)
        else:
            more, scales = cone.among(Z, weights), column_scales(Z)
            M, walls = cone.map(data), cone.walls
            self.search = BoxSearch(*more, cone.interior, M=M, scales=scales, stop=stop, walls=walls, help=help)
        self._dead = not self.search.reaches_all

    @property
    def lower(self) -> int:
        """The proven lower bound."""
        return self.search.lower

    @property
    def best(self) -> int:
        """The incumbent's cost."""
        return self.search.best

    @property
    def rule(self) -> Array:
        """The incumbent over all features."""
        return np.append(*self.data.rule(self.search.best_W))

    @property
    def nodes(self) -> int:
        """Boxes visited so far."""
        return self.search.nodes

    @property
    def exhausted(self) -> bool:
        """The bound meets the incumbent, or boxes at the end of the grid are left that nothing settles."""
        return self._dead or self.search.finished

    def offer(self, W: Array) -> None:
        """Take a rule as incumbent when it is better."""
        W = self.data.restricted(W)
        self.search.offer(W if self.cone is None else self.cone.inner(W, self.data.Z))

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        """Go on until it is done or `stop()`."""
        if self.search.reaches_all:
            self._dead = self.search.advance(stop, on_progress=on_progress) and not self.search.finished

    def outlook(self) -> dict[str, Any]:
        """The target of the present pass, in units, the share of it that is done, boxes per second, and the seconds that may be left."""
        return self.search.outlook()

    def seconds_to_check(self, threads: int) -> float:
        """A share of the seconds that the tree took to grow."""
        return self.search.seconds_to_check(threads)

    @property
    def log(self) -> Sequence[TaskRecord]:
        """The tasks in which the tree was grown."""
        return self.search.log

    def proof(self) -> dict[str, Any]:
        """The tree of boxes that proves `lower`; the trivial proof while that is zero."""
        content = box_lower(self.data, self.search, self.points)
        return (
            content
            if self.cone is None or self.lower <= 0
            else {**content, **self.cone.content(self.data, self.search.weights)}
        )


class IISProver:
    """Branch and cut over infeasible subsystems."""

    name = "iis"

    def __init__(self, data: CoverData, seed: int, run: Run | None = None) -> None:
        """`run` brings the time limit into single LPs."""
        self.data = data
        self.search = IISSearch(data, seed=seed)
        self.search.master.run = run
        self._run = run
        self._at_once: NodesAtOnce | None = None
        self._began = time.monotonic()
        self._saver = None if run is None or run.checkpoint is None else TreeSaver(run.checkpoint, data)
        if self._saver is not None:
            self._saver.load(self.search)
        self._nodes_before = self.search.nodes

    @property
    def lower(self) -> int:
        """The proven lower bound."""
        return self.search.lower

    @property
    def best(self) -> int | None:
        """The incumbent's cost; None without an incumbent."""
        return self.search.best

    @property
    def rule(self) -> Array | None:
        """The incumbent with its offset, which is zero when the problem has none; None without an incumbent."""
        W = self.search.best_W
        return W if W is None or self.data.has_offset else np.append(W, 0.0)

    @property
    def nodes(self) -> int:
        """Nodes of the tree visited so far, without those of a checkpoint."""
        return self.search.nodes - self._nodes_before

    @property
    def exhausted(self) -> bool:
        """Nothing is left to search."""
        return self.search.finished

    def offer(self, W: Array) -> None:
        """Take a rule as incumbent when it is feasible and better."""
        self.search.offer(W if self.data.has_offset else W[:-1])

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> None:
        """Go on until it is done or `stop()`; with the workers of the run, if it has some, when the root is done and they are set up."""

        def told() -> None:
            self._call_workers()
            if self._saver is not None:
                self._saver.save_if_due(self.search)
            on_progress()

        while not self._can_share and not self.search.finished and not stop() and self.search.step(stop, told):
            pass
        if self._at_once is not None and self._can_share and not self.search.finished and not stop():
            self._at_once.advance(stop, told)
        if self.search.finished:
            self.search.conclude()
        self._keep()

    def _call_workers(self) -> None:
        """Begin to set up the workers, if there are some, when the search has taken ALONE_SECONDS."""
        if self._run is None or self._at_once is not None or time.monotonic() - self._began < ALONE_SECONDS:
            return
        # About half of the work is Python's: threads would wait for each other.
        crew = self._run.crew(in_processes=True)
        if crew is not None:
            self._at_once = NodesAtOnce(self.search, crew, self._run.seconds_left)

    @property
    def _can_share(self) -> bool:
        """Whether there are nodes below the root and workers for them."""
        return bool(self.search.root.children) and self._at_once is not None and self._at_once.is_ready

    def _keep(self) -> None:
        """A last state on disk when the search ends."""
        if self._saver is not None and self._run is not None and (self.search.finished or self._run.stop()):
            self._saver.save(self.search)

    @property
    def log(self) -> Sequence[TaskRecord]:
        """The tasks of other workers."""
        return () if self._at_once is None else self._at_once.log

    def widest_rule(self) -> tuple[Array, float] | None:
        """The incumbent with the widest margins that get the same points right, as (w, b); None without an incumbent."""
        if self.search.best_W is not None:
            for W in widest_rules(self.data, ~self.data.errors(self.search.best_W)):
                self.search.settle(W)
        found = self.rule
        return None if found is None else (found[:-1], float(found[-1]))

    def outlook(self) -> dict[str, Any]:
        """Branch and cut cannot tell."""
        return {}

    def seconds_to_check(self, threads: int) -> float:
        """Nothing to speak of: its tree is small."""
        return 0.0

    def proof(self) -> dict[str, Any]:
        """The tree of covers that proves `lower`."""
        return iis_lower(self.search)
