"""Which of the compared methods to use, and what to type next.

A method is as good as the best one when its mean test error is within one standard error (spread / sqrt(folds)) of it. Of those the
simplest is recommended: a linear rule before others, then the lower test error; of equals one that `mipclass fit` makes, the first listed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .compare import Comparison, Row

MODELS = {"0-1 loss": "zero-one", "polyhedral": "polyhedral", "outlier path": "robust-svm", "RGD-tree": "outlier-svm"}
"""First words of a method's name -> `mipclass fit --model`; tau-FPL takes its limit too."""


@dataclass(frozen=True)
class Recommendation:
    """The row to use, those that are as good, and the reason in words."""

    row: Row
    as_good: tuple[Row, ...]
    text: str

    def command(self, about: str) -> str:
        """What to type next, where `about` names the file and its columns."""
        if not self.row.ours:
            return f"scikit-learn's {self.row.name} (most often chosen: {self.row.most_often_chosen or 'its defaults'})"
        name = next((model for words, model in MODELS.items() if self.row.name.startswith(words)), "tau-fpl")
        limit = f"--fpr {self.row.name.rpartition('= ')[2]}" if name == "tau-fpl" else self.row.options
        return f"mipclass fit {about} --model {name} {limit}{' ' if limit else ''}--out model.json"


def recommend(comparison: Comparison) -> Recommendation | None:
    """The simplest of the methods with the least test error; None when every method failed."""
    rows = [row for row in comparison.rows if not row.failure]
    if not rows:
        return None
    best = min(rows, key=lambda row: row.test_error)
    within = best.test_error + best.spread / np.sqrt(comparison.folds)
    as_good = [row for row in rows if row.test_error <= within]
    linear = comparison.weights()
    chosen = min(as_good, key=lambda row: (row.name not in linear, row.test_error, not row.ours))
    others = tuple(row for row in as_good if row is not chosen)
    errors = f"{chosen.training_errors} training error{'' if chosen.training_errors == 1 else 's'}"
    text = f"use {chosen.name}: {chosen.test_error:.1%} test error, {errors}{_proof(comparison, chosen)}."
    if others:
        names = ", ".join(f"{row.name} ({row.test_error:.1%})" for row in others)
        text += f" As good within one standard error: {names}."
    return Recommendation(chosen, others, text)


def _proof(comparison: Comparison, row: Row) -> str:
    """What the proven bound on linear rules says of a linear rule's training errors; that of a composition speaks of its own rules."""
    if row.options:
        proven = row.proof is not None and row.proof.claim == "proven"
        kept = (
            f" (no rule that keeps {row.options} makes fewer than {row.proof.bound:g})"
            if row.fewest and row.proof
            else ""
        )
        return f", proven to be the fewest that a rule with {row.options} can make" if proven else kept
    bound = comparison.bound.bound
    if row.name not in comparison.weights() or bound is None or not np.isfinite(bound):
        return ""
    if row.training_errors <= bound:
        return ", proven to be the fewest that a linear rule can make"
    return f" (no linear rule makes fewer than {bound:g})"
