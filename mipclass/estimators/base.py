"""Bases of the scikit-learn classifiers: validation, labels, scores, prediction, tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..arrays import Array
from ..checks import plain
from ..modelling.data import Data, check_comparable, class_factors
from ..modelling.linear import Linear
from ..modelling.reading import RuleReading
from ..protocol.result import Reading, Result, Status, Values
from ..protocol.run import Run, interruptible
from ..solving.arguments import check_limits

CUT_SHORT = (Status.TIME_LIMIT, Status.INTERRUPTED)
"""How a solve ends that the user's limit or Ctrl-C cut short."""


@contextmanager
def limited(time_limit: float | None) -> Iterator[Run]:
    """The run of a whole fit: its clock starts here, and Ctrl-C ends all solves inside."""
    check_limits(time_limit, 0.0, 0, 1, None)
    run = Run(time_limit=time_limit)
    with interruptible(run):
        try:
            yield run
        finally:
            run.close()


def as_part_of(result: Result, others: Iterator[Result] | list[Result], stopped: Status | None = None) -> Result:
    """The result of a fit that made other solves too: when one of them was cut short, the fit was, whatever this solve claims.

    stopped : why solves that were meant to follow were not made, if that is so.
    """
    cut = next((other.status for other in others if other.status in CUT_SHORT), stopped)
    if cut is None or result.status in CUT_SHORT:
        return result
    return replace(result, status=cut, claim="heuristic" if result.values else result.claim)


def forget(estimator: BaseEstimator) -> None:
    """Remove what an earlier fit has learned, so that no attribute outlives the parameters that it belongs to."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)
    vars(estimator).pop("_reading", None)


class BinaryClassifier(ClassifierMixin, BaseEstimator):
    """Base of all classifiers of the package: two classes; `classes_[1]` is predicted iff the score is > 0.

    A subclass calls `_validate(X, y, sample_weight)` in `fit`, sets its own fitted attributes and `result_`, and
    defines `decision_function`. A subclass with `_sparse = True` accepts CSR input.
    """

    _sparse = False
    result_: Result
    _reading: Reading | None
    classes_: NDArray[Any]
    n_features_in_: int

    def _validate(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, NDArray[Any], Array]:
        """X as float64, y as given (two labels; sets classes_), and weights >= 0 with zeros kept. An earlier fit is forgotten."""
        forget(self)
        check_comparable(y)
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr" if self._sparse else False)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The data has {len(self.classes_)} classes; "
                "wrap this classifier in sklearn.multiclass.OneVsRestClassifier."
            )
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class ({plain(self.classes_[0])!r}); a classifier needs samples of two classes."
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return X, y, weights

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr" if self._sparse else False)

    def _signs(self, y: NDArray[Any]) -> Array:
        """+1 for the positive class `classes_[1]`, -1 for the other."""
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _weighted(self, y: NDArray[Any], weights: Array, class_weight: Mapping[Any, float] | str | None) -> Array:
        """The weights times the factors of the classes."""
        signs = self._signs(y)
        negative, positive = class_factors(class_weight, signs, self.classes_, weights)
        return weights * np.where(signs > 0, positive, negative)

    def _names(self) -> tuple[str, ...]:
        """The names of the features, x0, x1, ... where the data had none."""
        named = getattr(self, "feature_names_in_", None)
        return tuple(f"x{j}" for j in range(self.n_features_in_)) if named is None else tuple(map(str, named))

    def _read(self, X: Any, y_pm1: Array, w: Array, b: float) -> None:
        """Keep the linear rule of the fit for `rule_`."""
        data = Data(X, y_pm1, np.ones(len(y_pm1)), self._names(), self.classes_)
        self._reading = RuleReading(Linear(), {"w": w, "b": np.asarray(b)}, data)

    @property
    def rule_(self) -> str:
        """The fitted rule in words, with as few digits as keep the decision for every training point; of kernels there is none."""
        reading = getattr(self, "_reading", None)
        if reading is None:
            raise AttributeError(
                f"this {type(self).__name__} has no rule in words: it is not fitted, has a kernel, or was loaded from a file of an earlier version "
                "(the digits are chosen on the training points, which a file does not hold); coef_ and intercept_ have the numbers."
            )
        return str(reading.sentence())

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each point: `classes_[1]` where the score is > 0, else `classes_[0]`."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]

    def decision_function(self, X: Any) -> Array:
        """The score of each point; a point is predicted positive when its score is > 0."""
        raise TypeError(f"{type(self).__name__} must define decision_function.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self._sparse
        return tags


class LinearClassifier(BinaryClassifier):
    """score = coef_.x + intercept_, in the user's units."""

    coef_: Array
    intercept_: Array

    def _set_rule(self, values: Values | Mapping[str, Any]) -> None:
        self.coef_ = np.asarray(values["w"], dtype=np.float64).reshape(1, -1)
        self.intercept_ = np.asarray(values.get("b", 0.0), dtype=np.float64).reshape(1)

    def decision_function(self, X: Any) -> Array:
        """coef_.x + intercept_ for each point."""
        X = self._check_new(X)
        scores: Array = np.asarray(X @ self.coef_[0], dtype=np.float64) + self.intercept_[0]
        return scores
