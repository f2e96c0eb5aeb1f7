"""What a leg of the homotopy is: its task, its clock, its rates of change and its log of events.

A leg drives some multipliers by v and the levels by dp, dq per unit of t, from clock.t to t_end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays import Array, Index, Mask
from .active_set import ActiveSet
from .compiled import inner_kernel
from .partition import EDGE, States

# What a leg does: it moves the levels, lowers theta, drives inliers out, or drives one outlier in.
LEVELS, CONTINUOUS, FALL, RISE = 0, 1, 2, 3
# Why a leg stopped: it reached t_end, a point met the cut-off, the log or the factor has no room, it makes no progress,
# it made as many changes of state as it was allowed, or its next step would leave the ball in which it may move.
FINISHED, TIED, LOG_FULL, FACTOR_FULL, STALLED, BUDGET, OUTSIDE = 0, 1, 2, 3, 4, 5, 6
POINT, STATE, KEPT, START = range(4)  # rows of a log's marks


class Leg(NamedTuple):
    """The task of a leg.

    kind : LEVELS, CONTINUOUS, FALL or RISE.    moving : the one driven point of a RISE, else -1.
    v_index, v : the driven points and their rates.
    drive : what the operator makes of v (see operators): Z'v for rows, Qv for a Gram matrix.
    dp, dq : (n,) rates of the levels.          t_end : where it ends.      budget : most changes of state.
    """

    kind: int
    moving: int
    v_index: Index
    v: Array
    drive: Array
    dp: Array
    dq: Array
    t_end: float
    budget: int


class Ball(NamedTuple):
    """Where w may go: not farther than `radius`, a (1,) array, from where it was when the working set was chosen.

    way : what w has moved since then; it is empty for a Gram matrix, whose radius is infinite.
    look : (1,) the radius of the list of points that legs look at (see nearness), which they adapt; infinite for no list.
    """

    way: Array
    radius: Array
    look: Array

    @classmethod
    def whole(cls, d: int) -> Ball:
        """The whole space."""
        return cls(np.zeros(d), np.array([np.inf]), np.array([np.inf]))


class Clock(NamedTuple):
    """Scalars that change during a leg and survive an interruption; each is a (1,) array.

    t : the parameter.   changes : changes of state.   idle : those since the last step of positive length.
    random : state of a multiplicative congruential generator.   equals : candidates at no distance in this ratio test.
    """

    t: Array
    changes: Index
    idle: Index
    random: Array
    equals: Array

    @classmethod
    def at(cls, t: float) -> Clock:
        """A clock that stands at t and has counted nothing."""
        return cls(np.array([t]), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones(1), np.zeros(1))

    def reset(self, t: float) -> Clock:
        """The same clock, set to t with nothing counted."""
        self.t[0], self.changes[0], self.idle[0], self.random[0], self.equals[0] = t, 0, 0, 1.0, 0.0
        return self


class Motion(NamedTuple):
    """Rates per unit of t: da (of the active multipliers), dm (of all margins) and dw (of w; empty for a Gram matrix)."""

    da: Array
    dm: Array
    dw: Array


class Change(NamedTuple):
    """The next change of state: after `step`, point `who` gets the state `to`; who = -1 when the leg ends first."""

    step: float
    who: int
    to: int


class Log(NamedTuple):
    """The events of a CONTINUOUS leg, one entry per change of state, in arrays that the caller enlarges.

    t : the parameter at the event.       marks : (4, events + 1), with these rows:
        POINT, STATE : the point (-1: the end) and its new state.
        KEPT : 1 where the event is a breakpoint; its changes of multipliers since the breakpoint before it are
        START : where they begin, (which, change)[START of e : START of e + 1].
    events, entries : (1,) arrays, the number of events and of entries of `which`.
    """

    t: Array
    marks: Index
    which: Index
    change: Array
    events: Index
    entries: Index

    @classmethod
    def empty(cls, events: int = 256, entries: int = 1 << 14) -> Log:
        """A log without events, with room for this many events and entries."""
        whole = np.int64
        return cls(
            t=np.empty(events), marks=np.zeros((4, events + 1), dtype=whole),
            which=np.empty(entries, dtype=whole), change=np.empty(entries),
            events=np.zeros(1, dtype=whole), entries=np.zeros(1, dtype=whole),
        )  # fmt: skip

    def clear(self) -> None:
        """Forget all events."""
        self.events[0] = self.entries[0] = 0

    def grown(self, active: int) -> Log:
        """The same events with twice the room, and room for the changes of `active` multipliers at four more events."""
        more = max(len(self.which), 4 * active)
        return self._replace(
            t=np.concatenate([self.t, np.zeros_like(self.t)]), marks=np.hstack([self.marks, np.zeros_like(self.marks)]),
            which=np.concatenate([self.which, np.zeros(more, dtype=np.int64)]),
            change=np.concatenate([self.change, np.zeros(more)]),
        )  # fmt: skip


class Pending(NamedTuple):
    """Changes of multipliers since the last breakpoint: change (n,) and the points `touched`, of which `listed` is the mask.

    All arrays are empty in legs that keep no log; `size` is a (1,) array, the length of `touched`.
    """

    change: Array
    listed: Mask
    touched: Index
    size: Index


@inner_kernel
def is_full(log: Log, pending: Pending, k: int) -> bool:
    """Whether the log might have no room for the next event with k active points."""
    entries = log.entries[0] + 2 * (k + pending.size[0])
    return entries > log.which.shape[0] or log.events[0] + 1 >= log.t.shape[0]


@inner_kernel
def note(log: Log, pending: Pending, active_set: ActiveSet, change: Change, da: Array, t: float) -> None:
    """Log an event at t that is not yet a breakpoint; the changes of the active multipliers become pending."""
    for c in range(active_set.size[0]):
        i = active_set.active[c]
        if not pending.listed[i]:
            pending.listed[i] = True
            pending.touched[pending.size[0]] = i
            pending.size[0] += 1
        pending.change[i] += change.step * da[c]
    e = log.events[0]
    log.t[e] = t
    log.marks[POINT, e] = change.who
    log.marks[STATE, e] = change.to
    log.marks[KEPT, e] = 0
    log.marks[START, e + 1] = log.entries[0]
    log.events[0] = e + 1


@inner_kernel
def keep(log: Log, pending: Pending) -> None:
    """Make the last event of the log a breakpoint, with the changes that are pending."""
    e = log.events[0]
    if pending.change.shape[0] == 0 or e == 0:
        return
    to = log.entries[0]
    count = pending.size[0]
    for c in range(count):
        i = pending.touched[c]
        log.which[to + c] = i
        log.change[to + c] = pending.change[i]
        pending.change[i] = 0.0
        pending.listed[i] = False
    log.entries[0] = to + count
    log.marks[START, e] = to + count
    log.marks[KEPT, e - 1] = 1
    pending.size[0] = 0


@inner_kernel
def no_changes(n: int) -> Pending:
    """Nothing pending among n points."""
    return Pending(np.zeros(n), np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int64), np.zeros(1, dtype=np.int64))


@inner_kernel
def put_rates_of_levels(leg: Leg, state: States, active_set: ActiveSet, out: Array) -> None:
    """out[c] = the rate of the level at which active point c stays: p on the edge, q at the cut-off."""
    dp, dq, active = leg.dp, leg.dq, active_set.active
    for c in range(active_set.size[0]):
        i = active[c]
        out[c] = dp[i] if state[i] == EDGE else dq[i]
