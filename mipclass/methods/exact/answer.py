"""From a proof to an Outcome: what the proving methods share at the end, their common options, and when they stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from ...arrays import Array
from ...certificates.certificate import Statement, certificate, fraction
from ...models.zero_one_loss import MARGIN_TOLERANCE
from ...protocol.options import Option, a_path, number, one_of, optional
from ...protocol.result import Claim, Outcome, Status
from ...protocol.run import Run
from ..zero_one.scope import scope_in_words
from .form import ProofForm
from .sums import Sums

PROOF_OPTIONS: dict[str, Option] = {
    "certificate": Option(True, "attach a certificate, which the driver then checks", one_of(True, False)),
    "node_limit": Option(None, "stop after this many nodes; None for no limit", optional(number(1, integer=True))),
    "local_steps": Option(20_000, "line searches for the first incumbent", number(0, integer=True)),
}

KEPT_OPTIONS: dict[str, Option] = {
    **PROOF_OPTIONS,
    "checkpoint": Option(
        None, "folder in which a proof is kept, and from which it goes on; None for none", optional(a_path)
    ),
}

CLOSED = Fraction(1, 10**9)
"""Fraction of the loss by which a bound may lie below it and still prove it: costs whose sum needs more than 60 binary digits (52
beside side constraints) are rounded down to be counted (`zero_one.costs`), and with more different costs than `sums` can list the bound stays below the loss."""


UNSETTLED = (
    "the search is done, but its bound of {bound:.10g} does not meet the loss of {loss:.10g}: some points are right or wrong by less than "
    "float64 resolves and by more than the relative margin of 2^-40 that a proof may state. Round the features to the digits that were "
    "measured, or divide each by its unit; with few features solver='pcs' may close the gap in floating point"
)
"""What a numerical error of the proving methods means, and what to do about it."""

EXACT_MARGIN = (
    "among rules whose right points have a margin of at least 1 in the values of X as they are stored; "
    f"a recount also counts margins down to 1 - {MARGIN_TOLERANCE:g} as right"
)
NO_TIES = "among rules that put no point on the boundary whose error would help to keep a constraint"
"""What a proof leaves out although a recount allows it."""


def stopper(run: Run, nodes: Callable[[], int], until: Callable[[], bool] | None = None) -> Callable[[], Status | None]:
    """A function that says why to stop: the run's limits, its node limit, or OPTIMAL once `until()`; None to go on."""
    limit = run.options.get("node_limit")

    def stop() -> Status | None:
        status = run.stop()
        if status is None and limit is not None and nodes() >= limit:
            status = Status.NODE_LIMIT
        if status is None and until is not None and until():
            status = Status.OPTIMAL
        return status

    return stop


def answer(
    form: ProofForm,
    run: Run,
    *,
    rule: tuple[Array, float] | None,
    lower: Mapping[str, Any],
    stopped: Status | None,
    nodes: int,
    infeasible: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> Outcome:
    """The Outcome: the rule counted exactly, the proven bound, and the certificate with both.

    lower : the lower part of a certificate, with the proven bound.   stopped : why the search ended early, if it did.
    """
    loss = None if rule is None else form.exact_loss(*rule)
    lower = lower if loss is None else _rounded_up(form, lower, loss)
    bound = Fraction(lower["bound"])
    relative_margin = Fraction(lower.get("relative_margin", 0))
    if relative_margin and loss is not None and bound > loss:
        # The rule gets points right by less than the margin, and so beats every rule that the bound speaks of.
        bound = loss
        lower = {**lower, "bound": fraction(loss)}
    attached = None
    if run.options.get("certificate", True):
        positive = "larger" if form.problem.data.positive_is_larger else "smaller"
        attached = certificate(form.X, form.y, form.statement, rule=rule, loss=loss, lower=lower, positive=positive)
    told = {**(extra or {}), "scope": _scope(form.statement, relative_margin)}
    said: dict[str, Any] = {"nodes": nodes, "certificate": attached, "extra": told, "unit": 0.0}
    if infeasible:
        return Outcome(Status.INFEASIBLE, "proven", None, None, float("inf"), **said)
    if rule is None or loss is None:
        return Outcome(stopped or Status.NUMERICAL_ERROR, "none", None, None, float(bound), **said)
    missing = loss - bound
    # A bound above the loss would be a mistake of the search; it proves nothing.
    closed = 0 <= missing <= CLOSED * loss
    within = 0 <= missing <= Fraction(run.gap) * loss
    claim: Claim = "proven" if closed else "heuristic"
    status = Status.OPTIMAL if closed or within else stopped or Status.NUMERICAL_ERROR
    if status is Status.NUMERICAL_ERROR:
        said["raw_status"] = UNSETTLED.format(bound=float(bound), loss=float(loss))
    values = {"w": np.asarray(rule[0], dtype=np.float64), "b": np.asarray(rule[1], dtype=np.float64)}
    return Outcome(status, claim, values, float(loss), float(bound), **said)


def _scope(statement: Statement, relative_margin: Fraction) -> str:
    """Which rules the bound speaks of, in words; empty when it speaks of every rule."""
    parts = [scope_in_words(relative_margin)]
    if statement.margin:
        parts.append(EXACT_MARGIN)
    if any((np.asarray(coefficients) < 0).any() for coefficients, _ in statement.limits):
        parts.append(NO_TIES)
    return "; ".join(part for part in parts if part)


def _rounded_up(form: ProofForm, lower: Mapping[str, Any], loss: Fraction) -> Mapping[str, Any]:
    """The same proof with the loss as its bound, when no sum of costs lies from the bound up to the loss and features cost nothing."""
    unit = form.costs.unit
    bound = Fraction(lower["bound"])
    if form.statement.feature_cost or not 0 < loss - bound <= CLOSED * loss:
        return lower
    reached = Sums(form.costs.whole.tolist()).least_from(ceil(bound / unit))
    return {**lower, "bound": fraction(loss)} if unit * reached == loss else lower
