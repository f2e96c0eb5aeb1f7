"""Good first cards: a beam search for sparse real-valued rules, rounded along their rays, improved by moves on the lattice.

The beam keeps the best supports of each size and extends them by the features with the largest decrease that one Newton step
promises, g_j^2 / h_jj. A real rule v is rounded to v / s for several scales s. Moves change one weight to any other value, two
weights by one each, or exchange a feature for another one; the offset and the multiplier are optimal after each.
Liu, Zhong, Li, Seltzer and Rudin (FasterRisk, NeurIPS 2022) introduced beam search and rays for risk scores.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Index
from ...protocol.run import Run
from .cards import IMPROVEMENT, Card, Cards

BEAM_WIDTH = 8
"""Supports of each size that are kept."""

EXTENSIONS = 10
"""Features that each kept support is extended by."""

RAYS = 24
"""Scales at which a real rule is rounded."""

POLISHED = 4
"""Rounded cards that are improved by moves, the best first."""

EXCHANGED = 24
"""Features that are tried in the place of another one, those with the largest promised decrease, before all are."""


class CardSearch:
    """Incumbents of one solve: `best` is the best card so far."""

    def __init__(self, cards: Cards, run: Run) -> None:
        self.cards, self.run = cards, run
        self.form = cards.form
        self.best: Card | None = None
        zero = np.zeros(self.form.d)
        if ((self.form.lower <= 0) & (self.form.upper >= 0)).all():
            self.offer(self.cards.card(zero))

    def offer(self, card: Card) -> bool:
        """Keep the card if it is better than the best so far."""
        if np.isinf(card.objective):
            return False
        if self.best is not None and card.objective >= self.best.objective - IMPROVEMENT * abs(self.best.objective):
            return False
        self.best = card
        self.run.report(objective=card.objective)
        return True

    def search(self) -> None:
        """Beam search, rounding and moves, from scratch."""
        found = [card for v in self._beam() for card in self._rounded(v)]
        found.sort(key=lambda card: card.objective)
        done: set[bytes] = set()
        for card in found:
            if len(done) >= POLISHED or self.run.stop() is not None:
                break
            if card.w.tobytes() not in done:
                done.add(card.w.tobytes())
                self.offer(self.improved(card))

    # -- real-valued rules --------------------------------------------------------------------------------------------

    def relaxed(self, support: Index, start: Array) -> tuple[float, Array]:
        """(objective, point) of the best real rule in these features; the point has the offset and s at its end."""
        from .kernels.cone import relax

        form, d = self.form, self.form.d
        keep = np.append(support, d)
        lower, upper = np.append(form.lower, form.b_range[0])[keep], np.append(form.upper, form.b_range[1])[keep]
        signed = np.ascontiguousarray(self.cards.signed[keep])
        linear = np.zeros(len(keep))
        squares = self.cards.squares[keep]
        begin = start[np.append(keep, d + 1)]
        _, value, point = relax(
            signed, self.cards.c, lower, upper, self.cards.cone, linear, squares, begin, value_only(self.cards)
        )
        whole = np.zeros(d + 2)
        whole[keep], whole[-1] = point[:-1], point[-1]
        return float(value), whole

    def _beam(self) -> list[Array]:
        """Real rules of at most `most` features, the best of each size."""
        d = self.form.d
        start = np.zeros(d + 2)
        start[-1] = self.cards.cone.mean()
        value, point = self.relaxed(np.arange(0), start)
        kept: list[tuple[float, tuple[int, ...], Array]] = [(value, (), point)]
        rules: list[Array] = []
        must = tuple(map(int, np.flatnonzero((self.form.lower > 0) | (self.form.upper < 0))))
        for _ in range(self.form.most):
            tried: dict[tuple[int, ...], tuple[float, Array]] = {}
            for _, support, point in kept:
                for j in self._promising(support, point, must)[:EXTENSIONS]:
                    wider = tuple(sorted((*support, int(j))))
                    if wider not in tried and self.run.stop() is None:
                        tried[wider] = self.relaxed(np.array(wider), point)
            if not tried:
                break
            ordered = sorted(tried, key=lambda support: tried[support][0])[:BEAM_WIDTH]
            kept = [(tried[support][0], support, tried[support][1]) for support in ordered]
            rules += [point for _, _, point in kept[:2]]
        return [point for _, _, point in kept][::-1] + rules[::-1]

    def _promising(self, support: tuple[int, ...], point: Array, must: tuple[int, ...]) -> Index:
        """Features outside the support, by the decrease of the loss that a Newton step along each promises; `must` come first."""
        margins = point[:-1] @ self.cards.signed
        p = 1.0 / (1.0 + np.exp(np.clip(margins, -500, 500)))
        gain = self._decrease(p)
        gain[list(support)] = -np.inf
        gain[[j for j in must if j not in support]] = np.inf
        gain[(self.form.lower == 0) & (self.form.upper == 0)] = -np.inf
        order = np.argsort(-gain, kind="stable")
        return order[gain[order] > -np.inf]

    def _decrease(self, p: Array) -> Array:
        """g_j^2 / (2 h_jj) of each feature, about its weighted mean, at probabilities p of being wrong."""
        X, y, c = self.cards.X, self.cards.y, self.cards.c
        h = c * p * (1.0 - p)
        mean = h @ X / max(float(h.sum()), 1e-300)
        g = (c * p * y) @ X - float(c @ (p * y)) * mean
        curvature = h @ X**2 - float(h.sum()) * mean**2
        return np.asarray(g**2 / np.maximum(2.0 * curvature, 1e-12 * (1.0 + h @ X**2)))

    def _rounded(self, point: Array) -> list[Card]:
        """The real rule at several scales, rounded to whole weights; itself when weights need not be whole."""
        v = point[: self.form.d]
        if not self.form.whole:
            return [self.cards.card(np.clip(v, self.form.lower, self.form.upper))]
        found: dict[bytes, Array] = {}
        for s in self._scales(v, float(point[-1])):
            w = np.clip(np.round(v / s), self.form.lower, self.form.upper) + 0.0
            if np.count_nonzero(w) <= self.form.most:
                found[w.tobytes()] = w
        return [self.cards.card(w) for w in found.values()]

    def _scales(self, v: Array, s: float) -> Array:
        """Scales from the largest weights that fit down to weights of one."""
        if not self.form.has_free_multiplier:
            return np.array([1.0])
        sizes = np.abs(v[v != 0])
        if not len(sizes):
            return np.array([s])
        limits = np.where(v > 0, self.form.upper, -self.form.lower)[v != 0]
        least = float(np.max(sizes / np.maximum(limits, 0.5)))
        return np.clip(np.geomspace(0.8 * least, max(float(sizes.max()), least), RAYS), *self.cards.s_range)

    # -- moves on the lattice -----------------------------------------------------------------------------------------

    def improved(self, card: Card) -> Card:
        """The card after moves, until none lowers its objective."""
        if not self.form.whole or np.isinf(card.objective):
            return card
        while self.run.stop() is None:
            better = self._one_weight(card) or self._two_weights(card) or self._exchange(card)
            if better is None:
                return card
            card = better
        return card

    def _changes(self, j: int, now: float) -> Array:
        """All other weights that feature j may have, as differences."""
        values = np.arange(self.form.lower[j], self.form.upper[j] + 1.0)
        return np.asarray(values[values != now] - now)

    def _best_change(self, base: Array, t: Array, j: int, steps: Array, card: Card) -> Card | None:
        """The best card with base weights and scores t, feature j changed by one of the steps; None if no better than `card`."""
        from .kernels.moves import try_weights

        cards = self.cards
        trials = np.repeat(base[None, :], len(steps), axis=0)
        trials[:, j] += steps
        penalties = np.array([cards.penalty(w) for w in trials])
        found = np.zeros((len(steps), 3))
        found[:, 0] = min(card.objective, 1e300) - penalties
        start = np.array([card.b * card.s, card.s])
        try_weights(
            t, cards.columns[j], steps, cards.y, cards.c, cards.s_range, cards.b_range,
            self.form.whole_offset, cards.are_whole, start, found,
        )  # fmt: skip
        found[:, 0] += penalties
        if self.form.others:
            return self._first_admitted(trials, found[:, 0], card)
        k = int(np.argmin(found[:, 0]))
        if found[k, 0] >= card.objective - IMPROVEMENT * abs(card.objective):
            return None
        return Card(trials[k], float(found[k, 1]), float(found[k, 2]), float(found[k, 0]))

    def _first_admitted(self, trials: Array, losses: Array, card: Card) -> Card | None:
        """The first card better than `card` that satisfies the constraints which are no bounds; None when there is none."""
        for k in np.argsort(losses, kind="stable"):
            if losses[k] >= card.objective - IMPROVEMENT * abs(card.objective):
                return None
            found = self.cards.card(trials[k])
            if found.objective < card.objective - IMPROVEMENT * abs(card.objective):
                return found
        return None

    def _one_weight(self, card: Card) -> Card | None:
        """The best card after a change of one weight, new features included while there may be more."""
        t = self.cards.X @ card.w
        may_add = len(card.support) < self.form.most
        best = None
        for j in range(self.form.d) if may_add else card.support:
            better = self._best_change(card.w, t, int(j), self._changes(int(j), card.w[j]), best or card)
            best = better or best
        return best

    def _two_weights(self, card: Card) -> Card | None:
        """The first better card after a change of two weights by at most two each."""
        for i in card.support:
            for change in (-2.0, -1.0, 1.0, 2.0):
                if not self.form.lower[i] <= card.w[i] + change <= self.form.upper[i]:
                    continue
                base = card.w.copy()
                base[i] += change
                t = self.cards.X @ base
                for j in card.support[card.support > i]:
                    steps = np.array([-2.0, -1.0, 1.0, 2.0])
                    fits = (base[j] + steps >= self.form.lower[j]) & (base[j] + steps <= self.form.upper[j])
                    better = self._best_change(base, t, int(j), steps[fits], card) if fits.any() else None
                    if better is not None:
                        return better
        return None

    def _exchange(self, card: Card) -> Card | None:
        """The first better card with one feature exchanged for another; promising features are tried first."""
        margins = self.cards.y * (self.cards.X @ card.w + card.b) * card.s
        p = 1.0 / (1.0 + np.exp(np.clip(margins, -500, 500)))
        for i in card.support:
            if self.form.lower[i] > 0 or self.form.upper[i] < 0:
                continue
            base = card.w.copy()
            base[i] = 0.0
            t = self.cards.X @ base
            without = self.cards.y * (t * card.s + card.s * card.b)
            shift = 1.0 / (1.0 + np.exp(np.clip(without, -500, 500)))
            gain = np.maximum(self._decrease(p), self._decrease(shift))
            gain[card.support] = -np.inf
            order = np.argsort(-gain, kind="stable")
            for j in order[gain[order] > -np.inf][:EXCHANGED]:
                better = self._best_change(base, t, int(j), self._changes(int(j), 0.0), card)
                if better is not None:
                    return better
                if self.run.stop() is not None:
                    return None
        return None


def value_only(cards: Cards) -> float:
    """A cutoff just above any objective: the relaxation is then solved to a moderate accuracy and no bound is asked for."""
    return 1.001 * float(cards.c.sum()) * np.log(2.0)
