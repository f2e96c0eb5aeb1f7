"""Box search at array level: the proven optimum of the 0-1 loss by branch and bound in the space of weights.

Data        signed rows z_i of rank r, integer weights c_i
Minimise    sum_i c_i [z_i.W <= 0]   over W; a tie is an error
Search      W = M V with V on the faces of the cube |V|_max = 1; each face is halved coordinate by coordinate. On a box some points are
            wrong everywhere, and some pairs of points conflict: one of the two is wrong wherever V is. Disjoint conflicts add up.
Claim       proven: every decision is made in exact integers (`kernels.grow`), and the tree is the certificate.

A pass proves a target; the target rises from pass to pass. Each pass replays the tree of the last one and grows only the leaves whose
bound is below the new target, so a proven lower bound exists at any time. Boxes whose points no halving decides are closed by lemmas
about these points (`lemmas`). With help the tree is grown in pieces, by several workers at a time (`piece_pass`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log
from typing import Any

import numpy as np

from ....arrays import Array, Index, Positions
from ....kernels.waiting import working_seconds
from ....protocol.tasks import SettingUp, TaskRecord
from ...zero_one.scope import column_scales
from ..rational import integer_matrix, rank, rounded_product
from ..within_margin import inverse_within_margin
from .cone import whitening_of
from .kernels.state import ASKING, BETTER, FINISHED, FULL, QBITS, Boxes, BoxTree, Path, RoundedPoints, new_state
from .lemmas import FEW, NO_WALLS, Walls
from .outlook import nodes_to_come
from .piece_pass import Help, PiecePass, first_pieces
from .pieces import joined
from .proof import BoxProof
from .saved import Saver
from .tasks import CHUNK, BoxWork, last_rule, nearby

Stop = Callable[[], object]
Progress = Callable[[], None]

MAX_RANK = 16  # up to this rank the integer sums of the kernels stay below 2^53
SHEAR = 0.1  # size of the random change of axes, relative to the axes
FIRST_NODES, FIRST_LEMMAS = 1 << 12, 1 << 10  # room for a first tree; it is doubled when it is full

CHECK_SHARE = 0.25
"""Seconds to write the tree of a pass down and to check it, per second of the pass: 0.08 (pima) to 0.2 (200,000 x 3 normals) were measured."""

# The targets of successive passes, as shares of the cost of the incumbent (or of the goal).
FIRST_TARGET = 0.2  # of the first pass
FIRST_STEP = 1 / 12  # of the second pass, before the growth of the tree is known
SMALLEST_STEP, LARGEST_STEP = 1 / 200, 0.15
NODE_GROWTH = 3.0  # factor by which a pass should enlarge the tree: a replay is then cheap beside the new work
SMALLEST_RETREAT = (
    1 / 500
)  # a target that leaves holes is lowered only while it exceeds the proven bound by more than this share


def generic(M: Array) -> Array:
    """M with its axes changed a little at random, so that the vertices of lattice data do not lie on the boundaries of boxes.

    One lemma about the points of a vertex closes a box that has the vertex inside; on a boundary each half would need its own.
    """
    r = M.shape[1]
    return np.asarray(M @ (np.eye(r) + SHEAR / np.sqrt(r) * np.random.default_rng(r).standard_normal((r, r))))


class BoxSearch:
    """An anytime search over the rows Z with integer weights; `lower` is proven, and `best_W` costs at most `best`, unless `look_below`
    asked for less. `nodes` and `visits` (of points) measure its effort; `chunk` visits lie between two looks at the clock."""

    def __init__(
        self,
        Z: Array,
        weights: Index,
        W: Array | None = None,
        *,
        few: int = FEW,
        M: Array | None = None,
        scales: Array | None = None,
        stop: Stop | None = None,
        walls: Walls = NO_WALLS,
        help: Help | None = None,
    ) -> None:
        """Start from the rule W, if given; M is the whitening of Z, if known already. Lemmas about up to `few` points are proven by
        infeasible subsystems. `scales` are those of a larger matrix of which Z has some rows (`zero_one.scope`). `walls` are the rows of
        a cone, if the rules of one alone count; in Z they weigh more than all points together. `help` grows the tree in pieces, None
        in one. StoppedError when `stop()` before the points are rounded."""
        self.Z, self.weights, self.walls = np.ascontiguousarray(Z), weights, walls
        self.scales = column_scales(self.Z) if scales is None else scales
        self.total = int(weights.sum())
        self.M = generic(whitening_of(self.Z, self.scales) if M is None else M)
        self.n, self.r = len(self.Z), self.M.shape[1]
        if self.r > MAX_RANK:
            raise ValueError(f"box takes at most {MAX_RANK} dimensions; got {self.r}")
        self.points = RoundedPoints(*rounded_product(self.Z, self.M, QBITS, stop), weights)
        self.few = few
        self.work = BoxWork(self.Z, self.M, self.scales, self.points, few, walls, own_space)
        self.lemmas = self.work.lemmas()
        self.inverse: Array | None = None
        self.reaches_all = self.r == self.Z.shape[1] or rank(integer_matrix(self.Z), most=self.r) == self.r
        if not self.reaches_all and not walls.sides:
            self.inverse = inverse_within_margin(self.Z, self.M, self.scales, stop)
            self.reaches_all = self.inverse is not None
        self.tree = self.proven_tree = BoxTree.blank(0, 0, 0)
        self.help = help
        self.pieces = self.proven_pieces = {} if help is None else first_pieces(self.r)
        self.log: list[TaskRecord] = []
        self.setting_up: SettingUp | None = None
        self.lower, self.nodes, self.visits, self.cpu = 0, 0, 0, 0.0
        self.chunk = CHUNK
        self.best, self.best_W = self.total, self.M[:, 0].copy()
        if W is not None:
            self.offer(W)
        self._history: list[tuple[int, int]] = []  # (target, number of nodes) of the passes so far
        self._began = working_seconds()
        self._busy = 0.0  # seconds of earlier calls of `advance`
        self._since: float | None = None  # when the present one began, if there is one
        self._proven_visits = 0  # of the pass that proved `lower`
        self._pass: _Pass | PiecePass | None = None
        self._saver: Saver | None = None
        if help is not None and help.checkpoint is not None:
            self._saver = Saver(help.checkpoint, self.work)
            self._resume(self._saver, help)

    def _resume(self, saver: Saver, help: Help) -> None:
        """Go on from the state that an earlier process left, if it did."""
        found = saver.load()
        if found is None:
            return
        state, sets, lemmas = found
        for proof in lemmas:
            self.lemmas.add(proof)
        self.offer(np.array([float.fromhex(value) for value in state["rule"]]))
        self.lower, self._history = state["lower"], [(target, nodes) for target, nodes in state["history"]]
        self.proven_pieces, self.pieces = sets["proven"], sets["pieces"]
        if state["pass"] is not None:
            self._pass = PiecePass.resumed(self, state["pass"], sets["pass"], help)

    def keep(self, now: bool = False) -> None:
        """Write the state to disk, if it is kept there and the last one is old, or `now`."""
        if self._saver is None or not (now or self._saver.is_due):
            return
        current = self._pass if isinstance(self._pass, PiecePass) else None
        state = {
            "rule": [float(value).hex() for value in self.best_W],
            "lower": self.lower,
            "history": self._history,
            "pass": None if current is None else current.state(),
        }
        sets = {"proven": self.proven_pieces, "pieces": self.pieces, "pass": {} if current is None else current.pieces}
        self._saver.save(state, sets, self.lemmas.proofs)

    @property
    def finished(self) -> bool:
        """Whether the incumbent is proven optimal."""
        return self.lower >= self.best

    def offer(self, W: Array) -> bool:
        """Make W the incumbent if it costs less; a point counts as right only if its score is positive whatever rounding did."""
        loss = self.work.cost(W)
        if loss < self.best:
            self.best, self.best_W = loss, np.array(W, dtype=np.float64)
            return True
        return False

    def whole_tree(self) -> BoxTree:
        """The tree that proves `lower`, also where it was grown in pieces."""
        return joined(self.proven_pieces) if self.proven_pieces else self.proven_tree

    def look_below(self, cost: int) -> None:
        """Look for no rule that costs so much or more: the search ends once none costs less, with or without an incumbent."""
        self.best = min(self.best, cost)

    def advance(self, stop: Stop, goal: int | None = None, on_progress: Progress | None = None) -> bool:
        """Work until the goal (default: the cost of the incumbent) is proven, an incumbent costs less than it, or the grid of boxes is
        too coarse to prove more; False when stopped before."""
        began = self._since = working_seconds()
        try:
            return self._advanced(stop, goal, on_progress)
        finally:
            self._busy += working_seconds() - began
            self._since = None

    def _advanced(self, stop: Stop, goal: int | None, on_progress: Progress | None) -> bool:
        while True:
            wanted = self.best if goal is None else min(goal, self.best)
            if self.lower >= wanted:
                self.keep(now=self._saver is not None and self._saver.has_state)
                return True
            if self._pass is None:
                self._pass = self._begun(wanted if goal is not None else self._next_target(wanted))
            if not self._pass.advance(stop, on_progress):
                self.keep(now=True)
                return False
            proven = min(self._pass.target, self.best)
            if isinstance(self._pass, PiecePass):
                self.pieces = self._pass.pieces
            if self._pass.holes:
                if self._pass.target == proven:
                    if proven - self.lower <= max(1, int(wanted * SMALLEST_RETREAT)):
                        return True
                    self._history.clear()
                    proven = (self.lower + proven) // 2
                self._pass = self._begun(proven)  # with a better incumbent, or a lower target
                continue
            self._history.append((proven, self._pass.size))
            self.lower, self.proven_tree, self.proven_pieces = proven, self.tree, self.pieces
            self._proven_visits = self._pass.visits
            self._pass = None
            self.keep()
            if on_progress is not None:
                on_progress()

    def seconds_to_check(self, threads: int) -> float:
        """Seconds that so many threads may need to write down and check the tree of the present pass, or the proven one if that took more visits."""
        visits = max(self._proven_visits, 0 if self._pass is None else self._pass.visits)
        seconds = self._busy + (0.0 if self._since is None else working_seconds() - self._since)
        workers = 1 if self.help is None or self.help.crew is None else self.help.crew.workers
        return CHECK_SHARE * visits * seconds / max(1, self.visits) * workers / threads

    def outlook(self) -> dict[str, Any]:
        """The target of the present pass, the share of it that is done, boxes per second, and the seconds that may be left."""
        if self._pass is None:
            return {}
        target, share, rate = self._pass.target, self._pass.share, self._nodes_per_second()
        told = {"target": float(target), "share": round(share, 4), "nodes_per_second": round(rate, 1)}
        left = self.seconds_to_come()
        return told if left is None else {**told, "seconds_left": round(left, 1)}

    def seconds_to_come(self) -> float | None:
        """Seconds that the search may still take with those who are at work now; None when it cannot be told yet."""
        current, rate = self._pass, self._nodes_per_second()
        if current is None or rate == 0:
            return None
        left = nodes_to_come(self._history, self.best, current.target, current.share)
        return None if left is None else left / rate

    def _nodes_per_second(self) -> float:
        seconds = working_seconds() - self._began
        return self.nodes / seconds if seconds > 0 else 0.0

    def _begun(self, target: int) -> _Pass | PiecePass:
        """The pass towards a target."""
        return _Pass(self, target) if self.help is None else PiecePass(self, target, self.pieces, self.help)

    def _next_target(self, wanted: int) -> int:
        """The target of the next pass: the growth of the tree per unit of bound is extrapolated from the last two passes."""
        if not self._history:
            return max(self.lower + 1, ceil(wanted * FIRST_TARGET))
        step = max(1, int(wanted * FIRST_STEP))
        if len(self._history) > 1:
            (t0, n0), (t1, n1) = self._history[-2:]
            growth = max(log(max(n1, 2) / max(n0, 1)) / max(t1 - t0, 1), log(NODE_GROWTH) / wanted)
            step = max(1, int(wanted * SMALLEST_STEP), int(log(NODE_GROWTH) / growth))
            step = min(step, ceil(wanted * LARGEST_STEP))
        target = self.lower + step
        return wanted if target + step // 2 >= wanted else target

    def proof(self, rows: Positions | None = None) -> BoxProof:
        """The proof of `lower`, about the given rows of a larger matrix (default: its own rows)."""
        rows = np.arange(self.n) if rows is None else rows
        return BoxProof(
            rows, self.M, self.inverse, self.lower, self.proven_tree, self.proven_pieces, tuple(self.lemmas.proofs)
        )


def own_space(work: BoxWork, rows: Positions, W: Array) -> BoxSearch | None:
    """A search over some of the rows, if these span a smaller space than all rows do, exactly or within the relative margin."""
    walls = Walls(work.walls.sides, int((rows >= len(work.Z) - work.walls.behind).sum()))
    sub = BoxSearch(work.Z[rows], work.weights[rows], W, few=work.few, scales=work.scales, walls=walls)
    return sub if sub.r < work.M.shape[1] and sub.reaches_all else None


class _Pass:
    """One pass of a search: the tree is replayed and grown until it proves the target."""

    def __init__(self, search: BoxSearch, target: int) -> None:
        self.search, self.target = search, target
        self._faces = Boxes.faces(search.r)
        self._none = Boxes.blank(1, search.r)
        self.state = new_state(target, search.few)
        self.path = Path.empty(search.n, search.r)
        room = max(FIRST_NODES, len(search.tree.ops) * 2)
        self.out = BoxTree.blank(nodes=room, pairs=2 * room, lemmas=FIRST_LEMMAS)
        self._before = search.visits

    @property
    def visits(self) -> int:
        """Visits of points in this pass."""
        return self.search.visits - self._before

    @property
    def holes(self) -> int:
        """Number of boxes that could not be halved any more and that no lemma closes."""
        return int(self.state.holes)

    @property
    def share(self) -> float:
        """The share of the pass that is done: of the last tree's nodes, or of the faces where there was none."""
        if len(self.search.tree.ops):
            return float(self.state.read_nodes / len(self.search.tree.ops))
        return max(0.0, float(self.state.face) / len(self._faces.centre))

    @property
    def size(self) -> int:
        """Nodes of the tree."""
        return len(self.search.tree.ops)

    def advance(self, stop: Stop, on_progress: Progress | None) -> bool:
        """True when the pass is complete, though perhaps with holes; False when stopped."""
        from .kernels.grow import grow

        search, state = self.search, self.state
        while True:
            state.best, state.budget = search.best, search.chunk
            before = int(state.written_nodes)
            status = grow(
                search.points, self.path, self._faces, search.tree, search.lemmas.table, self.out, self._none, state
            )
            search.nodes += int(state.written_nodes) - before
            search.visits += search.chunk - int(state.budget)
            if status == BETTER:
                search.offer(search.M @ self.path.centre[state.depth])
                continue
            if status == FINISHED:
                search.tree = self.out.head(state.written_nodes, state.written_pairs, state.written_lemmas)
                return True
            if status == FULL:
                self.out = self.out.enlarged(state.written_nodes, state.written_pairs, state.written_lemmas)
            elif status == ASKING and not self._ask(stop):
                return False
            if on_progress is not None:
                on_progress()
            if stop():
                return False

    def _ask(self, stop: Stop) -> bool:
        """Look for a lemma about the members of the present box; False when stopped."""
        search, path, depth = self.search, self.path, int(self.state.depth)
        members = path.members[depth, : path.n_members[depth]]
        found = search.lemmas.find(members, int(self.state.need), stop, last_rule(search.M, path, depth))
        if found is None:
            return False
        self.state.refused = not found
        if search.lemmas.counterexample is not None:
            for W in nearby(search.M @ path.centre[depth], search.lemmas.counterexample):
                search.offer(W)
        return True
