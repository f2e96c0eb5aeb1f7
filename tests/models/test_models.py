"""Whole models: every solver agrees, sizes are as documented, combinations of parts, refusals, printing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import mipclass
from mipclass import datasets, models
from mipclass.errors import InvalidInputError, UnsupportedProgramError
from mipclass.modelling.expression import Affine
from tests.models.small_data import X_OK, Y_OK, tiny

SOLVERS = ["highs", "osqp", "piqp", "scip", "cvxpy:CLARABEL", "cvxpy:HIGHS", "pyomo:highs"]
FIRST_MODELS = {
    "hinge L2": lambda X, y: models.hinge_svm(X, y),
    "hinge L1": lambda X, y: models.hinge_svm(X, y, penalty="l1"),
    "RLP": lambda X, y: models.rlp(X, y),
    "0-1": lambda X, y: models.zero_one(X[:10], y[:10]),
}


@pytest.mark.parametrize("name", FIRST_MODELS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_one_model_many_solvers(solver: str, name: str) -> None:
    problem = FIRST_MODELS[name](*tiny(4, n=25, d=3))
    expected = mipclass.solve(problem, "highs")
    able = {row.name for row in mipclass.solvers(problem) if row.accepts}
    if solver not in able:
        with pytest.raises(UnsupportedProgramError, match="cannot solve"):
            mipclass.solve(problem, solver)
        return
    result = mipclass.solve(problem, solver)
    assert result.objective == pytest.approx(expected.objective, rel=1e-6)
    assert result.recounted


def test_sizes_are_as_declared() -> None:
    X, y = tiny(0, n=9, d=3)
    n, d = len(np.unique(np.column_stack([X, y]), axis=0)), 3
    zero_one = models.zero_one(X, y).program()
    assert (zero_one.n_columns, int(zero_one.binary.sum()), zero_one.n_rows) == (n + d + 1, n, n + 2)
    assert len(zero_one.indicators) == n
    l2 = models.hinge_svm(X, y).program()
    assert (l2.n_columns, l2.n_rows) == (n + d + 1, n)
    l1 = models.hinge_svm(X, y, penalty="l1").program()
    assert (l1.n_columns, l1.n_rows) == (n + 2 * d + 1, n + 2 * d)


def test_equal_points_become_weights() -> None:
    X, y = tiny(9, n=6)
    weights = np.array([1.0, 2.0, 1.0, 3.0, 0.0, 1.0])
    repeated = np.repeat(np.arange(6), weights.astype(int))
    weighted = models.zero_one(X, y, sample_weight=weights)
    copied = models.zero_one(X[repeated], y[repeated])
    assert weighted.program().n_columns == copied.program().n_columns
    assert mipclass.solve(weighted, "highs").objective == mipclass.solve(copied, "highs").objective
    assert np.array_equal(copied.program().c, weighted.program().c)
    assert (copied.program().A != weighted.program().A).nnz == 0


CONSTRAINTS = {
    "fpr": lambda data: models.FalsePositiveRate(at_most=0.4),
    "fnr": lambda data: models.FalseNegativeRate(at_most=0.4),
    "features": lambda data: models.MaxFeatures(1),
    "monotone": lambda data: models.Monotone({"x0": 1}),
    "parity": lambda data: models.RateParity(np.arange(len(data)) % 2, at_most=0.5),
    "integer": lambda data: models.IntegerCoefficients(-3, 3),
}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**6), first=st.sampled_from(sorted(CONSTRAINTS)), second=st.sampled_from(sorted(CONSTRAINTS))
)
def test_pairs_of_constraints(seed: int, first: str, second: str) -> None:
    """Satisfied when recounted; relaxing never worsens; predict makes exactly the claimed errors."""
    X, y = tiny(seed, n=9, d=2)
    parts = [CONSTRAINTS[name](X) for name in dict.fromkeys([first, second])]
    tight = models.Model(X, y, minimize=models.ZeroOne(), subject_to=parts)
    loose = models.Model(X, y, minimize=models.ZeroOne(), subject_to=parts[:1])
    result, relaxed = (mipclass.solve(problem, "highs") for problem in (tight, loose))
    if result.status == "infeasible":
        return
    assert result.recounted
    assert not tight.violations(result.values)
    assert relaxed.objective <= result.objective
    assert np.sum(tight.predict(result.values) != y) == result.objective


TERMS = {
    "0-1": lambda: models.ZeroOne(),
    "0-1 on positives": lambda: models.ZeroOne(on="positives"),
    "0-1 with margin and L1": lambda: models.ZeroOne(margin=1) + 0.5 * models.L1(),
    "hinge and L1": lambda: models.Hinge() + models.L1(),
    "hinge and L2": lambda: 0.5 * models.L2() + models.Hinge(),
    "squared hinge and L1": lambda: models.SquaredHinge() + models.L1(),
}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), term=st.sampled_from(sorted(TERMS)), constraint=st.sampled_from(sorted(CONSTRAINTS)))
def test_pairs_of_terms_and_constraints(seed: int, term: str, constraint: str) -> None:
    """Satisfied when recounted, the objective too; without the constraint the optimum is no worse."""
    X, y = tiny(seed, n=7, d=2)
    tight = models.Model(X, y, minimize=TERMS[term](), subject_to=CONSTRAINTS[constraint](X))
    loose = models.Model(X, y, minimize=TERMS[term]())
    result, relaxed = (mipclass.solve(problem, "scip") for problem in (tight, loose))
    if result.status == "infeasible":
        return
    assert result.recounted
    assert not tight.violations(result.values)
    assert relaxed.objective <= result.objective + 1e-6 * max(1.0, abs(result.objective))


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: models.zero_one([[0.0], [np.nan]], [0, 1]), "1 NaN or infinite"),
        (lambda: models.zero_one([[0.0], [1.0]], [1, 1]), "exactly two labels; got 1"),
        (lambda: models.zero_one([[0.0], [1.0], [2.0]], [0, 1, 2]), "OneVsRestClassifier"),
        (lambda: models.zero_one([0.0, 1.0], [0, 1]), "two axes"),
        (lambda: models.zero_one(np.zeros((0, 2)), []), "empty"),
        (lambda: models.zero_one([["a"], ["b"]], [0, 1]), "must hold numbers"),
        (lambda: models.zero_one(X_OK, [0, 1]), "one label for each of the 3 points"),
        (lambda: models.zero_one(X_OK, Y_OK, sample_weight=[1, -1, 1]), ">= 0"),
        (lambda: models.zero_one(X_OK, Y_OK, sample_weight=[0, 1, 1]), "weight zero"),
        (lambda: models.zero_one(X_OK, Y_OK, class_weight={3: 1}), "not a label"),
        (lambda: models.zero_one(X_OK, Y_OK, feature_names=["a"]), "1 names but X has 2"),
        (lambda: models.zero_one(X_OK, Y_OK, feature_names=["a", "a"]), "repeats a name"),
        (lambda: models.zero_one(X_OK, Y_OK, pos_label=7), "not a label of y"),
        (lambda: models.FalsePositiveRate(at_most=5), r"in \[0, 1\]; got 5"),
        (lambda: models.MaxFeatures(1.5), "whole number"),
        (lambda: models.zero_one(X_OK, Y_OK, subject_to=[models.Monotone({"age": 1})]), "'age', which X does not have"),
        (lambda: models.Monotone({"age": 2}), "must be \\+1"),
        (lambda: models.zero_one(X_OK, Y_OK, subject_to=[models.RateParity([0, 1], 0.1)]), "each of the 3 points"),
        (lambda: -1 * models.Hinge(), "must be finite and >= 0"),
        (lambda: models.Model(X_OK, Y_OK, minimize=models.ZeroOne() + models.L2()), r"Use ZeroOne\(margin=1\)"),
        (lambda: models.zero_one(X_OK, Y_OK, subject_to=[models.Bounds(w=(-1, 1))]), r"Use ZeroOne\(margin=1\)"),
        (lambda: models.zero_one(X_OK, Y_OK).w["age"], "no entry named 'age'"),
        (lambda: models.Model(X_OK, Y_OK, minimize="hinge"), "takes a loss"),
        (lambda: models.zero_one(X_OK, Y_OK, subject_to=["fpr"]), "takes constraints"),
        (lambda: models.Bounds(w=(1, 0)), "lower <= upper"),
    ],
)
def test_bad_input_is_explained(build: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        build()  # type: ignore[operator]


def test_labels_of_any_kind_and_the_positive_class() -> None:
    problem = models.zero_one(X_OK, ["no", "yes", "yes"])
    assert problem.classes.tolist() == ["no", "yes"]
    assert models.zero_one(X_OK, ["no", "yes", "yes"], pos_label="no").y_pm1.tolist() == [1, -1, -1]
    assert isinstance(problem.b, Affine)


def test_printing_shows_the_maths() -> None:
    problem = models.Model(X_OK, Y_OK, minimize=models.ZeroOne(), subject_to=models.FalsePositiveRate(0.1))
    assert "sum_i weight_i [margin_i <= 0]" in str(problem)
    assert "false-positive rate <= 0.1" in str(problem)


@pytest.mark.slow
def test_heart_with_two_side_constraints(tmp_path: Path) -> None:
    """Fewest errors with false positives <= 10 % and at most 5 features, in 30 s, against L1-logistic regression."""
    if "heart_statlog" not in datasets.available():
        pytest.skip("set MIPCLASS_DATA to a folder with heart_statlog.npz")
    heart = datasets.load("heart_statlog")
    X, y = heart.X, heart.y
    limits = [models.FalsePositiveRate(at_most=0.1), models.MaxFeatures(5)]
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=limits)
    result = mipclass.solve(problem, "highs", time_limit=30)
    wrong = problem.predict(result.values) != y
    assert result.recounted
    assert wrong[y < 0].mean() <= 0.1
    assert np.count_nonzero(result.values["w"]) <= 5
    assert wrong.sum() == result.objective < min((y > 0).sum(), _l1_logistic(X, y, rate=0.1, features=5))
    assert result.bound is not None
    problem.write(tmp_path / "heart.lp")
    assert (tmp_path / "heart.lp").stat().st_size > 1000


def _l1_logistic(X: np.ndarray, y: np.ndarray, rate: float, features: int) -> int:
    """Fewest errors of L1-logistic rules with few enough features, each thresholded to the false-positive rate."""
    Z = StandardScaler().fit_transform(X)
    best = len(y)
    for C in np.logspace(-3, 1, 40):
        w = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C).fit(Z, y).coef_[0]
        if 0 < np.count_nonzero(w) <= features:
            scores = Z @ w
            negatives = np.sort(scores[y < 0])[::-1]
            best = min(best, int(np.sum((scores > negatives[int(rate * len(negatives))]) != (y > 0))))
    return best
