"""What `mipclass fit` says beside the result: the confusion table, accuracy on held-out rows, the state of the proof, what to type next."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from ..arrays import Array
from ..errors import InvalidInputError
from ..protocol.result import Result, Status
from ..views.text_table import text_table
from .fitted_table import FittedTable
from .tables import Table


def confusion(fitted: FittedTable, table: Table) -> NDArray[np.int64]:
    """Numbers of rows by true class (lines) and predicted class (columns), the negative class first."""
    positive, predicted = table.labels == fitted.positive, fitted.predict(table) == fitted.positive
    return np.array([[int(np.sum((positive == true) & (predicted == said))) for said in (0, 1)] for true in (0, 1)])


def confusion_words(fitted: FittedTable, counts: NDArray[np.int64]) -> str:
    """The confusion table as text."""
    labels = [str(fitted.negative), str(fitted.positive)]
    lines = [[f"true {label}", *map(str, line)] for label, line in zip(labels, counts.tolist(), strict=True)]
    return text_table(["", *(f"predicted {label}" for label in labels)], lines, right=[1, 2])


def cross_validated(fitted: FittedTable, table: Table, folds: int) -> Array:
    """The accuracy of the same estimator on each of so many stratified folds, fitted to the others."""
    labels = np.asarray(table.labels)
    smallest = int(min(np.sum(labels == label) for label in np.unique(labels)))
    if not 2 <= folds <= smallest:
        raise InvalidInputError(
            f"--folds must be between 2 and {smallest}, the size of the smaller class; got {folds}."
        )
    scores = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(table.X, labels):
        part = FittedTable.fit(clone(fitted.estimator), table.of_rows(train), scaled=fitted.mean is not None)
        held_out = table.of_rows(test)
        scores.append(float(np.mean(part.predict(held_out) == held_out.labels)))
    return np.array(scores)


def proof_words(result: Result) -> str:
    """What is proven of the answer, and what would prove more."""
    found, bound = f"{result.objective:.6g}", None if result.bound is None else f"{result.bound:.6g}"
    if result.claim == "proven" and result.certified:
        return f"nothing below {bound} is possible; the certificate was checked in exact arithmetic"
    if result.claim == "proven":
        return f"nothing below {found} is possible, up to the tolerances of {result.solver}"
    limited = result.status in (Status.TIME_LIMIT, Status.NODE_LIMIT, Status.ITERATION_LIMIT)
    more = "; a longer --time-limit may close the gap" if limited and bound is not None else ""
    if bound is not None:
        return f"not complete: the best value lies between {bound} and {found}{more}"
    return {"local": "a local optimum; others may be better"}.get(result.claim, "none: a heuristic answer")


@dataclass(frozen=True)
class NextSteps:
    """The data as they were named and the files that a fit wrote, for the commands that a person may type next."""

    about: str
    out: Path | None
    certificate: Path | None

    def lines(self, result: Result) -> list[str]:
        """Commands that go on from here."""
        found = [] if self.out is None else [f"mipclass predict {shlex.quote(str(self.out))} NEW.csv"]
        found += (
            [] if self.certificate is None else [f"mipclass verify {shlex.quote(str(self.certificate))} {self.about}"]
        )
        if self.out is None:
            found.append("the same with --out model.json, to save the classifier")
        if self.certificate is None and result.certificate is not None:
            found.append("the same with --certificate proof.json, to save the proof")
        return [*found, f"mipclass compare {self.about}"]


def print_fit(fitted: FittedTable, table: Table, counts: Any, accuracy: Array | None, steps: NextSteps) -> list[str]:
    """The lines that `fit` prints."""
    result = fitted.estimator.result_
    n, errors = int(counts.sum()), int(counts[0, 1] + counts[1, 0])
    lines = [result.summary(), f"  training    {errors} of {n} rows wrong"]
    if getattr(fitted.estimator, "guarantee_", None):
        lines.append(f"  guarantee   {fitted.estimator.guarantee_}")
    if accuracy is not None:
        lines.append(
            f"  held out    {accuracy.mean():.1%} right, ± {accuracy.std(ddof=1):.1%} over {len(accuracy)} folds"
        )
    lines.append(f"  proof       {proof_words(result)}")
    card = fitted.card()
    rule = None if card is not None else fitted.sentence(table)
    lines += [f"\n{card}"] if card is not None else []
    lines += [f"  rule        {rule}"] if rule is not None else []
    lines += ["", confusion_words(fitted, counts), ""]
    lines += [] if steps.out is None else [f"saved to {steps.out}"]
    return [*lines, *(f"{'next' if k == 0 else '':<6}{line}" for k, line in enumerate(steps.lines(result)))]
