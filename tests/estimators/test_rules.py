"""The rule in words of a fit is the one that the estimator predicts by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipclass import OutlierPathSVC, RGDTreeSVC, TauFPLClassifier, ZeroOneClassifier

LINEAR = (ZeroOneClassifier(), OutlierPathSVC(), RGDTreeSVC(), RGDTreeSVC(C=None), TauFPLClassifier(tau=0.2))


@pytest.fixture(scope="module")
def patients() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(3)
    X = pd.DataFrame({"age": random.normal(60, 10, 80), "dose": random.normal(2, 0.5, 80)})
    score = (X["age"] - 60) / 10 + 2 * (X["dose"] - 2) + 0.3 * random.normal(size=80)
    return X, np.where(score > 0, "ill", "healthy")


@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
@pytest.mark.parametrize("estimator", LINEAR, ids=str)
def test_the_rule_in_words_decides_as_the_estimator_does(estimator: Any, patients: Any) -> None:
    X, y = patients
    fitted = estimator.fit(X, y)
    assert "age" in fitted.rule_
    assert "dose" in fitted.rule_
    assert _decisions(fitted.rule_, X).tolist() == fitted.predict(X).tolist()


@pytest.mark.parametrize("estimator", [OutlierPathSVC(kernel="rbf"), TauFPLClassifier(0.2, kernel="rbf")], ids=str)
def test_kernels_have_no_rule_in_words(estimator: Any, patients: Any) -> None:
    X, y = patients
    linear = estimator.set_params(kernel="linear").fit(X, y)
    assert hasattr(linear, "rule_")
    assert not hasattr(linear.set_params(kernel="rbf").fit(X, y), "rule_")


def _decisions(rule: str, X: pd.DataFrame) -> np.ndarray:
    """A sentence such as "ill if age + 20 dose > 100, else healthy" applied to the table."""
    first, _, rest = rule.partition(" if ")
    condition, _, second = rest.partition(", else ")
    for name in X:
        condition = condition.replace(f" {name}", f"*{name}").replace(f"+*{name}", f"+{name}")
    condition = condition.replace("-*", "-").replace("+*", "+").lstrip("*")
    return np.where(eval(condition, {name: X[name] for name in X}), first, second)


@pytest.mark.parametrize("estimator", LINEAR, ids=str)
def test_attributes_can_be_listed(estimator: Any) -> None:
    """As a shell does to complete a name; some attributes exist for some fits only."""
    fresh = type(estimator)(**estimator.get_params())
    assert "fit" in dir(fresh)
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40) > 19
    assert "predict" in dir(fresh.fit(X, y))
