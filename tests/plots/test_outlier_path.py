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


def test_points_with_the_same_multipliers_share_a_line_and_rows_count_from_one():
    values = np.array([1.0, 0.5, 0.0])
    multipliers = np.array([[1.0, 1.0, 0.0], [0.5, 0.5, 0.2], [0.0, 0.0, 0.7]])
    calm = np.zeros(3, dtype=bool)
    display = OutlierPathDisplay(values, multipliers, calm, points=np.array([9, 4, 2]), parameter="theta").plot()
    assert [line.get_label() for line in display.ax_.lines] == ["points 4, 9", "point 2"]
    X, y = noisy(40, 2, 1)
    fitted = OutlierPathSVC(selection=0.0).fit(X, y)
    by_row = OutlierPathDisplay.from_estimator(fitted, points=[3], by_row=True)
    assert by_row.ax_.lines[0].get_label() == f"row {fitted.path_rows_[3] + 1}"
    assert not by_row.ax_.spines["top"].get_visible()
