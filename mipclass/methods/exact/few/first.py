"""First rules with few features: forward selection with a beam, each set of features judged by a short local search."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....arrays import Array
from ....protocol.run import Run
from ..first_rules import improved_rule
from ..form import ProofForm

WIDTH = 6
"""Sets of features that are kept and extended by one feature each."""

MOST_SETS = 3_000
"""Sets of features that are judged, at most, if the beam is two sets wide or wider: some seconds."""

STEPS = 60
"""Line searches that judge a set of features; in two or three dimensions most local optima are found in fewer."""

POLISHED = 3
"""Best sets of each size that get a longer search."""


def first_rules_of_few(form: ProofForm, most: int, run: Run) -> Iterator[tuple[tuple[int, ...], Array]]:
    """(features, rule (w, b) over them) for sets of up to `most` features, smaller sets first. Plain problems only."""
    d = form.X.shape[1]
    width = max(1, min(WIDTH, MOST_SETS // max(1, d * most)))
    beam: list[tuple[int, ...]] = [()]
    yield (), np.array([1.0])
    yield (), np.array([-1.0])
    for size in range(1, most + 1):
        judged = []
        for features in dict.fromkeys(tuple(sorted({*kept, j})) for kept in beam for j in range(d) if j not in kept):
            if run.stop() is not None:
                return
            loss, rule = _judged(form.on_features(features), run, STEPS)
            judged.append((loss, features, rule))
        judged.sort(key=lambda item: item[:2])
        beam = [features for _, features, _ in judged[:width]]
        for _, features, rule in judged[:POLISHED] if size == most else judged[:1]:
            yield features, rule
            alone = form.on_features(features)
            if len(alone.data.Z):
                yield features, improved_rule(alone.data, rule, run)


def ranked_features(form: ProofForm, run: Run) -> list[int]:
    """All features, the one with the least errors of its own first."""
    losses = [_judged(form.on_features((j,)), run, STEPS)[0] for j in range(form.X.shape[1])]
    return sorted(range(len(losses)), key=lambda j: (losses[j], j))


def _judged(form: ProofForm, run: Run, steps: int) -> tuple[float, Array]:
    """A rule over the features of the form by a short local search, and its loss."""
    from ...zero_one.local import local_search

    data = form.data
    if not len(data.Z):
        return float(data.constant), np.append(np.zeros(form.X.shape[1]), 1.0)
    found = local_search(data, None, run.seed, steps=steps, patience=steps // 2, smooth=False)
    return data.value(found.loss), np.append(*data.rule(found.w))
