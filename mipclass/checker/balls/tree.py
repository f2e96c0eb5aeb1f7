"""The tree of a proof by balls: its records in preorder, and the walk through them with either arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from ..arithmetic import Rejected, field, rationals, unpack
from ..patience import look

CLOSED, AGAIN = -1, -2
"""What a record says that branches on no point: nothing is left of its node, or the next record goes on with it."""

MOST_SHIFT = 500
"""Doublings or halvings of a unit, at most: float64 numbers of this size neither overflow nor vanish."""

Node = TypeVar("Node")


class Doubt(Exception):
    """The arithmetic at hand cannot decide: a number overflows, or is none of its kind."""


@dataclass(frozen=True)
class BallProblem:
    """The distinct points of a ramp loss, and the bound that is to be proven."""

    a: Fraction
    bound: Fraction
    theta: Fraction
    s: Fraction
    points: list[list[int]]  # z_ik 2^digits, of each distinct point
    digits: int
    costs: list[Fraction]
    labels: list[int]  # y_i, or 0 for each point where the offset is not free


def loss_of(m: Fraction, theta: Fraction, s: Fraction) -> Fraction:
    """The ramp loss of a margin."""
    return max(Fraction(0), 1 - m) if m >= s else 1 - s + theta * (s - m)


class Multipliers(NamedTuple):
    """Multipliers as whole multiples of 2^shift times the first or the second of the certificate's units, and the group of each point, 0 for none.

    Without any group, `groups` is None.
    """

    numbers: NDArray[Any]
    precise: bool
    shift: int
    groups: NDArray[Any] | None


class Rounds(Protocol, Generic[Node]):
    """Nodes and what a round of multipliers makes of them."""

    def root(self) -> Node:
        """All rules that cost less than the bound."""

    def round(self, node: Node, record: Multipliers) -> Node | None:
        """The node after a round of multipliers; None when it is closed."""

    def children(self, node: Node, point: int) -> tuple[Node, Node]:
        """The node with margin >= s of the point, and the one with margin <= s, which comes first in the tree."""


@dataclass(frozen=True)
class Records:
    """One entry of `ops` for each record, and its multipliers."""

    ops: list[int]
    multipliers: list[Multipliers]
    units: list[Fraction]
    points: int

    @classmethod
    def read(cls, lower: Any, points: int) -> Records:
        """The records of a certificate; Rejected when some of them are incomplete."""
        ops = unpack(field(lower, "ops", "lower"), "i4", "lower, ops").tolist()
        precise, shifts, grouped = (
            unpack(field(lower, name, "lower"), kind, f"lower, {name}").tolist()
            for name, kind in (("precise", "u1"), ("shifts", "i2"), ("grouped", "u1"))
        )
        kinds = {"coarse": "i4", "fine": "i8", "groups": "u1"}
        rows = [unpack(field(lower, name, "lower"), kind, f"lower, {name}") for name, kind in kinds.items()]
        needed = [len(ops) - sum(map(bool, precise)), sum(map(bool, precise)), sum(map(bool, grouped))]
        if not len(ops) == len(precise) == len(shifts) == len(grouped):
            raise Rejected("lower, ops", "expected one entry of precise, shifts and grouped for each record")
        if any(abs(shift) > MOST_SHIFT for shift in shifts):
            raise Rejected("lower, shifts", f"expected whole numbers from -{MOST_SHIFT} to {MOST_SHIFT}")
        if [len(row) for row in rows] != [count * points for count in needed]:
            raise Rejected("lower, ops", "expected one multiplier, and one group, of each point for each record")
        coarse, fine, groups = (iter(row.reshape(-1, points)) for row in rows)
        found = [
            Multipliers(next(fine if fine_ else coarse), bool(fine_), shift, next(groups) if has_groups else None)
            for fine_, shift, has_groups in zip(precise, shifts, grouped, strict=True)
        ]
        return cls(ops, found, rationals(field(lower, "units", "lower"), 2, "lower, units"), points)


def walk(records: Records, rounds: Rounds[Node]) -> int:
    """The number of records; Rejected unless every node is closed."""
    pending: list[Node | None] = [rounds.root()]  # None: below a node that is closed
    for number, (op, record) in enumerate(zip(records.ops, records.multipliers, strict=True)):
        look()
        place = f"record {number}"
        if not pending:
            raise Rejected("lower, ops", "the tree ends before its list of records does")
        if not AGAIN <= op < records.points:
            raise Rejected(place, "it branches on a point that does not exist")
        node = pending.pop()
        after = None if node is None else rounds.round(node, record)
        if op == CLOSED and after is not None:
            raise Rejected(place, "it does not close its node")
        if op == AGAIN:
            pending.append(after)
        elif op >= 0:
            pending.extend((None, None) if after is None else rounds.children(after, op))
    if pending:
        raise Rejected("lower, ops", "the tree ends before all of its nodes are closed")
    return len(records.ops)
