"""RiskScoreClassifier: scikit-learn's own checks, cards against brute force, thresholds, calibration, saving and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import mipclass
from mipclass import RiskScoreClassifier, ZeroOneClassifier, models
from mipclass.errors import InvalidInputError
from mipclass.estimators.conditions import Conditions, shortest_between
from mipclass.plots import ScoreCardDisplay
from tests.truth.logistic import best_card, loss


@parametrize_with_checks([RiskScoreClassifier(max_features=2, thresholds=3, options={"node_limit": 20})])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def patients() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    age, dose, smoker = rng.uniform(20, 80, 300), rng.uniform(0, 1, 300), rng.integers(0, 2, 300)
    odds = 1.5 * (age >= 60) + smoker - 1.2 + 0.0 * dose
    y = np.where(rng.logistic(size=300) < odds, "ill", "well")
    return pd.DataFrame({"age": age, "dose": dose, "smoker": smoker}), y


def test_the_card_is_the_best_one_by_enumeration() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(40, 3)).astype(float)
    y = (X[:, 0] + rng.normal(size=40) > 0.5).astype(int)
    card = RiskScoreClassifier(max_features=2, points=2, multiplier=1.0).fit(X, y)
    assert card.result_.claim == "proven"
    assert card.loss_ == pytest.approx(best_card(X, 2 * y - 1, 2, 2, range(-6, 7), (1.0, 1.0)))
    p = card.predict_proba(X)[:, 1]
    assert -np.log(np.where(y == 1, p, 1 - p)).sum() == pytest.approx(card.loss_)
    assert card.gap_ == pytest.approx(0.0, abs=1e-8)


def test_a_free_multiplier_is_never_worse(patients: Any) -> None:
    X, y = patients
    fixed = RiskScoreClassifier(thresholds=3, multiplier=1.0).fit(X, y)
    free = RiskScoreClassifier(thresholds=3).fit(X, y)
    assert free.loss_ <= fixed.loss_ + 1e-9
    signs = np.where(y == "well", 1, -1)
    conditions = Conditions(free.condition_columns_, free.condition_thresholds_).apply(X.to_numpy(dtype=float))
    assert free.loss_ == pytest.approx(loss(conditions, signs, free.coef_[0], free.intercept_[0], free.multiplier_))


def test_real_columns_become_conditions_with_short_thresholds(patients: Any) -> None:
    X, y = patients
    card = RiskScoreClassifier(max_features=3, monotone={"age": -1, "smoker": "decreasing"}).fit(X, y)
    assert "smoker" in card.condition_names_
    assert sum(name.startswith("age >= ") for name in card.condition_names_) == 9
    used = [name for name, points in card.card_.conditions]
    assert any(name.startswith("age >= ") for name in used)
    assert "smoker" in used
    assert all(points < 0 for name, points in card.card_.conditions if name.startswith(("age", "smoker")))
    assert shortest_between(0.123, 0.178) == 0.17
    assert shortest_between(59.2, 61.7) == 60.0
    assert shortest_between(1234.0, 2345.0) == 2000.0
    taken = RiskScoreClassifier(thresholds=None, points=(0, 3)).fit(X, y)
    assert taken.condition_names_ == ["age", "dose", "smoker"]
    assert ((taken.coef_ >= 0) & (taken.coef_ <= 3)).all()


def test_totals_probabilities_and_texts(patients: Any) -> None:
    X, y = patients
    card = RiskScoreClassifier(max_features=3, thresholds=4).fit(X, y)
    table = card.card_
    assert table.weights.sum() == 300
    assert table.positives.sum() == (y == "well").sum()
    assert np.allclose(card.predict_proba(X)[:, 1], table.probability(card.total_points(X)))
    assert (card.predict(X) == np.where(card.predict_proba(X)[:, 1] > 0.5, "well", "ill")).all()
    text = str(table)
    for name, points in table.conditions:
        assert name in text
        assert f"{points:+d}" in text
    assert "probability of well" in text
    assert "<table" in table.html()
    assert "&gt;=" in table.html()
    display = ScoreCardDisplay.from_estimator(card)
    assert len(display.ax_) == 2
    with pytest.raises(InvalidInputError, match="two Axes"):
        ScoreCardDisplay(table).plot(ax=display.ax_[0])


def test_recalibration_in_folds_keeps_the_order(patients: Any) -> None:
    X, y = patients
    plain = RiskScoreClassifier(max_features=2, thresholds=4).fit(X, y)
    folded = RiskScoreClassifier(max_features=2, thresholds=4, calibration_folds=3).fit(X, y)
    assert plain.calibration_ == (1.0, 0.0)
    assert folded.calibration_ != (1.0, 0.0)
    assert 0.3 < folded.calibration_[0] < 1.5
    assert (np.argsort(folded.total_points(X), kind="stable") == np.argsort(plain.total_points(X), kind="stable")).all()


def test_points_of_weight_zero_play_no_part_in_recalibration(patients: Any) -> None:
    X, y = patients
    kept = np.arange(300) < 60
    made = {"max_features": 2, "thresholds": 3, "calibration_folds": 3}
    weighted = RiskScoreClassifier(**made).fit(X, y, sample_weight=kept.astype(float))
    alone = RiskScoreClassifier(**made).fit(X[kept], y[kept])
    assert weighted.calibration_ == alone.calibration_
    assert np.array_equal(weighted.coef_, alone.coef_)


TWELVE = np.random.default_rng(1).normal(size=(12, 2))


@pytest.mark.parametrize(
    ("y", "weights", "folds", "message"),
    [
        ([0] * 11 + [1], None, 2, r"^calibration_folds=2 needs .* each class; class 1 has 1\. Set it to None"),
        ([0] * 6 + [1] * 6, [1] + [0] * 5 + [1] * 6, 2, r"calibration_folds=2 .* positive weight .*class 0 has 1\. Set it to None"),
        (["a"] * 8 + ["b"] * 4, None, 5, r"class 'b' has 4\. Set calibration_folds to at most 4, or to None"),
        ([0] * 6 + [1] * 6, None, 50, r"calibration_folds=50 .*class 0 has 6\. Set calibration_folds to at most 6"),
        ([0] * 6 + [1] * 6, [0] * 6 + [1] * 6, 2, r"all points of class 0 have weight zero"),
    ],
)  # fmt: skip
def test_too_many_folds_are_refused_before_any_work(y: Any, weights: Any, folds: int, message: str) -> None:
    card = RiskScoreClassifier(max_features=1, calibration_folds=folds)
    with pytest.raises(InvalidInputError, match=message):
        card.fit(TWELVE, y, sample_weight=weights)
    assert not hasattr(card, "result_")


def test_a_column_that_is_constant_without_one_fold_is_calibrated() -> None:
    """Of a column that holds one real number no threshold can be made."""
    X, y = np.column_stack([[0, 1, 0, 1, 1, 0], [0.5, 0.5, 0.5, 0.5, 0.5, 0.0]]), [0, 0, 0, 1, 1, 1]
    card = RiskScoreClassifier(max_features=1, calibration_folds=3).fit(X, y)
    assert np.isfinite(card.calibration_).all()


def test_a_constant_column_of_real_numbers_stays_as_it_is() -> None:
    X = np.column_stack([TWELVE[:, 0], np.full(12, 0.5)])
    card = RiskScoreClassifier(max_features=1).fit(X, [0, 1] * 6)
    assert card.condition_names_[-1] == "x1"
    assert all(name.startswith("x0 >= ") for name in card.condition_names_[:-1])


def test_groups_of_points_are_split_with_the_points(patients: Any) -> None:
    X, y = patients
    parity = models.RateParity(np.where(X["smoker"], "s", "n"), 0.95)
    made = {"max_features": 2, "thresholds": 3, "calibration_folds": 2}
    bound = RiskScoreClassifier(subject_to=parity, **made).fit(X, y)
    assert np.isfinite(bound.calibration_).all()
    with pytest.raises(InvalidInputError, match="one label for each of the 299 points"):
        RiskScoreClassifier(subject_to=parity, **made).fit(X[:299], y[:299])


def test_constraints_search_and_saving(patients: Any, tmp_path: Path) -> None:
    X, y = patients
    strict = RiskScoreClassifier(max_features=2, thresholds=3, subject_to=models.FalsePositiveRate(0.2)).fit(X, y)
    negatives = y == "ill"
    assert (strict.predict(X)[negatives] == "well").mean() <= 0.2
    search = GridSearchCV(RiskScoreClassifier(thresholds=3), {"max_features": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_["max_features"] in (1, 2)
    assert cross_val_score(RiskScoreClassifier(thresholds=3), X, y, cv=3, scoring="neg_log_loss").mean() > -0.69
    mipclass.save(strict, tmp_path / "card.json")
    again = mipclass.load(tmp_path / "card.json")
    assert str(again.card_) == str(strict.card_)
    assert np.array_equal(again.predict_proba(X), strict.predict_proba(X))


def test_zero_one_scorecards_print_the_same_card(patients: Any) -> None:
    X, y = patients
    X = pd.DataFrame({"old": (X["age"] >= 60).astype(int), "smoker": X["smoker"]})
    whole = ZeroOneClassifier(subject_to=models.IntegerCoefficients(3, intercept=True)).fit(X, y)
    text = str(whole.card_)
    assert "predict well when the total is above" in text
    assert "smoker" in text or "old" in text
    assert ScoreCardDisplay.from_estimator(whole).figure_ is not None
    plain = ZeroOneClassifier().fit(X, y)
    assert not hasattr(plain, "card_")
    with pytest.raises(AttributeError, match="IntegerCoefficients"):
        _ = plain.card_
    with pytest.raises(InvalidInputError, match="IntegerCoefficients"):
        plain.card()


@pytest.mark.parametrize(
    "parameters",
    [
        {"thresholds": 0},
        {"calibration_folds": 1},
        {"multiplier": -1.0},
        {"max_features": -1},
        {"points": 2.5},
        {"monotone": {"no": 1}},
    ],
)
def test_wrong_parameters_are_refused(patients: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        RiskScoreClassifier(**parameters).fit(*patients)
