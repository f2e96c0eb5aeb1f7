"""The plain 0-1 loss proven: separability first, then a good rule, then a race of provers.

On small data the good rule is the one of `quick` at first. The searches that `first_rule` would compile are called when the race has
not ended after a while, and the provers then go on with what they find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...protocol.result import Outcome, Status
from ...protocol.run import Run
from ..zero_one.prepared import ZeroOneData
from ..zero_one.widest import separating_rule
from .answer import answer
from .box.search import MAX_RANK
from .first_rules import first_rule, initial_rule
from .form import ProofForm
from .helping import help_of
from .provers import BoxProver, IISProver, Prover, trivial_lower
from .quick import is_small, quick_rule
from .race import UNLIMITED, Purpose, Race
from .rational import StoppedError
from .remote import RemoteIIS

BOX_ALONE = 8
"""Features up to which boxes need no help from infeasible subsystems, unless the loss is small."""

SMALL_LOSS = 20
"""Loss, as a number of errors of average weight, up to which infeasible subsystems may prove it sooner than boxes, whatever the number of features."""

SHORT_RACE = 60
"""Looks at the clock (`race.LOOKS`) of the provers on small data before the compiled searches are called: a few seconds, less than compiling them takes."""

BOX_AT_MOST = 9
"""Features beyond which boxes take longer than most callers can wait: their number grows exponentially."""


def provers_for(n_features: int, loss: float) -> tuple[str, ...]:
    """Boxes are fast in few dimensions whatever the loss, subsystems in any dimension when the loss is small."""
    if n_features > BOX_AT_MOST:
        return ("iis",)
    return ("box",) if (n_features <= BOX_ALONE and loss > SMALL_LOSS) or n_features <= 2 else ("iis", "box")


@dataclass(frozen=True, eq=False)
class PlainProof:
    """What the provers of a plain problem found: a rule (w, b) in the user's units, the lower part of a certificate, why they were
    stopped early, if they were, and their nodes; and the boxes of the last race, if there were any."""

    rule: tuple[Array, float]
    lower: dict[str, Any]
    stopped: Status | None
    nodes: int
    extra: dict[str, Any]
    boxes: BoxProver | None = None


def prove_plain(form: ProofForm, run: Run, names: Sequence[str] | None) -> Outcome:
    """The plain problem by the named provers, or by those that suit it."""
    found = plain_proof(form, run, names)
    return answer(
        form, run, rule=found.rule, lower=found.lower, stopped=found.stopped, nodes=found.nodes, extra=found.extra
    )


def plain_proof(
    form: ProofForm,
    run: Run,
    names: Sequence[str] | None,
    start: Array | None = None,
    purpose: Purpose | None = None,
) -> PlainProof:
    """A rule and a proven bound of the plain problem, or of its rules in a cone: separability first, then a race from the rule `start`.

    start : (w, b) over all features; None looks for one by local and swap search.   purpose : see `race.Purpose`.
    """
    data = form.data
    separating = separating_rule(data, run)
    if separating is not None:
        W = np.append(*data.rule(separating))
        if form.cone is not None and not len(data.Z):
            W = form.cone.interior
        if form.cone is None or form.cone.has(W):
            return PlainProof(form.finished_rule(data, W, run), trivial_lower(data), None, 0, {})
    waits = start is None and form.cone is None and is_small(data) and run.options.get("local_steps", 0) > 0
    if waits:
        start = np.append(*data.rule(quick_rule(data, initial_rule(data, run), run.seed)))
    elif start is None:
        start = first_rule(data, run, form.cone)
    if names is None:
        cost = data.masses.sum(data.Z @ data.restricted(start) <= 0)
        names = provers_for(len(data.columns), form.errors_at_average_cost(cost))
    if form.cone is not None and not form.cone.has(start):
        start = form.cone.interior
    has_boxes = _has_boxes(form, data)
    names = [name for name in names if name != "box" or has_boxes] or ["iis"]
    nodes = 0
    while True:
        finer = data.finer_for(data.restricted(start))
        data = data if finer is None else finer
        try:
            race, lead, stopped = _raced(form, run, names, data, start, purpose, waits)
        except StoppedError:
            rule = form.finished_rule(data, start, run)
            return PlainProof(rule, trivial_lower(data), run.stop(), nodes, {})
        nodes += race.nodes
        start = race.best_rule()
        if stopped is not None or data.finer_for(data.restricted(start)) is None:
            break
    log = [task for prover in race.provers for task in prover.log]
    return PlainProof(
        form.finished_rule(data, start, run),
        lead.proof(),
        stopped,
        nodes,
        {
            "proof_by": lead.name,
            **{f"bound_{p.name}": race.cost(p.lower) for p in race.provers},
            **({"tasks": tuple(log)} if log else {}),
        },
        next((prover for prover in race.provers if isinstance(prover, BoxProver)), None),
    )


def _has_boxes(form: ProofForm, data: ZeroOneData) -> bool:
    """Whether the sums of a box search stay exact."""
    if form.cone is None:
        return data.Z.shape[1] <= MAX_RANK
    return data.Z.shape[1] <= MAX_RANK and form.cone.fits(data.proof_counts.counts)


def _raced(
    form: ProofForm,
    run: Run,
    names: Sequence[str],
    data: ZeroOneData,
    start: Array,
    purpose: Purpose | None,
    waits: bool,
) -> tuple[Race, Prover, Status | None]:
    """The race of the named provers from a rule, the prover with the best proof, and why they were stopped, if they were.

    waits : a better rule than `start` is looked for when the provers are not done after a while.
    StoppedError when the run has to stop before they are set up.
    """
    if run.stop() is not None:
        raise StoppedError
    remote = None
    helping = help_of(run)
    if helping is not None and helping.crew is not None and len(names) > 1:
        remote = RemoteIIS(form.cover(data), run.seed, start)
        names = [name for name in names if name != "iis"]
    provers: list[Prover] = [
        BoxProver(data, run.stop, None if form.cone is None else form.cone.over(data), helping, copies=form.copies)
        if name == "box"
        else IISProver(form.cover(data), run.seed, run)
        for name in names
    ]
    for prover in provers:
        prover.offer(start)
        if form.cone is not None and prover.best is None:
            prover.offer(form.cone.interior)
    race = Race(data, run, provers, remote, purpose)
    try:
        stopped = race.run_all(SHORT_RACE if waits else UNLIMITED)
        if waits and stopped is None and not race.is_done():
            race.offer(first_rule(data, run, start=race.best_rule()))
            stopped = race.run_all()
        return race, race.leader(), stopped
    finally:
        if remote is not None:
            remote.close(want_proof=False)
