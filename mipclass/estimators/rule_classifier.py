"""RuleClassifier: the rule of a result as a fitted scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..arrays import Array
from ..errors import InvalidInputError
from ..modelling.reading import RuleReading


class RuleClassifier(ClassifierMixin, BaseEstimator):
    """A rule that was found by `mipclass.solve`, for everything that takes a fitted classifier.

    It is made by `result.classifier()` and cannot be fitted again: solve the problem with other data instead.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    coef_, intercept_ : of a linear rule, in the user's units.

    Examples
    --------
    >>> from mipclass import models, solve
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> solve(models.zero_one(X, y)).classifier().score(X, y)
    1.0
    """

    def __init__(self, reading: RuleReading) -> None:
        self.reading = reading
        self.classes_ = reading.classes
        self.n_features_in_ = len(reading.feature_names)
        self.feature_names_in_ = np.array(reading.feature_names, dtype=object)
        if "w" in reading.values:
            self.coef_ = np.asarray(reading.values["w"], dtype=np.float64).reshape(1, -1)
            self.intercept_ = np.array([float(reading.values.get("b", 0.0))])

    def fit(self, X: Any, y: Any) -> RuleClassifier:
        """Refuse: the rule was found by `solve`."""
        raise InvalidInputError(
            "a RuleClassifier holds the rule of a finished solve and is not fitted again; "
            "solve a Model of the new data, or fit an estimator such as mipclass.ZeroOneClassifier."
        )

    def decision_function(self, X: Any) -> Array:
        """The score of each row of X."""
        return self.reading.decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        return self.reading.predict(X)

    def __sklearn_is_fitted__(self) -> bool:
        """Always: it is made of a fitted rule."""
        return True
