"""The exact mixed-integer model: sizes, what solvers say, what slp finds, files, warm starts, limits of its claims."""

import numpy as np
import pytest

from mipclass import models, read, solve
from mipclass.errors import InvalidInputError, UnsupportedProgramError
from tests.breadth import mostly_slow


def slab(seed, n=20, d=2, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where((np.abs(X[:, 0]) < 0.7) ^ (rng.random(n) < noise), 1, -1)


def disc(seed, n=24, d=2):
    X = np.random.default_rng(seed).uniform(-2, 2, size=(n, d))
    return X, np.where(np.linalg.norm(X, axis=1) < 1.2, 1, -1)


def best_by_enumeration(X, y, h, l1):
    """Every assignment of the outside points, each an LP: the obvious twin, for a handful of points."""
    from itertools import product

    from mipclass.models.point_sets import PointSets
    from tests.methods.polyhedral.test_assignment_lp import lp_value_written_out

    extended = np.hstack([X, -np.ones((len(X), 1))])
    A, B = extended[y > 0], extended[y < 0]
    prices = np.append(np.full(X.shape[1], l1), 0.0)
    sets = PointSets(A, B, np.full(len(A), 1 / len(A)), np.full(len(B), 1 / len(B)), prices)
    return min(lp_value_written_out(sets, np.array(s), h) for s in product(range(h), repeat=len(B)))


@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_equals_enumeration_of_all_assignments(l1):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(11, 2)), np.repeat([1, -1], [6, 5])
    truth = best_by_enumeration(X, y, 2, l1)
    assert truth > 0.05  # not separable, so that there is something to find
    problem = models.polyhedral(X, y, 2, l1=l1)
    exact = solve(problem, "scip")
    assert exact.claim == "proven"
    assert exact.objective == pytest.approx(truth, abs=1e-6)
    proven = solve(problem, options={"nodes": 1000, "rounds": 0})
    assert (proven.claim, proven.status) == ("proven", "optimal")
    assert proven.objective == pytest.approx(truth, abs=1e-7)
    assert solve(problem).objective == pytest.approx(truth, abs=1e-6)
    if l1:
        assert solve(problem, "highs").objective == pytest.approx(truth, abs=1e-6)


SMALL_CASES = [
    (make, seed, h, l1) for make in (slab, disc) for seed in range(3) for h, l1 in ((2, 0.0), (2, 0.02), (3, 0.02))
]
ONE_OF_EACH = [(slab, 0, 2, 0.0), (disc, 1, 2, 0.02), (slab, 2, 3, 0.02)]


@pytest.mark.parametrize(("make", "seed", "h", "l1"), mostly_slow(SMALL_CASES, fast=ONE_OF_EACH))
def test_slp_equals_the_proven_optimum(make, seed, h, l1):
    X, y = make(seed, n=22 if h == 2 else 16)
    problem = models.polyhedral(X, y, h, l1=l1)
    exact = solve(problem, "scip", time_limit=60)
    assert exact.claim == "proven"
    found = solve(problem)
    assert found.solver == "slp"
    assert found.recounted
    assert found.objective == pytest.approx(exact.objective, abs=1e-6)
    proven = solve(problem, options={"nodes": 5000, "rounds": 0})
    assert proven.claim == "proven"
    assert proven.objective == pytest.approx(exact.objective, abs=1e-6)
    assert proven.bound == pytest.approx(exact.objective, abs=1e-6)


def test_branch_and_bound_stopped_early_keeps_a_valid_bound():
    problem = models.polyhedral(*slab(0, n=40), 2)
    optimum = solve(problem, options={"nodes": 100_000})
    assert optimum.claim == "proven"
    for nodes in (1, 5, 20):
        early = solve(problem, options={"nodes": nodes})
        assert (early.status, early.nodes) == ("node_limit", nodes)
        assert early.claim == "local"
        assert 0 <= early.bound <= optimum.objective <= early.objective + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_slp_equals_the_proven_optimum_on_larger_cases(seed):
    h, l1 = (2, 3, 2, 2)[seed % 4], (0.01, 0.0, 0.003)[(seed // 2) % 3]
    X, y = (slab, disc)[seed % 2](seed, n=(30, 40, 36)[seed % 3], d=(2, 2, 3)[seed % 3])
    problem = models.polyhedral(X, y, h, l1=l1)
    exact = solve(problem, "scip", time_limit=900)
    assert exact.claim == "proven"
    assert solve(problem).objective == pytest.approx(exact.objective, abs=1e-6)


@pytest.mark.parametrize(("h", "l1"), [(1, 0.0), (1, 0.1), (2, 0.0), (3, 0.1)])
def test_sizes_are_as_documented(h, l1):
    X, y = slab(1, n=18, d=3)
    m, k, n = int((y > 0).sum()), int((y < 0).sum()), 3
    program = models.polyhedral(X, y, h, l1=l1).program()
    binaries = h * k if h > 1 else 0
    assert int(program.integer.sum()) == binaries
    assert program.n_columns == h * (n + 1) + m + k + binaries + (h * n if l1 else 0)
    assert program.n_rows == h * m + (k + h * k if h > 1 else k) + (2 * h * n if l1 else 0)
    assert len(program.indicators) == binaries


def test_branch_and_bound_stops_at_the_asked_gap():
    problem = models.polyhedral(*slab(0, n=40), 2)
    whole = solve(problem, options={"nodes": 100_000})
    rough = solve(problem, options={"nodes": 100_000}, gap=0.2)
    assert rough.status == "optimal"
    assert rough.nodes < whole.nodes
    assert rough.gap <= 0.2 + 1e-9
    assert rough.bound <= whole.objective <= rough.objective + 1e-9


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("lp", ["highs", "interior-point"])
def test_a_multiple_of_the_loss_gives_the_same_hyperplanes(factor, lp):
    X, y = disc(1, n=30)
    rule = models.Polyhedron(3)
    plain = solve(models.Model(X, y, rule=rule, minimize=models.AverageViolation()), options={"lp": lp})
    scaled = solve(models.Model(X, y, rule=rule, minimize=factor * models.AverageViolation()), options={"lp": lp})
    assert scaled.objective == pytest.approx(factor * plain.objective, rel=1e-5, abs=1e-8 * factor)
    assert scaled.recounted
    seen = []
    solve(
        models.Model(X, y, rule=rule, minimize=factor * models.AverageViolation()),
        options={"lp": lp, "rounds": 2, "nodes": 60},
        callback=lambda event: seen.append(event.objective),
    )
    assert max(seen) <= 2.1 * factor


def test_sizes_of_the_robust_lp_are_as_documented():
    X, y = slab(1, n=18, d=3)
    for l1, columns, rows in ((0.0, 18 + 4, 18), (0.1, 18 + 7, 18 + 6)):
        program = models.rlp(X, y, l1=l1).program()
        assert (program.n_columns, program.n_rows) == (columns, rows)


def test_a_box_is_named_in_the_scope_and_a_small_one_costs():
    X, y = slab(3)
    free = solve(models.polyhedral(X, y, 2), "scip")
    tight = solve(models.polyhedral(X, y, 2, box=0.1), "highs")
    assert "|v| <= 0.1" in tight.extra["scope"]
    assert np.abs(tight.values["v"]).max() <= 0.1 + 1e-9
    assert tight.objective > free.objective + 0.1


def test_the_box_that_l1_implies_holds_the_optimum():
    """|V|_1 <= f(0)/l1 = 2/l1; the big-M made from it must not cut off what native indicators find."""
    X, y = disc(5, n=14)
    for l1 in (0.3, 0.05):
        problem = models.polyhedral(X, y, 2, l1=l1)
        native, bigm = solve(problem, "scip"), solve(problem, "highs")
        assert bigm.objective == pytest.approx(native.objective, abs=1e-6)
        assert np.abs(native.values["v"]).sum() <= 2 / l1
        assert bigm.extra["scope"] == ""


def test_highs_refuses_without_a_box_and_says_what_helps():
    X, y = slab(0)
    with pytest.raises(UnsupportedProgramError, match=r"unbounded.*scip"):
        solve(models.polyhedral(X, y, 2), "highs")


def test_exact_model_takes_slps_answer_as_a_start():
    X, y = disc(1, n=30)
    problem = models.polyhedral(X, y, 3, l1=0.02)
    found = solve(problem)
    start = problem.encode(found.values)
    program = problem.program()
    assert not np.isnan(start).any()
    assert program.violation(start) <= 1e-7
    assert program.objective(start) == pytest.approx(found.objective, abs=1e-7)


def test_swapping_inside_swaps_the_roles():
    X, y = disc(2)
    swapped = models.polyhedral(X, y, 2, inside=-1)
    renamed = models.polyhedral(X, -y, 2)
    assert solve(swapped).objective == pytest.approx(solve(renamed).objective, abs=1e-9)
    values = solve(swapped).values
    assert np.array_equal(swapped.scores(values) > 0, (X @ values["v"].T - values["g"]).max(axis=1) > 0)


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_exported_model_reads_back_and_solves_the_same(tmp_path, ending):
    X, y = slab(2)
    problem = models.polyhedral(X, y, 2, l1=0.05, feature_names=["dose", "age"])
    path = tmp_path / f"polyhedral.{ending}"
    problem.write(path)
    assert "age" in path.read_text()
    assert solve(read(path), "highs").objective == pytest.approx(solve(problem, "highs").objective, abs=1e-6)


def test_a_side_constraint_is_kept_by_the_exact_model_and_refused_by_slp():
    X, y = slab(0)
    problem = models.polyhedral(X, y, 2, l1=0.02)
    constrained = problem.copy().subject_to(problem.variable("v")[0, "x0"] >= 0, problem.variable("v")[1, "x0"] >= 0)
    with pytest.raises(UnsupportedProgramError, match="side constraints"):
        solve(constrained, "slp")
    answer = solve(constrained, "scip")
    assert (answer.values["v"][:, 0] >= -1e-9).all()
    assert answer.objective >= solve(problem, "scip").objective - 1e-9


def test_robust_lp_goes_to_a_backend_by_default_and_to_slp_on_request():
    X, y = slab(1)
    by_lp, by_slp = solve(models.rlp(X, y)), solve(models.rlp(X, y), "slp")
    assert (by_lp.solver, by_slp.solver) == ("highs", "slp")
    assert by_slp.objective == pytest.approx(by_lp.objective, abs=1e-8)
    assert by_slp.claim == "proven"
    assert by_slp.recounted


def test_paper_variant_and_warm_start_through_the_driver():
    X, y = disc(3, n=40)
    problem = models.polyhedral(X, y, 3)
    printed = solve(problem, options={"variant": "paper"})
    assert printed.recounted
    assert (np.diff(printed.extra["values"]) < 0).all()
    improved = solve(problem, warm_start=printed)
    assert improved.objective <= printed.objective + 1e-9
    with pytest.raises(InvalidInputError, match=r"6 value\(s\) for 'v'"):
        solve(models.polyhedral(X, y, 2), warm_start=printed)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X, y: models.polyhedral(X, y, 0), "whole number >= 1"),
        (lambda X, y: models.polyhedral(X, y, True), "whole number >= 1"),
        (lambda X, y: models.polyhedral(X, y, 2, inside=7), "labels"),
        (lambda X, y: models.polyhedral(X, y, 2, l1=-1), "l1"),
        (lambda X, y: models.polyhedral(X, y, 2, l1=np.nan), "l1"),
        (lambda X, y: models.polyhedral(X, y, 2, box=0), "box"),
        (lambda X, y: models.polyhedral(X, np.ones(len(X)), 2), "two labels"),
        (lambda X, y: models.polyhedral(X * np.nan, y, 2), "NaN"),
    ],
)
def test_bad_models_are_refused(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make(*slab(0))
