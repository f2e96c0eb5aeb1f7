"""The NP-ROC display: its curve, its limits and what it draws."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binom, norm

from mipclass import TauFPLClassifier
from mipclass.analysis.thresholds import umbrella_order
from mipclass.errors import InvalidInputError
from mipclass.plots import NPRocDisplay


def sample(seed=0, n=200, m=150):
    rng = np.random.default_rng(seed)
    return np.repeat([0, 1], [n, m]), np.concatenate([rng.standard_normal(n), 1.5 + rng.standard_normal(m)])


def test_curve_and_limits():
    y, scores = sample()
    display = NPRocDisplay.from_predictions(y, scores, tau=0.1, at_threshold=1.0)
    for b, fpr, tpr in zip(display.thresholds, display.fpr, display.tpr, strict=True):
        assert fpr == (scores[y == 0] > b).mean()
        assert tpr == (scores[y == 1] > b).mean()
    assert (display.fpr_lower < display.fpr_upper).all()
    assert (display.tpr_lower <= display.tpr).all()
    assert (display.tpr <= display.tpr_upper).all()
    assert display.point == ((scores[y == 0] > 1).mean(), (scores[y == 1] > 1).mean())
    # The umbrella's order statistic is the first whose upper limit is at most tau.
    k = umbrella_order(200, 0.1, 0.05)
    assert display.fpr_upper[200 - k] <= 0.1 < display.fpr_upper[200 - k + 1]


def test_limits_cover_the_true_rates():
    """Scores are Gaussian, so the true rates at each threshold are known; each limit fails at most delta of the time."""
    delta, repetitions = 0.1, 400
    failures = np.zeros(4)
    for seed in range(repetitions):
        y, scores = sample(seed, n=60, m=40)
        display = NPRocDisplay._compute(y, scores, 0.1, delta, None, None, None)
        at = 5
        true_fpr = norm.sf(display.thresholds[at])
        failures[:2] += [true_fpr > display.fpr_upper[at], true_fpr < display.fpr_lower[at]]
        true_tpr = norm.sf(display.thresholds[at] - 1.5)
        failures[2:] += [true_tpr > display.tpr_upper[at], true_tpr < display.tpr_lower[at]]
    assert (binom.sf(failures - 1, repetitions, delta) > 1e-3).all()
    assert failures[:2].min() > 0.4 * delta * repetitions


def test_drawing_from_an_estimator():
    y, scores = sample()
    X = scores[:, None]
    clf = TauFPLClassifier(tau=0.1, ranking_tau=0.4, threshold="umbrella", random_state=0).fit(X, y)
    figure, ax = plt.subplots()
    display = NPRocDisplay.from_estimator(clf, X, y, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any("tau = 0.1" in label for label in labels)
    assert any("TauFPLClassifier" in label for label in labels)
    display.plot(log=True)


def test_bad_input():
    y, scores = sample()
    with pytest.raises(InvalidInputError, match="one entry for each"):
        NPRocDisplay.from_predictions(y, scores[:-1])
    with pytest.raises(InvalidInputError, match="delta must be"):
        NPRocDisplay.from_predictions(y, scores, delta=2)
    with pytest.raises(InvalidInputError, match="two labels"):
        NPRocDisplay.from_predictions(np.ones(5), np.ones(5))
