"""Rates and scores of a rule under a tolerated false-positive rate, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mipclass.analysis.metrics import np_score, rates, tpr_at_fpr


def test_rates_and_scores():
    y = np.array([0, 0, 0, 0, 1, 1])
    assert rates(y, [1, 0, 0, 0, 1, 0]) == (0.25, 0.5)
    assert np_score(y, [1, 0, 0, 0, 1, 0], tau=0.1) == pytest.approx(0.25 / 0.1 - 0.5)
    assert np_score(y, [0, 0, 0, 0, 1, 0], tau=0.1) == pytest.approx(0.5)
    assert tpr_at_fpr(y, [3.0, 1.0, 1.0, 0.0, 2.0, 4.0], tau=0.25) == 1.0
    assert tpr_at_fpr(y, [3.0, 1.0, 1.0, 0.0, 2.0, 4.0], tau=0.2) == 0.5
