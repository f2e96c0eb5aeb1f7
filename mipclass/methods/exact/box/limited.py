"""Boxes under limits on errors: each box is closed by the costs that suit it.

Some costs of the points prove that a rule breaks what is asked: the objective's own (the rule costs too much), those of a limit (it
exceeds the limit), or priced mixtures of both (`priced`). Each comes as a plain 0-1 loss with a target that every rule of interest would
have to stay below. A box is closed when the bound of one of these losses reaches its target there.

A part of the proof is a tree under one of the losses. It begins with some boxes, first the faces of the cube under priced costs. Small
boxes whose centre stays below the target cannot be closed by this loss. They are handed over to a later part, under a loss whose target
the centre reaches. No box is left when the proof is complete, and then no rule keeps the limits and costs less than the incumbent.
With several workers a part is a task with a budget; the boxes that it does not get to go to further parts under the same loss
(`parts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ....arrays import Array, Index, Positions
from ....protocol.crew import Crew
from ....protocol.tasks import TaskRecord, TasksUnderWay
from ..rational import StoppedError, rounded_product
from .kernels.state import ASKING, FINISHED, FULL, KBITS, QBITS, Boxes, BoxTree, Path, RoundedPoints, new_state
from .lemmas import FEW, NO_WALLS, Lemmas, Walls
from .parts import LimitedWork, Part, PartsAtOnce
from .piece_pass import Help
from .pieces import PackedTree, Piece
from .tasks import BoxWork

Stop = Callable[[], object]

CHUNK = 3_000_000  # point visits between two looks at the clock, about 0.1 s
# Room for a first tree; it is doubled when it is full.
FIRST_NODES, FIRST_LEMMAS, FIRST_BOXES = 1 << 12, 1 << 10, 1 << 8
# Uncertain points up to which boxes are handed over, in each round and from the last on.
FEW_UNCERTAIN = (16, 12, 9, 7, 5, 4, 3)
PARTS_PER_WORKER = 2  # parts that a round begins with under each loss: a worker that is done early finds another one
BOXES_AT_ONCE = 1 << 12  # boxes whose points are classified in one matrix product


class Loss:
    """A plain 0-1 loss over signed rows Z with whole weights, in the coordinates V of a map M that all losses share."""

    def __init__(self, work: BoxWork, lemmas: Lemmas) -> None:
        """lemmas : about the rows of the work."""
        self.work, self.points, self.lemmas, self.weights = work, work.points, lemmas, work.weights
        of_points = self.weights[: len(self.weights) - lemmas.walls.behind]
        self.average = max(1.0, float(of_points.mean()))

    @classmethod
    def over(
        cls, Z: Array, weights: Index, M: Array, scales: Array, stop: Stop | None = None, walls: Walls = NO_WALLS
    ) -> Loss:
        """The loss of signed rows; `walls` are the rows of a cone, if the rules of one alone count, see `BoxSearch`."""
        points = RoundedPoints(*rounded_product(Z, M, QBITS, stop), weights)
        work = BoxWork(Z, M, scales, points, FEW, walls, _no_own_space)
        return cls(work, work.lemmas())

    def sure_costs(self, centre: Array, half: Array | None, stop: Stop) -> Index:
        """The weight of the points that are wrong all over each box, or at its centre if `half` is None; StoppedError once it should stop."""
        Q, err, weights = self.points
        slack = err * (Q.shape[1] * float(1 << KBITS))
        found = np.zeros(len(centre), dtype=np.int64)
        for first in range(0, len(found), BOXES_AT_ONCE):
            if stop():
                raise StoppedError
            here = slice(first, first + BOXES_AT_ONCE)
            most = centre[here] @ Q.T + slack
            if half is not None:
                most += half[here] @ np.abs(Q).T
            found[here] = (most <= 0) @ weights
        return found


def _no_own_space(work: BoxWork, rows: Positions, W: Array) -> None:
    """Lemmas under limits are about few points."""


class LimitedBoxes:
    """The parts of a proof, in rounds. `targets()` may fall while the search is under way, when rules get better."""

    def __init__(
        self,
        losses: list[Loss],
        targets: Callable[[], list[int]],
        offer: Callable[[Array], None],
        close: Callable[[Boxes, Stop], Index],
        begun: BoxTree | None = None,
        help: Help | None = None,
    ) -> None:
        """offer : takes the coordinates V of rules that may be better than the incumbent.    close : for each box the number of a joint lemma
        that closes it, or -1; StoppedError once it should stop.    begun : a tree under the first loss that begins with the faces, to be
        grown further.    help : workers, if there are any."""
        self.losses, self._targets, self._offer, self._close = losses, targets, offer, close
        self.r = losses[0].points.Q.shape[1]
        self.parts: list[Part] = []
        self._begun = BoxTree.blank(0, 0, 0) if begun is None else begun
        self.nodes = 0
        self.holes = 0
        self.log: list[TaskRecord] = []
        self._round = 0
        # The loss and the boxes of each part to come in this round, in the order of their numbers.
        self._waiting: list[tuple[int, Boxes]] = [(0, Boxes.faces(self.r))]
        self._done: list[Part] = []  # the parts of this round
        self._help = help
        self._works = LimitedWork(tuple(loss.work for loss in losses))
        self._token: object = None

    def advance(self, stop: Stop, on_progress: Callable[[], None]) -> bool:
        """Go on until the proof is complete, or a hole shows that it cannot be (True); False when stopped before."""
        while self._waiting and not self.holes:
            if not (self._grow_one(stop, on_progress) if self._crew is None else self._grow_all(stop, on_progress)):
                return False
            if not self._waiting:
                try:
                    self._hand_over(stop)
                except StoppedError:
                    return False
        return True

    def _grow_one(self, stop: Stop, on_progress: Callable[[], None]) -> bool:
        """Grow the next part of this round; False when stopped."""
        part = self._grown(*self._waiting[0], stop, on_progress)
        if part is None:
            return False
        self._waiting.pop(0)
        self._done.append(part)
        return True

    def _grow_all(self, stop: Stop, on_progress: Callable[[], None]) -> bool:
        """Grow all parts of this round, several at a time; False when stopped."""
        assert self._help is not None
        assert self._crew is not None
        if self._token is None:
            self._token = self._crew.share(self._works)
        at_once = PartsAtOnce(
            TasksUnderWay(self._crew, self._token),
            [loss.lemmas for loss in self.losses],
            self._handing,
            len(self.parts),
            self.log,
            self._help.seconds_left,
        )
        targets = self._targets()
        tree = BoxTree.blank(0, 0, 0) if self._round else self._begun
        for number, boxes in self._waiting:
            at_once.begin(number, targets[number], Piece(boxes, PackedTree.of(tree)))
        before = self.nodes

        def progress() -> None:
            self.nodes = before + at_once.nodes
            on_progress()

        done = at_once.grow_all(stop, progress)
        self.nodes, self.holes = before + at_once.nodes, self.holes + at_once.holes
        if done:
            self._waiting, self._done = [], at_once.parts()
        return done

    @property
    def _crew(self) -> Crew | None:
        """The workers, if there are any."""
        return None if self._help is None else self._help.crew

    @property
    def _handing(self) -> int:
        """Uncertain points up to which boxes are handed over in this round."""
        return FEW_UNCERTAIN[min(self._round, len(FEW_UNCERTAIN) - 1)]

    def _hand_over(self, stop: Stop) -> None:
        """Begin the next round: a part for each loss that some boxes of this round are handed to, or some parts if there are workers."""
        chosen = [self._suited(part, stop) for part in self._done]
        to = [-1 - np.array(lemmas, dtype=np.int64) for _, lemmas in chosen]
        number = len(self.parts) + len(self._done)
        for loss in sorted({int(loss) for which, _ in chosen for loss in which if loss >= 0}):
            here = [which == loss for which, _ in chosen]
            centre = np.concatenate([part.handed.centre[own] for part, own in zip(self._done, here, strict=True)])
            half = np.concatenate([part.handed.half[own] for part, own in zip(self._done, here, strict=True)])
            count = 1 if self._crew is None else min(len(centre), PARTS_PER_WORKER * self._crew.workers)
            group = np.arange(len(centre)) * count // len(centre)
            self._waiting += [(loss, Boxes(centre[group == g], half[group == g])) for g in range(count)]
            ends = np.cumsum([own.sum() for own in here])[:-1]
            for goes_to, own, groups in zip(to, here, np.split(group, ends), strict=True):
                goes_to[own] = number + groups
            number += count
        for part, goes_to in zip(self._done, to, strict=True):
            self.parts.append(replace(part, handed_to=np.append(goes_to, np.array(part.rest_to, dtype=np.int64))))
        self._done, self._round = [], self._round + 1

    def _suited(self, part: Part, stop: Stop) -> tuple[Index, list[int]]:
        """For each box that the part hands over: the loss that misses its target by the fewest average weights, counting sure errors,
        or -1 where a joint lemma closes the box; and the number of this lemma, else -1."""
        handed = part.handed
        self._offer_better(handed.centre, stop)
        missing = np.array(
            [
                (target - loss.sure_costs(handed.centre, handed.half, stop)) / loss.average
                for loss, target in zip(self.losses, self._targets(), strict=True)
            ]
        )
        which = np.asarray(np.argmin(missing, axis=0))
        lemmas = np.full(len(which), -1)
        undecided = np.flatnonzero(missing.min(axis=0) > 0)
        if len(undecided):
            lemmas[undecided] = self._close(Boxes(handed.centre[undecided], handed.half[undecided]), stop)
        return np.where(lemmas >= 0, -1, which), lemmas.tolist()

    def _offer_better(self, centres: Array, stop: Stop) -> None:
        """Offer the centres that may be better than the incumbent: those below the targets of all losses."""
        for loss, target in zip(self.losses, self._targets(), strict=True):
            centres = centres[loss.sure_costs(centres, None, stop) < target]
        for centre in centres:
            if stop():
                raise StoppedError
            self._offer(centre)

    def _grown(self, number: int, roots: Boxes, stop: Stop, on_progress: Callable[[], None]) -> Part | None:
        """One part of the proof; None when stopped."""
        from .kernels.grow import grow

        loss, target = self.losses[number], self._targets()[number]
        state = new_state(target, FEW)
        state.best, state.handing = target, self._handing
        path = Path.empty(len(loss.weights), self.r)
        old = BoxTree.blank(0, 0, 0) if self._round else self._begun
        room = max(FIRST_NODES, 2 * len(old.ops))
        out = BoxTree.blank(room, 2 * room, FIRST_LEMMAS)
        handed = Boxes.blank(FIRST_BOXES, self.r)
        while True:
            state.budget = CHUNK
            before = int(state.written_nodes)
            status = grow(loss.points, path, roots, old, loss.lemmas.table, out, handed, state)
            self.nodes += int(state.written_nodes) - before
            if status == FINISHED:
                self.holes += int(state.holes)
                tree = out.head(state.written_nodes, state.written_pairs, state.written_lemmas)
                return Part(number, target, tree, handed.head(state.handed), np.zeros(0, np.int64))
            if status == FULL:
                out = out.enlarged(state.written_nodes, state.written_pairs, state.written_lemmas)
                handed = handed.enlarged(state.handed)
            elif status == ASKING:
                members = path.members[state.depth, : path.n_members[state.depth]]
                found = loss.lemmas.find(members, int(state.need), stop)
                if found is None:
                    return None
                state.refused = not found
            on_progress()
            if stop():
                return None
