"""The soft margin on the points that stay: two starts, the lower loss, and limits."""

from __future__ import annotations

import numpy as np
import pytest

from mipclass.estimators import soft_margin
from mipclass.estimators.soft_margin import TrimmedFit, TrimmedTask, fit_trimmed
from mipclass.protocol.result import Status
from mipclass.protocol.run import Run


@pytest.fixture
def clusters() -> tuple[TrimmedTask, np.ndarray]:
    """Three clusters that a line separates, and the mask of the one that a rule of the other two has on its wrong side."""
    random = np.random.default_rng(0)
    centres = np.repeat([[-2.0, 0.0], [2.0, 0.0], [3.0, -6.0]], [20, 20, 6], axis=0)
    X = centres + 0.2 * random.normal(size=centres.shape)
    y = np.repeat([0, 1, 0], [20, 20, 6])
    task = TrimmedTask(X, y, np.where(y > 0, 1.0, -1.0), np.ones(46), [np.ones(46, dtype=bool)])
    return task, np.arange(46) >= 40


def test_a_cluster_that_was_left_out_comes_back(clusters):
    task, left_out = clusters
    run = Run(time_limit=None)
    leave = [float(left_out.sum())]
    one_start = soft_margin._alternate(task, left_out, leave, 1.0, reselect=True, run=run)
    assert (one_start.outliers == left_out).all()
    found = fit_trimmed(task, left_out, 1.0, reselect=True, run=run)
    assert not found.outliers.any()
    assert (found.rule.predict(task.X) == task.y).all()
    assert found.loss(task) < one_start.loss(task)


def test_the_loss_is_what_liblinear_minimises_plus_the_points_left_out(clusters):
    task, left_out = clusters
    fit = fit_trimmed(task, left_out, 0.5, reselect=False, run=Run(time_limit=None))
    w, b = fit.rule.coef_[0], fit.rule.intercept_[0]
    margins = task.y_pm1 * (task.X @ w + b)
    kept = sum(max(0.0, 1.0 - m) ** 2 for m in margins[~left_out])
    assert fit.loss(task) == pytest.approx(0.5 * (w @ w + b * b) + 0.5 * (kept + 6))
    for nudge in 1e-4 * np.eye(3):  # a smaller value of the same function nearby would mean another function
        at = np.append(w, b) + nudge
        moved = task.y_pm1 * (task.X @ at[:-1] + at[-1])
        assert 0.5 * at @ at + 0.5 * (np.maximum(0.0, 1.0 - moved[~left_out]) ** 2).sum() > fit.loss(task) - 3.0 - 1e-6


def test_a_second_start_that_is_cut_short_cuts_the_fit_short(clusters, monkeypatch):
    task, left_out = clusters
    alternate = soft_margin._alternate

    def cut(task, outliers, *arguments, **settings):
        fit = alternate(task, outliers, *arguments, **settings)
        if outliers.any():
            return fit
        return TrimmedFit(fit.rule, np.ones(len(task.y), dtype=bool), Status.TIME_LIMIT)  # of high loss

    monkeypatch.setattr(soft_margin, "_alternate", cut)
    found = fit_trimmed(task, left_out, 1.0, reselect=True, run=Run(time_limit=None))
    assert (found.outliers == left_out).all()
    assert found.stopped is Status.TIME_LIMIT
