"""The RGD-tree: slabs against sorting, trees against exact optima, the paper's lemmas on oracle paths."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import ceil, floor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.analysis.width_curve import width_curve
from mipclass.errors import InvalidInputError, MipclassWarning, OptionError, UnsupportedProgramError
from mipclass.methods.outlier_svm.random_descent import Growth, boost, draw, grow, offspring, sample_size, tree_height
from mipclass.methods.outlier_svm.slab import Budget, Cloud, origin, slabs
from mipclass.methods.outlier_svm.slab_widening import slab_along, widen
from mipclass.methods.outlier_svm.support_sets import widest_direction
from mipclass.protocol.run import Run


def width_by_sorting(f1, f2, k1, k2):
    """The slow, obvious twin of `slabs` for one direction and one split."""
    return np.sort(f1)[k1] - np.sort(f2)[::-1][k2]


def blobs(seed, n=14, d=2, apart=2.5):
    rng = np.random.default_rng(seed)
    p1, p2 = rng.normal(size=(n, d)), rng.normal(size=(n - 2, d))
    p1[:, 0] += apart
    p2[:, 0] -= apart
    p1[0], p2[0] = p2[1] + 0.3, p1[1] - 0.3  # two outliers deep in the other class
    return p1, p2


# -- slabs ------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 15), st.integers(1, 15), st.integers(0, 14), st.integers(0, 14))
def test_slabs_equal_sorting(seed, n1, n2, k1, k2):
    k1, k2 = min(k1, n1 - 1), min(k2, n2 - 1)
    rng = np.random.default_rng(seed)
    f1, f2 = rng.integers(-5, 6, size=(3, n1)).astype(float), rng.integers(-5, 6, size=(3, n2)).astype(float)
    each = slabs(f1, f2, Budget(k1, k2)).width
    total = slabs(f1, f2, Budget(total=k1 + k2))
    for v in range(3):
        assert each[v] == width_by_sorting(f1[v], f2[v], k1, k2)
        splits = [(s, k1 + k2 - s) for s in range(k1 + k2 + 1) if s < n1 and k1 + k2 - s < n2]
        assert total.width[v] == max(width_by_sorting(f1[v], f2[v], s, t) for s, t in splits)
        assert total.out1[v] + total.out2[v] == k1 + k2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 6))
def test_weights_are_repetitions(seed, total):
    rng = np.random.default_rng(seed)
    weights1, weights2 = rng.integers(1, 4, size=5), rng.integers(1, 4, size=6)
    f1, f2 = rng.normal(size=(2, 5)), rng.normal(size=(2, 6))
    repeated = np.repeat(f1, weights1, axis=1), np.repeat(f2, weights2, axis=1)
    for budget in (Budget(total // 2, total - total // 2), Budget(total=total)):
        weighted = slabs(f1, f2, budget, weights1.astype(float), weights2.astype(float))
        np.testing.assert_allclose(weighted.width, slabs(*repeated, budget).width)


def test_slab_is_recomputed_from_the_data():
    p1, p2 = blobs(0)
    u = np.array([1.0, 0.0])
    found = slab_along(Cloud(p1), Cloud(p2), Budget(1, 1), u)
    assert found.width == pytest.approx(width_by_sorting(p1[:, 0], p2[:, 0], 1, 1))
    assert (p1[~found.out1] @ u).min() == found.a
    assert (p2[~found.out2] @ u).max() == found.c


# -- the tree ---------------------------------------------------------------------------------------------------------


def test_sample_size_and_height_are_the_printed_formulas_corrected():
    assert sample_size(5, 0.5, 0.1, two_class=False) == ceil(3 * np.log(50))
    assert sample_size(5, 0.5, 0.1) == ceil(9 * np.log(50))
    assert tree_height(0.5, 1.0) == ceil(3 * 16 * np.log(2))


def test_every_node_is_a_descent_step_of_its_parent():
    p1, p2 = blobs(1)
    rng = np.random.default_rng(0)
    tree = grow(Cloud(p1), Cloud(p2), Budget(1, 1), p1.mean(0) - p2.mean(0), Growth(height=6), rng, Run.quiet())
    assert max(node.level for node in tree.nodes) == 6
    for node in tree.nodes:
        assert node.width == pytest.approx(width_by_sorting(p1 @ node.u, p2 @ node.u, 1, 1))
        if node.parent is not None:
            parent = tree.nodes[node.parent]
            assert parent.level == node.level - 1
            assert np.linalg.norm(node.x) < np.linalg.norm(parent.x)


def test_at_most_max_nodes_a_level():
    p1, p2 = blobs(2, n=40)
    growth = Growth(height=4, max_nodes=3)
    tree = grow(Cloud(p1), Cloud(p2), Budget(2, 2), p1[5] - p2[5], growth, np.random.default_rng(0), Run.quiet())
    assert np.bincount([node.level for node in tree.nodes]).max() <= 3


def test_draws_come_from_the_worst_projections_only():
    f = np.arange(100.0)[::-1].copy()
    drawn = draw(f, 7.2, None, 500, np.random.default_rng(0))
    assert set(drawn) == set(range(92, 100))


def test_boosting_never_narrows():
    p1, p2 = blobs(3, n=40)
    widths = [
        tree.best.width
        for tree in boost(
            Cloud(p1),
            Cloud(p2),
            Budget(2, 2),
            p1[5] - p2[5],
            Growth(height=3),
            6,
            np.random.default_rng(0),
            Run.quiet(),
        )
    ]
    assert all(later >= earlier for earlier, later in pairwise(widths))


def test_subsampled_ranking_reports_widths_of_all_points():
    p1, p2 = blobs(4, n=300)
    growth = Growth(height=4, subsample=50)
    tree = grow(
        Cloud(p1), Cloud(p2), Budget(5, 5), p1.mean(0) - p2.mean(0), growth, np.random.default_rng(0), Run.quiet()
    )
    best = tree.best
    assert best.width == pytest.approx(width_by_sorting(p1 @ best.u, p2 @ best.u, 5, 5))


def test_csr_grows_the_same_tree():
    p1, p2 = blobs(5, n=60, d=6)
    p1[np.abs(p1) < 0.4], p2[np.abs(p2) < 0.4] = 0.0, 0.0
    root = p1.mean(0) - p2.mean(0)
    trees = [
        grow(Cloud(kind(p1)), Cloud(kind(p2)), Budget(total=4), root, Growth(), np.random.default_rng(0), Run.quiet())
        for kind in (np.asarray, sp.csr_array)
    ]
    np.testing.assert_allclose([n.width for n in trees[0].nodes], [n.width for n in trees[1].nodes], rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_lemma_6_along_an_oracle_path(seed):
    """One class: while x is no (epsilon, delta)-approximation, a step to a candidate inlier shrinks |x|^2 as printed."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 3))
    points[:28, 0] += 4.0
    points[28:, 0] -= 2.0
    gamma_n, delta, epsilon = 2, 0.5, 0.05
    u = widest_direction(Cloud(points), origin(3), Budget(gamma_n), Run.quiet())[0]
    optimum = slab_along(Cloud(points), origin(3), Budget(gamma_n), u)
    inliers = points[~optimum.out1]
    rho = optimum.width
    D = max(np.linalg.norm(p - q) for p in inliers for q in inliers)
    x = inliers[rng.integers(len(inliers))]
    shrink = 1 - (epsilon * rho / (D + rho)) ** 2
    reached = False
    for _ in range(400):
        f = points @ x / np.linalg.norm(x)
        candidates = np.argsort(f)[: ceil((1 + delta) * gamma_n)]
        if f[candidates].max() >= (1 - epsilon) * rho:
            reached = True
            break
        usable = [i for i in candidates if not optimum.out1[i]]
        s = points[usable[rng.integers(len(usable))]]
        child, _ = offspring(
            Cloud(s[None]), origin(3), x[None], f[None, :1], np.zeros((1, 1)),
            slabs(np.array([[s @ x]]), np.zeros((1, 1)), Budget()), Budget(), Growth(n_children=1), rng,
        )  # fmt: skip
        assert child[0] @ child[0] <= shrink * (x @ x) * (1 + 1e-12)
        x = child[0]
    assert reached


def approximates(model_points, budget, relaxed, tree, epsilon):
    """Definition 3 or 5: some node's slab that leaves out (1 + delta) gamma n is (1 - epsilon) times the widest."""
    p1, p2 = model_points
    u = widest_direction(p1, p2, budget, Run.quiet())[0]
    rho = slab_along(p1, p2, budget, u).width
    return max(slab_along(p1, p2, relaxed, node.u).width for node in tree.nodes) >= (1 - epsilon) * rho


def test_trees_are_approximations_as_often_as_promised():
    """40 small instances with exact optimum; the promise is (1 - mu)(1 - gamma1)(1 - gamma2) = 0.66 of them."""
    hits = 0
    for seed in range(40):
        p1, p2 = (Cloud(p) for p in blobs(seed, apart=4.0))
        rng = np.random.default_rng(seed)
        root = p1.rows(rng.integers(p1.n, size=1))[0] - p2.rows(rng.integers(p2.n, size=1))[0]
        growth = Growth(height=12, max_nodes=5, n_children=sample_size(12, 0.5, 0.1), delta=0.5)
        tree = grow(p1, p2, Budget(1.9, 1.9), root, growth, rng, Run.quiet())
        hits += approximates((p1, p2), Budget(1.9, 1.9), Budget(1.9 * 1.5, 1.9 * 1.5), tree, 0.1)
    assert hits / 40 >= 0.66


# -- exact optima -----------------------------------------------------------------------------------------------------


def as_data(p1, p2):
    return np.vstack([p1, p2]), np.repeat([1, -1], [len(p1), len(p2)])


@pytest.mark.parametrize("outliers", [2, {1: 1, -1: 1}, 0.1])
def test_enumeration_and_miqp_agree(outliers):
    X, y = as_data(*blobs(0, n=9))
    model = models.outlier_svm(X, y, outliers)
    by_supports = mipclass.solve(model, "enumerate")
    by_miqp = mipclass.solve(model, "scip")
    assert by_supports.claim == by_miqp.claim == "proven"
    assert by_supports.objective == pytest.approx(by_miqp.objective, rel=1e-5)
    assert by_supports.recounted
    assert mipclass.solve(model, "rgd-tree").objective >= by_supports.objective * (1 - 1e-9)


def test_enumeration_equals_trying_every_subset():
    """Truth from another side: remove every pair of points, solve each maximum margin problem."""
    from mipclass.methods.outlier_svm.polytope import polytope_distance
    from mipclass.protocol.result import Status

    p1, p2 = blobs(6, n=7)
    best = 0.0
    for i in combinations(range(len(p1)), 1):
        for j in combinations(range(len(p2)), 1):
            found = polytope_distance(np.delete(p1, i, axis=0), np.delete(p2, j, axis=0))
            if found.status is Status.OPTIMAL:
                best = max(best, found.distance)
    u = widest_direction(Cloud(p1), Cloud(p2), Budget(1, 1), Run.quiet())[0]
    assert slab_along(Cloud(p1), Cloud(p2), Budget(1, 1), u).width == pytest.approx(best, rel=1e-8)


def test_one_class_optimum():
    X = np.random.default_rng(1).normal(size=(12, 2))
    X[:, 0] += 2.5
    model = models.outlier_svm(X, None, 2)
    exact = mipclass.solve(model, "enumerate")
    assert exact.objective == pytest.approx(mipclass.solve(model, "scip").objective, rel=1e-5)
    found = mipclass.solve(model)
    assert found.solver == "rgd-tree"
    assert found.objective >= exact.objective * (1 - 1e-9)
    assert found.extra["width"] == pytest.approx(1 / np.linalg.norm(found.values["w"]))


def test_widening_never_narrows_and_a_backend_can_do_it():
    X, y = as_data(*blobs(7, n=30))
    model = models.outlier_svm(X, y, 2)
    own = mipclass.solve(model, "rgd-tree", options={"height": 3, "rounds": 1})
    other = mipclass.solve(model, "rgd-tree", options={"height": 3, "rounds": 1, "polish": "piqp"})
    assert own.extra["width"] >= own.extra["tree_width"]
    assert own.claim == "local"
    assert other.objective == pytest.approx(own.objective, rel=1e-5)
    tree_only = mipclass.solve(model, "rgd-tree", options={"height": 3, "rounds": 1, "polish": False})
    assert tree_only.claim == "heuristic"
    assert tree_only.extra["width"] == own.extra["tree_width"]


def test_widen_ends_where_nothing_changes():
    p1, p2 = (Cloud(p) for p in blobs(8, n=30))
    first, _ = widen(p1, p2, Budget(1, 1), np.array([1.0, 0.0]), Run.quiet())
    again, rounds = widen(p1, p2, Budget(1, 1), first.u, Run.quiet())
    assert rounds == 1
    assert again.width == pytest.approx(first.width, rel=1e-9)


def test_variant_paper_searches_every_split():
    X, y = as_data(*blobs(9, n=12))
    model = models.outlier_svm(X, y, 2)
    printed = mipclass.solve(model, options={"variant": "paper", "height": 8, "splits": 3}, solver="rgd-tree")
    assert printed.extra["trees"] >= 3
    assert printed.claim == "heuristic"
    assert printed.objective >= mipclass.solve(model, "enumerate").objective * (1 - 1e-9)


def test_width_curve_grows_with_the_outliers():
    X, y = as_data(*blobs(0, n=9))
    exact, tree = (width_curve(X, y, range(4), solver=solver) for solver in ("enumerate", "rgd-tree"))
    known = exact.widths[~np.isnan(exact.widths)]
    assert np.all(np.diff(known) >= 0)
    assert exact.proven[~np.isnan(exact.widths)].all()
    both = ~np.isnan(tree.widths)
    assert np.all(tree.widths[both] <= exact.widths[both] * (1 + 1e-9))


# -- the model --------------------------------------------------------------------------------------------------------


def test_size_and_names_of_the_program():
    X, y = as_data(*blobs(0, n=9))
    program = models.outlier_svm(X, y, 2).program()
    assert (program.n_columns, program.n_rows, int(program.integer.sum())) == (16 + 2 + 1, 16 + 1, 16)
    by_class = models.outlier_svm(X, y, {1: 1, -1: 1}).program()
    assert by_class.n_rows == 16 + 2
    alone = models.outlier_svm(X, None, 2).program()
    assert (alone.n_columns, alone.n_rows) == (16 + 2, 16 + 1)
    none = models.outlier_svm(X, y, 0.01).program()
    assert not none.integer.any()


def test_big_m_does_not_cut_off_the_optimum(tmp_path):
    X, y = as_data(*blobs(3, n=9))
    model = models.outlier_svm(X, y, {1: 1, -1: 1})
    model.write(tmp_path / "outlier.lp")
    back = mipclass.read(tmp_path / "outlier.lp")
    found = mipclass.solve(back, "scip")
    assert found.objective == pytest.approx(mipclass.solve(model, "enumerate").objective, rel=1e-4)


def test_shares_and_counts():
    data = models.outlier_svm(np.arange(40.0).reshape(20, 2), np.repeat([0, 1], 10), 0.29).data
    assert floor(models.HardMargin(0.15).limits(data).total) == 3
    assert models.HardMargin(3).limits(data).total == 3
    assert models.HardMargin({1: 0.2}).limits(data).positives == pytest.approx(2)


@pytest.mark.parametrize("outliers", [1.0, -0.1, -1, "a", True, float("nan"), {1: 1.2}])
def test_outliers_out_of_range(outliers):
    with pytest.raises(InvalidInputError, match="outliers must be"):
        models.HardMargin(outliers)


def test_a_class_smaller_than_its_outliers():
    X, y = as_data(*blobs(0, n=9))
    with pytest.raises(InvalidInputError, match="all 7 points of class -1"):
        models.outlier_svm(X, y, 7)


def test_gilbert_refuses_outliers_and_names_who_can():
    X, y = as_data(*blobs(0))
    with pytest.raises(UnsupportedProgramError, match="rgd-tree"):
        mipclass.solve(models.outlier_svm(X, y, 2), "gilbert")


def test_gilbert_proves_the_maximum_margin():
    p1, p2 = blobs(0)
    X, y = as_data(p1[2:], p2[2:])
    model = models.outlier_svm(X, y, 0)
    found = mipclass.solve(model)
    assert found.solver == "gilbert"
    assert found.claim == "proven"
    assert found.recounted
    assert found.objective == pytest.approx(mipclass.solve(model, "piqp").objective, rel=1e-6)
    assert found.bound == pytest.approx(found.objective, rel=1e-8)
    printed = mipclass.solve(model, "gilbert", options={"variant": "paper", "epsilon": 0.01})
    assert printed.bound <= found.objective * (1 + 1e-12) <= printed.objective * (1 + 1e-12)


def test_gilbert_says_that_hulls_meet():
    X, y = np.array([[0.0], [2.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    found = mipclass.solve(models.outlier_svm(X, y, 0), "gilbert")
    assert found.status == "infeasible"
    assert not found.values


def test_rules_without_offset():
    X, y = as_data(*blobs(0, n=9))
    model = models.Model(
        X, y, rule=models.Linear(intercept=False), minimize=0.5 * models.L2(), subject_to=models.HardMargin(2)
    )
    exact = mipclass.solve(model, "enumerate")
    assert exact.objective == pytest.approx(mipclass.solve(model, "scip").objective, rel=1e-5)
    assert float(exact.values["b"]) == 0


def test_not_separable_is_a_warning_without_values():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.repeat([0, 1], 30)
    with pytest.warns(MipclassWarning, match="no separating slab"):
        found = mipclass.solve(models.outlier_svm(X, y, 2), "rgd-tree")
    assert found.claim == "none"
    assert not found.values
    assert found.extra["width"] <= 0


def test_time_limit_and_callback_return_the_incumbent():
    X, y = as_data(*blobs(0, n=200, d=20, apart=6.0))
    stopped = mipclass.solve(models.outlier_svm(X, y, 2), "rgd-tree", callback=lambda event: False)
    assert stopped.status == "interrupted"
    assert stopped.values


def test_warm_start_is_the_root():
    X, y = as_data(*blobs(0, n=30))
    model = models.outlier_svm(X, y, 2)
    good = mipclass.solve(model, "rgd-tree")
    options = {"height": 1, "rounds": 1, "polish": False, "tree": True}
    warm = mipclass.solve(model, "rgd-tree", warm_start=good, options=options)
    assert warm.extra["tree"].nodes[0]["width"] == pytest.approx(good.extra["width"])
    with pytest.raises(InvalidInputError, match="warm_start"):
        mipclass.solve(model, "rgd-tree", warm_start={"w": np.ones(3)})


def test_unknown_polish_backend():
    X, y = as_data(*blobs(0))
    with pytest.raises(OptionError, match="QPs"):
        mipclass.solve(models.outlier_svm(X, y, 2), "rgd-tree", options={"polish": "gilbert"})
