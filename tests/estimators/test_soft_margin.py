"""The soft margin on the points that stay: two starts, the lower loss, and limits."""

from __future__ import annotations

import numpy as np
import pytest

from mipclass.estimators import soft_margin
from mipclass.estimators.soft_margin import TrimmedFit, TrimmedTask, choose_C, fit_trimmed
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


def weighted_and_repeated(seed, by_class):
    """The same problem twice: points with weights 0 to 3, and each point as often; the rows that the copies come from."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(12, 60)), int(random.integers(1, 4))
    X = random.normal(size=(n, d)) if seed % 2 else random.integers(-2, 3, (n, d)) * 1.0
    y = (X[:, 0] + 0.7 * random.normal(size=n) > 0).astype(int)
    weights = random.integers(0, 4, n)
    copies = np.repeat(np.arange(n), weights)

    def task(rows, weights):
        labels = y[rows]
        groups = [labels == 0, labels == 1] if by_class else [np.ones(len(rows), dtype=bool)]
        return TrimmedTask(X[rows], labels, np.where(labels > 0, 1.0, -1.0), weights, groups)

    return task(np.arange(n), weights.astype(float)), task(copies, np.ones(len(copies))), copies


@pytest.mark.parametrize("by_class", [False, True])
def test_a_weight_of_two_is_a_point_given_twice(by_class):
    for seed in range(30):
        weighted, repeated, copies = weighted_and_repeated(seed, by_class)
        one, two = weighted.merged(), repeated.merged()
        np.testing.assert_array_equal(one.task.X, two.task.X)
        np.testing.assert_array_equal(one.task.weights, two.task.weights)
        shares = [0.1, 0.2] if by_class else [0.1]
        run = Run(time_limit=None)
        assert choose_C(one, shares, seed=seed, run=run) == choose_C(two, shares, seed=seed, run=run)
        out = np.zeros(len(one.rows), dtype=bool)
        out[np.argsort(one.task.y_pm1 * one.task.X[:, 0], kind="stable")[:2]] = True
        if any(np.all(out[one.task.y == label]) for label in (0, 1)):
            continue
        fits = [fit_trimmed(merged.task, out, 1.0, reselect=True, run=run) for merged in (one, two)]
        np.testing.assert_array_equal(fits[0].rule.coef_, fits[1].rule.coef_)
        np.testing.assert_array_equal(one.of_rows(fits[0].outliers)[copies], two.of_rows(fits[1].outliers))
        assert not one.of_rows(~fits[0].outliers)[weighted.weights == 0].any()


def test_equal_points_are_merged_as_a_table_of_them_says():
    weighted, repeated, _ = weighted_and_repeated(0, by_class=False)
    for task in (weighted, repeated):
        table: dict[tuple[float, ...], float] = {}
        for x, label, weight in zip(task.X.tolist(), task.y.tolist(), task.weights.tolist(), strict=True):
            if weight > 0:
                table[(*x, label)] = table.get((*x, label), 0.0) + weight
        merged = task.merged().task
        points = [(*x, label) for x, label in zip(merged.X.tolist(), merged.y.tolist(), strict=True)]
        assert dict(zip(points, merged.weights.tolist(), strict=True)) == table
        assert points == list(table)


@pytest.mark.parametrize("unit", [1e-9, 0.1, 1e9])
def test_the_worst_points_do_not_depend_on_the_unit_of_weight(unit):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 1)), random.integers(0, 2, 40)
    everyone = [np.ones(40, dtype=bool)]
    weights = random.integers(1, 4, 40).astype(float)
    plain, scaled = (TrimmedTask(X, y, np.where(y > 0, 1.0, -1.0), w, everyone) for w in (weights, unit * weights))
    for share in np.linspace(0.05, 0.4, 15):
        leave = share * weights.sum()
        np.testing.assert_array_equal(plain.worst(X[:, 0], [leave]), scaled.worst(X[:, 0], [unit * leave]))
