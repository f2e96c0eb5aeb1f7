"""The losses under which boxes are closed when limits on errors leave a gap to all prices, and the certificate of such a proof.

The losses are the priced one, the objective alone, and each limit alone (`priced_form`), all in the coordinates of one map
(`box.limited`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from ...arrays import Array, Positions
from ...certificates.certificate import floats, fraction, pack
from ...protocol.run import Run
from ..zero_one.prepared import ZeroOneData, prepare
from ..zero_one.scope import column_scales
from .box.cone import Cone
from .box.copies import copied_rows
from .box.kernels.state import BoxTree
from .box.limited import LimitedBoxes, Loss
from .box.parts import Part
from .box.piece_pass import Help
from .box.proof import tree_content
from .box.search import MAX_RANK, generic
from .helping import help_of
from .joint import JointLemmas
from .priced_form import PricedForm, priced_form
from .prices import RulePool
from .provers import BoxProver
from .rational import StoppedError, integer_matrix, rank

NEAR_PRICES = (Fraction(1, 2), Fraction(3, 2))
"""Other prices at which boxes are closed, as multiples of the best ones: where a limit has room to spare errors count less, where it is
nearly exceeded they count more."""


@dataclass(frozen=True, eq=False)
class _Case:
    """One loss: its plain problem, the points that decide something, and the loss over these and the rows on (w, b), if there are any."""

    form: PricedForm
    points: Positions
    loss: Loss

    @property
    def unit(self) -> Fraction:
        """What one weight stands for."""
        return self.form.data.proof_counts.unit

    def target(self, to_exceed: Fraction) -> int:
        """The least whole cost with a bound above `to_exceed` (of the objective; zero for limits alone)."""
        form = self.form
        needed = (to_exceed if form.objective else Fraction(0)) + form.shift
        return floor((form.factor * needed - form.data.constant) / self.unit) + 1

    def bound(self, target: int) -> Fraction:
        """What a cost of at least `target` says about the limited problem."""
        return self.form.bound(self.form.data.constant + self.unit * target)

    def content(self) -> dict[str, Any]:
        """The loss as a certificate holds it."""
        form, factor = self.form, self.form.factor
        return {
            "objective": form.objective,
            "prices": [fraction(price) for price in form.prices],
            "constant": fraction(form.data.constant / factor),
            "unit": fraction(self.unit / factor),
            "points": self.points.tolist(),
            "weights": self.loss.weights[: len(self.points)].tolist(),
            "row_weight": int(self.loss.weights[-1]),
            "lemmas": [lemma.content(form.data) for lemma in self.loss.lemmas.proofs],
        }


class LimitedProof:
    """A search over boxes that are closed by prices, by the objective or by a limit."""

    def __init__(
        self,
        cases: list[_Case],
        data: ZeroOneData,
        M: Array,
        pool: RulePool,
        cone: Cone | None,
        tree: BoxTree | None = None,
        help: Help | None = None,
    ) -> None:
        """help : workers, if there are any.    M : the map W = M V over the columns of `data`.    tree : one under the first loss, to be grown further."""
        self._cases, self._data, self._M, self._pool, self._cone = cases, data, M, pool, cone
        self._joint = JointLemmas(pool, data.over_all_features(M))
        losses = [case.loss for case in cases]
        self.search = LimitedBoxes(losses, self._targets, self._offer, self._joint.close, tree, help)

    @classmethod
    def begun(cls, priced: PricedForm, pool: RulePool, boxes: BoxProver | None, run: Run) -> LimitedProof | None:
        """A search that has not begun; None where boxes have too many dimensions or lose rules, or when the run has to stop.

        boxes : a search that proved something at the prices of `priced`, which is to go on.
        """
        form, cone = priced.limited, priced.limited.cone
        data = prepare(form.X, form.y, np.ones(len(form.y)), cancel=False, keep_columns=cone is not None)
        goes_on = boxes is not None and _goes_on(boxes, priced, data)
        if boxes is not None and goes_on:
            data, M, tree = boxes.data, boxes.search.M, boxes.search.whole_tree()
        else:
            M, tree = generic(data.map if cone is None else cone.over(data).map(data)), None
        Z = data.Z if cone is None else np.vstack([data.Z, cone.over(data).rows])
        r = M.shape[1]
        if not 0 < r <= MAX_RANK or not (r == Z.shape[1] or rank(integer_matrix(Z), most=r) == r):
            return None
        wide = data.over_all_features(M)
        try:
            cases = [_case(part, wide, run) for part in _losses(priced) if len(part.data.Z)]
        except StoppedError:
            return None
        if boxes is not None and goes_on:
            cases[0] = _Case(priced, boxes.points, Loss(boxes.search.work, boxes.search.lemmas))
        found = [case for case in cases if case is not None]
        return cls(found, data, M, pool, form.cone, tree, help_of(run)) if len(found) == len(cases) else None

    def _to_exceed(self) -> Fraction:
        return self._pool.to_exceed() * self._pool.unit

    def _targets(self) -> list[int]:
        return [case.target(self._to_exceed()) for case in self._cases]

    def _offer(self, V: Array) -> None:
        self._pool.take(np.append(*self._data.rule(self._M @ V)))

    def bound(self) -> Fraction:
        """What a complete search proves: the least bound among parts that count the objective, and among joint lemmas; more than all points
        cost together when there are none, so that no rule keeps the limits."""
        counted = [part for part in self.search.parts if self._cases[part.loss].form.objective]
        bounds = [self._cases[part.loss].bound(part.target) for part in counted]
        if self._joint.lowest is not None:
            bounds.append(self._pool.cover.unit * self._joint.lowest)
        return min(bounds, default=self._pool.total * self._pool.unit + 1)

    def lower(self, bound: Fraction) -> dict[str, Any]:
        """The lower part of a certificate."""
        margins = [lemma.relative_margin for case in self._cases for lemma in case.loss.lemmas.proofs]
        margins += [lemma.proof.relative_margin for lemma in self._joint.lemmas]
        cover = self._pool.cover
        return {
            "kind": "limited",
            "bound": fraction(bound),
            **({} if self._cone is None else {"interior": floats(self._cone.interior)}),
            "relative_margin": fraction(max(margins, default=Fraction(0))),
            "columns": self._M.shape[1],
            "map": floats(self._data.over_all_features(self._M)),
            "losses": [case.content() for case in self._cases],
            "joint": {
                "constant": "0",
                "unit": fraction(cover.unit),
                "points": cover.points.tolist(),
                "weights": cover.costs.tolist(),
                "lemmas": [lemma.content() for lemma in self._joint.lemmas],
            },
            "parts": [_content(part) for part in self.search.parts],
        }


def _goes_on(boxes: BoxProver, priced: PricedForm, data: ZeroOneData) -> bool:
    """Whether a search at these prices has all points, each of them with a cost, in coordinates that reach every rule."""
    search = boxes.search
    has_all = boxes.data is priced.data and len(boxes.data.Z) == len(data.Z) and boxes.data.proof_counts.counts.all()
    return bool(has_all) and search.reaches_all and search.inverse is None and search.lower > 0


def _losses(priced: PricedForm) -> list[PricedForm]:
    """The priced loss, others at lower and higher prices, the objective alone and each limit alone."""
    form, prices = priced.limited, priced.prices
    zero = tuple(Fraction(0) for _ in prices)
    alone = [tuple(Fraction(int(j == k)) for j in range(len(prices))) for k in range(len(prices))]
    near = [priced_form(form, tuple(factor * price for price in prices)) for factor in NEAR_PRICES if any(prices)]
    return [priced, *near, priced_form(form, zero), *(priced_form(form, one, objective=0) for one in alone)]


def _case(form: PricedForm, M: Array, run: Run) -> _Case | None:
    """The loss of a plain problem; None where its weights and those of the rows on (w, b) do not add up in 64 bits."""
    data, cone = form.data, form.cone
    used = data.proof_counts.counts > 0
    rows, weights = copied_rows(data.proof_counts.counts[used])
    points = data.representatives[used][rows]
    labels = form.y[points]
    Z = np.column_stack([form.X[points] * labels[:, None], labels])
    scales = column_scales(np.column_stack([form.X, np.ones(len(form.X))]))
    if cone is None:
        return _Case(form, points, Loss.over(Z, weights, M, scales, run.stop))
    if not cone.fits(weights):
        return None
    return _Case(form, points, Loss.over(*cone.among(Z, weights), M, scales, run.stop, cone.walls))


def _content(part: Part) -> dict[str, Any]:
    return {
        "loss": part.loss,
        "target": part.target,
        "handed_to": pack(part.handed_to.astype(np.int32)),
        "tree": tree_content(part.tree),
    }
