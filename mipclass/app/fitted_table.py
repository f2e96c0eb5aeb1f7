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
from ..models.rules import Polyhedron
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

    def used_features(self) -> tuple[str, ...]:
        """The features that predictions depend on: those of weight zero in a linear rule or a risk score are left out."""
        weights = getattr(self.estimator, "coef_", None)
        if weights is None:
            return self.feature_names
        used = np.flatnonzero(np.ravel(weights))
        columns = getattr(self.estimator, "condition_columns_", None)
        kept = set(used.tolist() if columns is None else np.asarray(columns)[used].tolist())
        return tuple(name for j, name in enumerate(self.feature_names) if j in kept)

    def used_columns(self) -> tuple[str, ...]:
        """The columns of a file from which the used features are made."""
        made = {f"{column}={value}": column for column, values in self.categories.items() for value in values}
        return tuple(dict.fromkeys(made.get(name, name) for name in self.used_features()))

    @property
    def negative(self) -> Any:
        """The label of the other rows."""
        return self.estimator.classes_[0] if self.classes is None else self.classes[0]

    def _columns(self, table: Table) -> Any:
        """The features in the order of the fit; those that the rule does not use may be missing."""
        place = {name: j for j, name in enumerate(table.feature_names)}
        if table.absent_is_zero and not set(self.feature_names) <= set(place):
            X = sp.hstack([table.X, sp.csr_matrix((table.X.shape[0], 1))], format="csr")
            return self._scaled(X[:, [place.get(name, len(place)) for name in self.feature_names]])
        missing = [name for name in self.used_features() if name not in place]
        if missing:
            raise InvalidInputError(
                f"the data lack the column {missing[0]!r}, which the model uses; the model needs {', '.join(self.used_columns())}."
            )
        present = [name for name in self.feature_names if name in place]
        if len(present) == len(self.feature_names):
            return self._scaled(table.X[:, [place[name] for name in present]])
        X = np.zeros((table.X.shape[0], len(self.feature_names)))
        X[:, [self.feature_names.index(name) for name in present]] = table.X[:, [place[name] for name in present]]
        return self._scaled(X)

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
        """A linear or polyhedral rule in words, in the file's own units, with the decisions of `table`; None for other rules."""
        rule = self.rule()
        if rule is None:
            return self._faces(table)
        *weights, offset = rule.values()
        readable_rule = readable(np.array(weights), offset, table.X, self.feature_names)
        return readable_rule.sentence(self.positive, self.negative)

    def _faces(self, table: Table) -> str | None:
        """A polyhedral rule in words: v.z <= g on standardised columns z is (v / scale).x <= g + (v / scale).mean in the file's units."""
        reading = self.estimator.result_.reading
        if reading is None or not isinstance(reading.rule, Polyhedron):
            return None
        v, g = np.asarray(reading.values["v"]), np.asarray(reading.values["g"])
        if self.mean is not None and self.scale is not None:
            v = v / self.scale
            g = g + v @ self.mean
        data = check_data(table.X, table.labels, feature_names=self.feature_names, pos_label=self.positive)
        return reading.rule.sentence({"v": v, "g": g}, data)
