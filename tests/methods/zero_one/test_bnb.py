"""BnB: XOR, brute force, both variants, its bounds and tree, and the same rules inside SCIP and HiGHS."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from mipclass import models, solve
from mipclass.errors import InvalidInputError, UnsupportedProgramError
from mipclass.methods.zero_one.bnb import LossRules, indicator_hooks
from mipclass.methods.zero_one.bnb_lps import CellLP, HullLP
from mipclass.methods.zero_one.kernels.bnb_conflicts import packing_bound, propagate_conflicts
from mipclass.methods.zero_one.prepared import prepare
from tests.truth.zero_one import KINDS, least_loss, tiny_instance

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1, 1, -1, -1])


def cloud(seed: int, n: int, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 1.2 * rng.standard_normal(n) > 0, 1, -1)


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_xor_has_one_error(variant):
    """The printed algorithm says 0: neither hull holds a point of the other, yet they cross."""
    result = solve(models.zero_one(*XOR), solver="bnb", options={"variant": variant})
    assert result.objective == 1
    assert result.claim == "proven"
    assert result.recounted


@pytest.mark.parametrize("variant", ["default", "paper"])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_brute_force(kind, variant):
    for seed in range(300, 303):
        X, y, weights = tiny_instance(seed, kind)
        problem = models.zero_one(X, y, sample_weight=weights)
        result = solve(problem, solver="bnb", options={"variant": variant})
        assert result.status == "optimal"
        assert result.objective == result.bound == least_loss(X, y, weights)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_equals_brute_force_on_hundreds(kind):
    for seed in range(400, 460):
        X, y, weights = tiny_instance(seed, kind)
        for variant in ("default", "paper"):
            result = solve(models.zero_one(X, y, sample_weight=weights), solver="bnb", options={"variant": variant})
            assert result.objective == result.bound == least_loss(X, y, weights)


def test_order_best_and_depth_agree_with_pcs():
    X, y = cloud(0, 30)
    problem = models.zero_one(X, y)
    truth = solve(problem, solver="pcs").objective
    for order in ("depth", "best"):
        assert solve(problem, solver="bnb", options={"order": order}).objective == truth


def test_limits_keep_incumbent_bound_and_trace():
    X, y = cloud(1, 150, 4)
    result = solve(models.zero_one(X, y), solver="bnb", options={"nodes": 30})
    assert result.status == "node_limit"
    assert result.claim == "heuristic"
    assert result.nodes == 30
    assert 0 < result.bound < result.objective
    assert result.trace[-1][1:] == (result.objective, result.bound)
    truth = solve(models.zero_one(X, y), solver="csa").objective
    assert result.bound <= truth


def test_tree_comes_back_as_a_graph():
    X, y = cloud(2, 25)
    result = solve(models.zero_one(X, y), solver="bnb", options={"keep_tree": True, "variant": "paper"})
    tree = result.extra["tree"]
    assert nx.is_arborescence(tree)
    assert tree.number_of_nodes() >= result.nodes
    fates = nx.get_node_attributes(tree, "fate")
    assert set(fates.values()) <= {"branched", "pruned", "infeasible", "leaf"}
    for parent, child, how in tree.edges(data=True):
        assert how["value"] in (0, 1)
        assert tree.nodes[parent]["fate"] == "branched"
        assert tree.nodes[child]["bound"] >= tree.nodes[parent]["bound"]


def test_conflicts_hold_and_bound_from_below():
    X, y = cloud(3, 40, 3)
    data = prepare(X, y.astype(float))
    rules = LossRules(data, np.array([1.0, 0.0, 0.0, 0.0]))
    fixed = np.full(rules.n, -1, dtype=np.int8)
    rules.separate(fixed)
    assert rules.n_conflicts > 0
    for k in range(rules.n_conflicts):
        members = rules.pool[k][rules.pool[k] >= 0] >> 1
        assert CellLP(rules.rows[members]).solve(np.ones(len(members), bool), np.zeros(len(members), bool))[0] is None
    assert 0 < rules.bound(fixed) <= solve(models.zero_one(X, y), solver="pcs").objective


def test_conflict_kernels_by_hand():
    pool = np.array([[0, 2, -1], [2, 4, 6], [8, 10, -1]], dtype=np.int32)  # {0, 1}, {1, 2, 3}, {4, 5} not all right
    fixed = np.array([0, -1, -1, -1, -1, -1], dtype=np.int8)
    assert propagate_conflicts(pool, 3, fixed)
    assert fixed.tolist() == [0, 1, -1, -1, -1, -1]
    assert packing_bound(pool, 3, fixed, np.ones(6)) == 1  # {4, 5}; {1, 2, 3} is paid by 1
    free = np.full(6, -1, dtype=np.int8)
    assert packing_bound(pool, 3, free, np.array([1.0, 3.0, 5.0, 5.0, 0.5, 4.0])) == 1 + 2 + 0.5
    assert not propagate_conflicts(pool, 3, np.array([0, 0, -1, -1, -1, -1], dtype=np.int8))
    mixed = np.array([[0, 3]], dtype=np.int32)  # not: 0 right and 1 wrong
    taken = np.array([-1, 1], dtype=np.int8)
    assert packing_bound(mixed, 1, np.array([-1, -1], dtype=np.int8), np.ones(2)) == 0
    assert packing_bound(mixed, 1, taken, np.ones(2)) == 1
    assert propagate_conflicts(mixed, 1, taken)
    assert taken.tolist() == [1, 1]


def test_hull_membership():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((30, 3)), np.zeros((1, 3)), [[9.0, 9.0, 9.0]]])
    hull = np.zeros(32, dtype=bool)
    hull[:30] = True
    inside = HullLP(np.column_stack([X, np.ones(32)]), X, rng).inside(hull, ~hull)
    assert inside.tolist() == [30]


@pytest.mark.parametrize("solver", ["scip", "highs"])
def test_the_rules_attach_to_the_indicator_model(solver):
    pytest.importorskip("pyscipopt")
    for seed in range(4):
        X, y = cloud(seed, 18)
        problem = models.zero_one(X, y)
        hooks = indicator_hooks(problem)
        result = solve(problem, solver=solver, options={"hooks": hooks})
        assert result.objective == solve(problem, solver="pcs").objective
        assert result.status == "optimal"


def test_hooks_refuse_what_they_do_not_fit():
    X, y = cloud(0, 20)
    problem = models.zero_one(X, y, subject_to=[models.FalsePositiveRate(at_most=0.1)])
    with pytest.raises(UnsupportedProgramError, match="no side constraints"):
        indicator_hooks(problem)


def test_tree_can_be_drawn():
    pytest.importorskip("matplotlib")
    from mipclass.plots import SearchTreeDisplay

    X, y = cloud(2, 25)
    result = solve(models.zero_one(X, y), solver="bnb", options={"keep_tree": True, "nodes": 40})
    display = SearchTreeDisplay.from_result(result)
    assert sum(display.fates.values()) == result.extra["tree"].number_of_nodes()
    assert display.fates["open"] > 0
    for parent, child in result.extra["tree"].edges:
        assert display.positions[child][1] == display.positions[parent][1] + 1
    assert len(set(display.positions.values())) == len(display.positions)
    assert "decisions" in display.ax_.get_ylabel()
    with pytest.raises(InvalidInputError, match="holds no search tree"):
        SearchTreeDisplay.from_result(solve(models.zero_one(X, y), solver="sla"))


def test_a_time_limit_is_called_so_not_an_interruption():
    result = solve(models.zero_one(*cloud(3, 40)), solver="bnb", time_limit=1e-9)
    assert (result.status, result.claim, result.recounted) == ("time_limit", "heuristic", True)
