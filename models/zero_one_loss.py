"""The 0-1 loss and its binaries `error`, one per distinct point, which all constraints on rates share.

    error_i = 0  implies  y_i (w.x_i + b) >= 1              (FREE_MARGIN when no 0-1 loss fixes the scale)
    error_i = 1  implies  y_i (w.x_i + b) <= -1             only where a constraint could gain from a fake error

normalisation.py derives the box on (w, b) and the big-M constants of these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal

import numpy as np

from ..arrays import Array, Mask
from ..errors import InvalidInputError
from ..modelling.algebra import Term
from ..modelling.declaration import Declaration, Units
from ..modelling.expression import Variables
from ..modelling.model import Model
from .normalisation import FREE_MARGIN, WeightBox, check_scale_is_fixed, find_box, free_margin_note

MARGIN_TOLERANCE = 1e-6
"""With margin=1 a point counts as an error when y (w.x + b) < 1 - MARGIN_TOLERANCE, so that rounding does not decide."""

WRONG_MARGIN = 1.0 - 10 * MARGIN_TOLERANCE
"""With margin=1 a point with error_i = 1 must have y (w.x + b) <= WRONG_MARGIN where errors are two-sided: ten tolerances
below 1, so that a row satisfied within a solver's tolerance is still recounted as an error."""

MARGIN_NOTE = (
    "one row per point, y (w.x + b) >= margin, which has to hold where error is 0; the coefficient of error (big M) is large "
    "enough to lift the row for every rule within the bounds where error is 1"
)
SCALE_NOTE = (
    "the score of the mean point is limited, as the weights are: a rule and its multiples are one rule, and these limits choose a "
    "multiple so large that a margin of 1 is far above the tolerances of solvers"
)
"""What files say of the margin rows, and of the rows that fix the scale."""

On = Literal["all", "positives", "negatives"]


def _counted(on: On, y_pm1: Array, weights: Array) -> Array:
    """The weights of the points whose errors count, zero for the others."""
    keep = {"all": np.ones(len(y_pm1), bool), "positives": y_pm1 > 0, "negatives": y_pm1 < 0}[on]
    return np.where(keep, weights, 0.0)


@dataclass(frozen=True)
class ZeroOne(Term):
    """sum_i weight_i [point i is misclassified].

    margin=0 : scale-free; a point is an error when y (w.x + b) <= 0. It can be combined with homogeneous terms and
        constraints only.
    margin=1 : a point is an error when y (w.x + b) < 1. It can be combined with penalties and bounds on w.
    on : count errors of "all" points, of the "positives" or of the "negatives".
    big_m : replaces the constants that are derived from the data. With too large a value solvers may return points that
        satisfy the rows only within tolerances; the recount shows it.
    """

    on: On = "all"
    margin: Literal[0, 1] = 0
    big_m: float | None = None
    merges_points = True

    def __post_init__(self) -> None:
        if self.on not in ("all", "positives", "negatives"):
            raise InvalidInputError(f"ZeroOne(on=...) must be 'all', 'positives' or 'negatives'; got {self.on!r}.")
        if self.margin not in (0, 1):
            raise InvalidInputError(f"ZeroOne(margin=...) must be 0 (scale-free) or 1; got {self.margin!r}.")
        if self.big_m is not None and not self.big_m > 0:
            raise InvalidInputError(f"ZeroOne(big_m=...) must be positive; got {self.big_m!r}.")

    @property
    def is_scale_free(self) -> bool:  # type: ignore[override]
        """Errors depend on the sign of the margin only, which is so for margin=0."""
        return self.margin == 0

    def declare(self, d: Declaration, coefficient: float) -> None:
        error = declare_errors(d)
        weights = _counted(self.on, d.points.y_pm1, d.points.weights)
        d.builder.minimize(coefficient * (weights @ error))

    def encode(self, d: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
        return encode_errors(d, values)

    def errors(self, margins: Array) -> Mask:
        """Which margins y_i (w.x_i + b) are errors."""
        return margins < 1 - MARGIN_TOLERANCE if self.margin else margins <= 0

    def value(self, model: Model, values: Mapping[str, Any]) -> float:
        # fsum rounds once, whatever the order: the exact loss of a proof and its recount are the same float64.
        return fsum(_counted(self.on, model.y_pm1, model.weights)[self.errors(model.margins(values))].tolist())

    def formula(self) -> str:
        wrong = "margin_i < 1" if self.margin else "margin_i <= 0"
        return f"sum_i weight_i [{wrong}]" + ("" if self.on == "all" else f" over {self.on}")

    def latex(self) -> str:
        wrong = "y_i f(x_i) < 1" if self.margin else r"y_i f(x_i) \le 0"
        over = {"all": "i", "positives": "i: y_i = 1", "negatives": "i: y_i = -1"}[self.on]
        return rf"\sum_{{{over}}} c_i\, [{wrong}]"


def zero_one_margin(model: Model) -> Literal[0, 1]:
    """The margin of the model's 0-1 loss: 1, or 0 when errors are scale-free or there is no 0-1 loss."""
    margins = {term.margin for _, term in model.terms if isinstance(term, ZeroOne)}
    if len(margins) > 1:
        raise InvalidInputError("an objective cannot mix ZeroOne(margin=0) and ZeroOne(margin=1); choose one.")
    return margins.pop() if margins else 0


def is_error(model: Model, values: Mapping[str, Any]) -> Mask:
    """Which training points are errors at decoded values, in the sense of the model's 0-1 loss (scale-free without one)."""
    return ZeroOne(margin=zero_one_margin(model)).errors(model.margins(values))


def declare_errors(d: Declaration) -> Variables:
    """The shared binaries `error`, declared on first use."""
    if d.builder.has("error"):
        return d.builder["error"]
    check_scale_is_fixed(d.model)
    labels = d.points.first
    error = d.builder.binaries("error", labels=labels, note="1 where a point may be misclassified")
    loss_margin = zero_one_margin(d.model)
    box = find_box(d, loss_margin)
    scores, margin, limit = d.margins, loss_margin or FREE_MARGIN, np.array(np.inf)
    if box is not None:
        _declare_box(d, box)
        scores, margin, limit = d.margins * box.factor, box.margin, box.M
    else:
        d.notes.extend(free_margin_note(d.model, loss_margin))
    given = [term.big_m for _, term in d.model.terms if isinstance(term, ZeroOne) and term.big_m is not None]
    if given:
        d.builder.subject_to("margin", scores + given[0] * error >= margin, labels=labels, note=MARGIN_NOTE)
    else:
        rows = scores >= margin
        d.builder.subject_to("margin", rows, when=(error, 0), big_m=limit, labels=labels, note=MARGIN_NOTE)
    if any(constraint.two_sided for constraint in d.model.constraints):
        # A point on the boundary would count as an error in the program although predict may classify it correctly.
        wrong = WRONG_MARGIN if loss_margin else -margin
        note = "where error is 1, the point is really misclassified: a fake error could help a constraint"
        d.builder.subject_to("wrong", scores <= wrong, when=(error, 1), big_m=limit, labels=labels, note=note)
    return error


def _declare_box(d: Declaration, box: WeightBox) -> None:
    d.builder.tighten("w", lower=-box.reach, upper=box.reach)
    if d.builder.has("b") and np.isfinite(box.offset):
        centre = d.builder["b"] + box.mean @ d.builder["w"]
        d.builder.subject_to("centre_above", centre >= -box.offset, note=SCALE_NOTE)
        d.builder.subject_to("centre_below", centre <= box.offset, note="the other side of the same limit")
    d.notes.append(box.scope)
    d.units = Units(box.unit, box.mean)


def encode_errors(d: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
    """A start: the rule, scaled into the box where its scale is free, and the points that miss the margin there."""
    scaled = {name: np.asarray(values[name], dtype=np.float64) for name in ("w", "b") if name in values}
    if "w" not in scaled:
        return {}
    loss_margin = zero_one_margin(d.model)
    box = find_box(d, loss_margin)
    required = loss_margin or FREE_MARGIN
    if box is not None:
        required = box.margin / box.factor
        if d.model.is_scale_free and box.factor == 1.0:
            used = box.reach > 0
            if "b" in scaled:  # The offset takes over the part of constant columns, which the box leaves out.
                scaled["b"] = scaled["b"] + box.mean[~used] @ scaled["w"][~used]
                scaled["w"] = np.where(used, scaled["w"], 0.0)
            shares = np.abs(scaled["w"][used]) / box.reach[used]
            centre = np.abs(scaled.get("b", 0.0) + box.mean @ scaled["w"]) / box.offset if box.offset else 0.0
            largest = float(max(np.max(shares, initial=0.0), centre))
            if largest > 0:
                scaled = {name: value / largest for name, value in scaled.items()}
    margins = d.points.y_pm1 * d.model.rule.scores(scaled, d.points.X)
    return {**scaled, "error": (margins < required).astype(np.float64)}
