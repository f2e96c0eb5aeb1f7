"""OutlierPathDisplay draws the multipliers it is given and marks the jumps."""

from __future__ import annotations

import numpy as np
import pytest

from mipclass import OutlierPathSVC, models, solve
from mipclass.errors import InvalidInputError
from mipclass.plots import OutlierPathDisplay
from tests.truth.outlier_path import noisy


@pytest.mark.parametrize("parameter", ["theta", "s"])
def test_lines_are_the_multipliers_and_jumps_are_marked(parameter):
    X, y = noisy(60, 3, 5, flip=0.3)
    path = solve(models.robust_svm(X, y), "outlier-path", options={"path": parameter}).extra["path"]
    display = OutlierPathDisplay.from_path(path, points=[0, 7])
    drawn = display.ax_.lines[0].get_ydata()
    kept = np.asarray(drawn, dtype=float)
    np.testing.assert_allclose(kept[~np.isnan(kept)], path.multipliers([0])[:, 0])
    np.testing.assert_allclose(path.multipliers([7])[-1, 0], path.alpha(-1)[7], atol=1e-12)
    assert display.ax_.get_xlabel()


def test_from_estimator_needs_a_fit():
    with pytest.raises(InvalidInputError, match="fit first"):
        OutlierPathDisplay.from_estimator(OutlierPathSVC())
    X, y = noisy(40, 2, 1)
    assert OutlierPathDisplay.from_estimator(OutlierPathSVC(selection=0.0).fit(X, y)).figure_
