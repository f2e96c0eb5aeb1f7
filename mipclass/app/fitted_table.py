"""A classifier fitted to a data file: the estimator, the columns it needs, and how they were scaled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..analysis.score_card import ScoreCard
from ..arrays import Array
from ..errors import InvalidInputError
from ..modelling.data import check_data
from ..modelling.readable_rule import readable
from .tables import Categories, Table


@dataclass(frozen=True, eq=False)
class FittedTable:
    """What `mipclass fit` writes and `mipclass predict` reads.

    `mean` and `scale` standardise the columns before the estimator sees them; None for estimators whose optimum does not
    depend on units. `classes` are the (negative, positive) labels when the positive one was named: the estimator then
    knows them as 0 and 1. `categories` says how text columns became numbers.
    """

    estimator: Any
    feature_names: tuple[str, ...]
    target: str
    mean: Array | None = None
    scale: Array | None = None
    classes: tuple[Any, Any] | None = None
    categories: Categories = field(default_factory=dict)

    @classmethod
    def fit(cls, estimator: Any, table: Table, *, scaled: bool) -> FittedTable:
        """Fit the estimator to the table, with standardised columns if `scaled`; sparse tables are refused then."""
        if table.y is None or table.target is None:
            raise InvalidInputError("the table has no labels; name the label column with --target.")
        check_data(table.X, table.y, feature_names=table.feature_names)
        mean = scale = None
        if scaled:
            if hasattr(table.X, "toarray"):
                raise InvalidInputError("sparse data cannot be centred; use --no-scale.")
            mean, scale = table.X.mean(axis=0), table.X.std(axis=0)
            scale = np.where(scale > 0, scale, 1.0)
        fitted = cls(estimator, table.feature_names, table.target, mean, scale, table.classes, dict(table.categories))
        estimator.fit(fitted._scaled(table.X), table.y)
        return fitted

    def scores(self, table: Table) -> Array:
        """Decision scores; columns are found by name, so their order and further columns do not matter."""
        return np.asarray(self.estimator.decision_function(self._columns(table)), dtype=np.float64)

    def predict(self, table: Table) -> NDArray[Any]:
        """A label for each row, in the labels of the file that was fitted."""
        predicted = np.asarray(self.estimator.predict(self._columns(table)))
        return predicted if self.classes is None else np.array(self.classes)[predicted]

    def risks(self, table: Table) -> tuple[Array, Array] | None:
        """Total points and probability of the positive class for each row; None when the classifier is no risk score."""
        if not hasattr(self.estimator, "total_points"):
            return None
        X = self._columns(table)
        return np.asarray(self.estimator.total_points(X)), np.asarray(self.estimator.predict_proba(X)[:, 1])

    def card(self) -> ScoreCard | None:
        """The scorecard in the file's own names; None when the rule has no whole points."""
        if not hasattr(self.estimator, "card") or self.estimator.totals_ is None:
            return None
        card: ScoreCard = self.estimator.card(self.feature_names, self.positive)
        return card

    @property
    def positive(self) -> Any:
        """The label of rows with a score above zero."""
        return self.estimator.classes_[1] if self.classes is None else self.classes[1]

    def _columns(self, table: Table) -> Any:
        place = {name: j for j, name in enumerate(table.feature_names)}
        missing = [name for name in self.feature_names if name not in place]
        if missing and table.absent_is_zero:
            X = sp.hstack([table.X, sp.csr_matrix((table.X.shape[0], 1))], format="csr")
            return self._scaled(X[:, [place.get(name, len(place)) for name in self.feature_names]])
        if missing:
            raise InvalidInputError(
                f"the data lack the column {missing[0]!r}, which the model uses; they have {', '.join(place)}."
            )
        return self._scaled(table.X[:, [place[name] for name in self.feature_names]])

    def _scaled(self, X: Any) -> Any:
        return X if self.mean is None else (X - self.mean) / self.scale

    def rule(self) -> dict[str, float] | None:
        """Weights by feature in the file's own units, with "(offset)"; None when the rule is not linear."""
        if not hasattr(self.estimator, "coef_"):
            return None
        card = self.card()
        if card is not None and card.multiplier is not None:
            return {**{text: float(points) for text, points in card.conditions}, "(offset)": card.offset}
        w = np.ravel(self.estimator.coef_)
        b = float(np.ravel(self.estimator.intercept_)[0])
        if self.mean is not None and self.scale is not None:
            w = w / self.scale
            b -= float(w @ self.mean)
        return {**{name: float(weight) for name, weight in zip(self.feature_names, w, strict=True)}, "(offset)": b}

    def sentence(self, table: Table) -> str | None:
        """A linear rule in words, in the file's own units, with the decisions of `table`; None when it is not linear."""
        rule = self.rule()
        if rule is None:
            return None
        *weights, offset = rule.values()
        readable_rule = readable(np.array(weights), offset, table.X, self.feature_names)
        negative = self.estimator.classes_[0] if self.classes is None else self.classes[0]
        return readable_rule.sentence(self.positive, negative)
