"""RuleReading: a fitted rule that predicts, and says in words what it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidInputError
from ..protocol.result import Values
from .algebra import Rule
from .conversions import conversion
from .data import Data


class RuleReading:
    """The rule of a Model at decoded values.

    The training data are kept for the sentence, which is worked out when it is asked for, and left out of a pickle.
    """

    def __init__(self, rule: Rule, values: Values, data: Data) -> None:
        self.rule, self.values = rule, values
        self.classes, self.feature_names = data.classes, data.feature_names
        self._data: Data | None = data
        self._sentence = ""

    @classmethod
    def of_parts(
        cls, rule: Rule, values: Values, classes: NDArray[Any], feature_names: tuple[str, ...], sentence: str
    ) -> RuleReading:
        """A rule without the training data, whose sentence was worked out before."""
        reading = cls.__new__(cls)
        reading.rule, reading.values = rule, values
        reading.classes, reading.feature_names = classes, feature_names
        reading._data, reading._sentence = None, sentence
        return reading

    def decision_function(self, X: Any) -> Array:
        """The score of each row of X; a data frame's columns are found by name."""
        return self.rule.scores(self.values, self._columns(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X: the positive class where the score is > 0."""
        return self.classes[(self.decision_function(X) > 0).astype(np.intp)]

    def sentence(self) -> str:
        """The rule in words: what is predicted when, in the units of the data."""
        if not self._sentence and self._data is not None:
            self._sentence = self.rule.sentence(self.values, self._data)
        return self._sentence

    def classifier(self) -> Any:
        """The rule as a fitted scikit-learn classifier."""
        return conversion("classifier")(self)

    def __getstate__(self) -> Mapping[str, Any]:
        return {**self.__dict__, "_sentence": self.sentence(), "_data": None}

    def _columns(self, X: Any) -> Any:
        """X as a matrix with the columns of the training data."""
        named = {str(name): name for name in getattr(X, "columns", ())}
        if set(self.feature_names) <= set(named):
            X = X[[named[name] for name in self.feature_names]]
        X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.feature_names):
            raise InvalidInputError(
                f"X must be a matrix with the {len(self.feature_names)} columns of the training data "
                f"({', '.join(self.feature_names[:5])}{', ...' if len(self.feature_names) > 5 else ''}); "
                f"got an array of shape {X.shape}. Pass one row per point, e.g. X.reshape(1, -1) for a single one."
            )
        return X
