"""Declared models against brute force, second solvers and each other; decisions of the design."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import mipclass
from mipclass import datasets, models
from mipclass.errors import InvalidInputError, UnsupportedProgramError
from mipclass.modelling.expression import Affine
from tests.truth.zero_one import least_loss

MIP_SOLVERS = ["highs", "scip"]


def tiny(seed: int, n: int = 7, d: int = 2, lattice: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float) if lattice else rng.normal(size=(n, d))
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return X, y


def pm1(y: np.ndarray) -> np.ndarray:
    return np.where(y == np.unique(y)[1], 1.0, -1.0)


@pytest.mark.parametrize("solver", MIP_SOLVERS)
@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_zero_one_equals_enumeration(solver: str, lattice: bool, seed: int) -> None:
    X, y = tiny(seed, lattice=lattice)
    weights = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    problem = models.zero_one(X, y, sample_weight=weights)
    result = mipclass.solve(problem, solver)
    assert result.objective == least_loss(X, pm1(y), weights)
    assert result.recounted
    assert result.bound == result.objective
    assert weights @ (problem.predict(result.values) != y) == result.objective


def test_xor_needs_one_error() -> None:
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    assert mipclass.solve(models.zero_one(X, y), "highs").objective == 1


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e3, 1e5])
def test_zero_one_does_not_mind_units(scale: float, shift: float) -> None:
    X, y = tiny(11, n=20, d=3)
    expected = mipclass.solve(models.zero_one(X, y), "highs").objective
    assert mipclass.solve(models.zero_one(scale * (X + shift), y), "highs").objective == expected


def test_constant_columns_and_one_distinct_point() -> None:
    X, y = tiny(3)
    with_constant = np.hstack([X, np.full((len(X), 1), 7.0)])
    assert mipclass.solve(models.zero_one(with_constant, y), "highs").objective == least_loss(X, pm1(y))
    same = mipclass.solve(models.zero_one(np.ones((5, 2)), [0, 1, 1, 1, 0]), "highs")
    assert (same.objective, same.recounted) == (2, True)


@pytest.mark.parametrize("solver", MIP_SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_rate_limits_equal_enumeration(solver: str, seed: int) -> None:
    X, y = tiny(seed, n=8)
    negative = pm1(y) < 0
    limit = int(np.floor(0.25 * negative.sum() + 1e-9))
    expected = least_loss(X, pm1(y), allowed=lambda errors: errors[negative].sum() <= limit)
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.FalsePositiveRate(at_most=0.25))
    result = mipclass.solve(problem, solver)
    assert result.objective == expected
    wrong = problem.predict(result.values) != y
    assert wrong[negative].mean() <= 0.25
    assert not problem.violations(result.values)


@pytest.mark.parametrize("seed", range(3))
def test_neyman_pearson_counts_only_positives(seed: int) -> None:
    X, y = tiny(seed, n=8)
    positive = pm1(y) > 0
    problem = models.Model(
        X, y, minimize=models.ZeroOne(on="positives"), subject_to=models.FalsePositiveRate(at_most=0.0)
    )
    result = mipclass.solve(problem, "highs")
    expected = least_loss(X, pm1(y), positive.astype(float), allowed=lambda errors: not errors[~positive].any())
    assert result.objective == expected


@pytest.mark.parametrize("seed", range(4))
def test_feature_limits_and_signs_equal_enumeration(seed: int) -> None:
    X, y = tiny(seed, n=7, d=3)
    one_feature = mipclass.solve(
        models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.MaxFeatures(1)), "highs"
    )
    expected = min(least_loss(X, pm1(y), zero={0, 1, 2} - {j}) for j in range(3))
    assert one_feature.objective == expected
    assert np.count_nonzero(one_feature.values["w"]) <= 1
    rising = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.Monotone({"x0": +1, "x1": "decreasing"}))
    result = mipclass.solve(rising, "highs")
    assert result.objective == least_loss(X, pm1(y), sides=[([1, 0, 0, 0], 0), ([0, -1, 0, 0], 0)])
    assert result.values["w"][0] >= 0 >= result.values["w"][1]
    numbered = models.zero_one(X, y, subject_to=[models.Monotone({0: +1}), models.Bounds(w={1: (-np.inf, 0.0)})])
    assert mipclass.solve(numbered, "highs").objective == result.objective
    ordered = models.zero_one(X, y)
    ordered = ordered.subject_to(ordered.w["x0"] >= ordered.w["x2"])
    assert mipclass.solve(ordered, "highs").objective == least_loss(X, pm1(y), sides=[([1, 0, -1, 0], 0)])


@pytest.mark.parametrize("rate", ["error", "positive", "false_positive", "false_negative"])
def test_parity_equals_enumeration_and_cannot_be_faked(rate: str) -> None:
    X, y = tiny(5, n=8)
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    groups = np.array(list("aaaabbbb"))
    constraint = models.RateParity(groups, at_most=0.3, rate=rate)
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=constraint)
    result = mipclass.solve(problem, "highs")

    def spread(errors: np.ndarray) -> float:
        positive = (y == 1) ^ errors
        counted = {"false_positive": y == 0, "false_negative": y == 1}.get(rate, np.ones(8, bool))
        happened = positive if rate == "positive" else errors
        rates = [happened[(groups == g) & counted].mean() for g in "ab"]
        return max(rates) - min(rates)

    assert result.objective == least_loss(X, pm1(y), allowed=lambda e: spread(e) <= 0.3, exactly=True)
    assert spread(problem.predict(result.values) != y) <= 0.3


@pytest.mark.parametrize("seed", range(3))
def test_scorecard_equals_enumeration_of_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (12, 2)).astype(float), rng.integers(0, 2, 12)
    y[:2] = 0, 1
    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=models.IntegerCoefficients(-2, 2))
    result = mipclass.solve(problem, "highs")
    best = 12
    for w in np.ndindex(5, 5):
        scores = X @ (np.array(w) - 2.0)
        for threshold in np.append(np.unique(scores) - 0.5, scores.max() + 0.5):
            best = min(best, int(np.sum((scores > threshold) != (y == 1))))
    assert result.objective == best
    assert np.array_equal(result.values["w"], np.round(result.values["w"]))


def test_hinge_svm_equals_scikit_learn() -> None:
    X, y = tiny(1, n=30, d=4)
    ours = mipclass.solve(models.hinge_svm(X, y, C=2.0), "highs")
    theirs = SVC(kernel="linear", C=2.0, tol=1e-8).fit(X, y)
    w, b = theirs.coef_[0], theirs.intercept_[0]
    value = 0.5 * w @ w + 2.0 * np.maximum(0, 1 - pm1(y) * (X @ w + b)).sum()
    assert ours.objective == pytest.approx(value, rel=1e-6)
    assert ours.recounted


def test_penalised_offset_is_a_constant_column() -> None:
    X, y = tiny(2, n=40, d=3)
    ours = mipclass.solve(models.hinge_svm(X, y, C=1.0, intercept="penalised"), "highs")
    theirs = LinearSVC(loss="hinge", C=1.0, tol=1e-10, max_iter=10**6, dual=True).fit(X, y)
    w, b = theirs.coef_[0], theirs.intercept_[0]
    value = 0.5 * (w @ w + b * b) + np.maximum(0, 1 - pm1(y) * (X @ w + b)).sum()
    assert ours.objective == pytest.approx(value, rel=1e-6)


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


def test_squared_losses_have_the_closed_form() -> None:
    X, y = tiny(6, n=20, d=3)
    ones = np.hstack([X, np.ones((20, 1))])
    coefficients, residual, *_ = np.linalg.lstsq(ones, pm1(y), rcond=None)
    result = mipclass.solve(models.Model(X, y, minimize=models.Squared()), "highs")
    assert result.objective == pytest.approx(residual[0], rel=1e-6)
    assert np.allclose(np.append(result.values["w"], result.values["b"]), coefficients, atol=1e-4)
    squared_hinge = models.Model(
        X, y, minimize=0.5 * models.L2() + models.SquaredHinge(), rule=models.Linear("penalised")
    )
    theirs = LinearSVC(loss="squared_hinge", C=1.0, tol=1e-10, max_iter=10**6, dual=True).fit(X, y)
    value = squared_hinge.recount({"w": theirs.coef_[0], "b": theirs.intercept_[0]})
    assert mipclass.solve(squared_hinge, "highs").objective == pytest.approx(value, rel=1e-6)


def test_margin_one_takes_penalties_and_derives_its_box() -> None:
    X, y = tiny(8, n=8)
    problem = models.Model(X, y, minimize=models.ZeroOne(margin=1) + 0.5 * models.L1())
    highs, scip = (mipclass.solve(problem, solver) for solver in MIP_SOLVERS)
    assert highs.objective == pytest.approx(scip.objective, rel=1e-5)
    assert highs.recounted
    assert "within |w_j|" in highs.extra["scope"]


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


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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

X_OK, Y_OK = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 1]


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


def test_smooth_losses_evaluate_but_have_no_program() -> None:
    problem = models.Model(X_OK, Y_OK, minimize=models.Logistic())
    assert problem.recount({"w": np.zeros(2), "b": 0.0}) == pytest.approx(3 * np.log(2))
    assert models.Model(X_OK, Y_OK, minimize=models.Sigmoid(5.0)).recount({"w": np.zeros(2), "b": 0.0}) == 1.5
    with pytest.raises(UnsupportedProgramError, match="evaluation"):
        problem.program()


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
