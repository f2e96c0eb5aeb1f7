"""Region displays."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from mipclass import PolyhedralClassifier, datasets
from mipclass.errors import InvalidInputError
from mipclass.plots import DecisionRegionDisplay


@pytest.fixture(scope="module")
def fitted():
    X, y = datasets.astorino_gaudioso(3, random_state=0)
    return PolyhedralClassifier(2, inside=1, options={"rounds": 2}).fit(X, y), X, y


def test_regions_hyperplanes_and_errors_are_those_of_the_estimator(fitted):
    model, X, y = fitted
    display = DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=40)
    assert display.errors == int((model.predict(X) != y).sum()) > 0
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.scores.ravel() > 0, model.predict(grid) == 1)
    labels = display.ax_.get_legend_handles_labels()[1]
    assert labels == ["hyperplane", "-1", "1", "misclassified"]
    # Each drawn line satisfies v.x = g.
    for line, v, g in zip(display.ax_.lines, model.hyperplanes_, model.offsets_, strict=True):
        for point in (line.get_xy1(), line.get_xy2()):
            assert np.dot(v, point) == pytest.approx(g, abs=1e-9 * (1 + abs(g)) + 1e-9 * np.abs(v).max())


def test_display_takes_axes_and_keeps_names(fitted):
    _, X, y = fitted
    frame = pd.DataFrame(X, columns=["east", "north"])
    named = PolyhedralClassifier(1).fit(frame, y)
    _, ax = plt.subplots()
    display = DecisionRegionDisplay.from_estimator(named, frame, y, ax=ax, grid_resolution=10)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("east", "north")


def test_only_two_features_can_be_drawn(fitted):
    model, X, y = fitted
    with pytest.raises(InvalidInputError, match="exactly two features"):
        DecisionRegionDisplay.from_estimator(model, np.hstack([X, X]), y)
    with pytest.raises(InvalidInputError, match="one label"):
        DecisionRegionDisplay.from_estimator(model, X, y[:-1])
