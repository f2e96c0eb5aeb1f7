"""Speed of the successive LPs: LPs per descent, warm against rebuilt LPs, whole fits, growth with N, exact against slp.

Run with `python -m benchmarks.studies.polyhedral.speed [--full]`. Times are CPU seconds of one thread, which other work on the
machine disturbs less than the wall clock; the growth with N shows both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from mipclass import PolyhedralClassifier, datasets, models, solve
from mipclass.backends.highs import HighsBackend
from mipclass.methods.polyhedral.assignment_lp import ColdPrimal, InteriorPoint, WarmDual
from mipclass.methods.polyhedral.assignments import k_means
from mipclass.methods.polyhedral.majorise_minimise import AssignmentSearch
from mipclass.methods.polyhedral.search import separate, separate_as_printed
from mipclass.methods.polyhedral.standardised import Standardised
from mipclass.models.point_sets import PointSets
from mipclass.models.polyhedral import point_sets
from mipclass.protocol.run import Run

TABLE_1 = ("breast_wisconsin", "heart_cleveland", "liver_bupa", "pima", "votes", "wpbc")


def standard_sets(name: str) -> PointSets:
    """The two point sets of a data set, standardised, for h = 2."""
    X, y = datasets.load(name)
    return Standardised.of(point_sets(models.polyhedral(X, y, 2))).sets


# -- LPs to the end of a descent --------------------------------------------------------------------------------------------


def majorise_minimise(name: str, seed: int) -> dict[str, Any]:
    """LPs and CPU seconds of one descent by majorise-minimise from clusters of B."""
    sets = standard_sets(name)
    search = AssignmentSearch(sets, WarmDual(sets, 2), Run.quiet(seed=seed))
    start = time.process_time()
    found = search.descend(k_means(sets.B[:, :-1], 2, np.random.default_rng(seed)))
    return {"lps": search.lps, "value": found.value if found else None, "seconds": time.process_time() - start}


def printed_rule(name: str, seed: int) -> dict[str, Any]:
    """LPs of one descent by Algorithm 4.1 as printed."""
    found = separate_as_printed(standard_sets(name), 2, Run.quiet(seed=seed), HighsBackend())
    return {"lps": found.lps, "value": found.value}


# -- one sequence of assignments, four ways to solve its LPs ----------------------------------------------------------------

LP_ROUTES: dict[str, Callable[[Any], Any] | None] = {  # None: built anew for every assignment
    "warm dual": lambda sets: WarmDual(sets, 2),
    "rebuilt dual": None,
    "rebuilt primal": lambda sets: ColdPrimal(sets, 2, HighsBackend()),
    "interior point": lambda sets: InteriorPoint(sets, 2),
}


def lp_sequence(name: str, route: str) -> dict[str, Any]:
    """Seconds per LP after the first, over the assignments that one search visits."""
    sets = standard_sets(name)
    visited: list[Any] = []

    class Recorder(WarmDual):
        def solve(self, assignment: Any, run: Run) -> Any:
            visited.append(assignment.copy())
            return super().solve(assignment, run)

    search = AssignmentSearch(sets, Recorder(sets, 2), Run.quiet())
    rng = np.random.default_rng(0)
    first = search.descend(k_means(sets.B[:, :-1], 2, rng))
    assert first is not None
    search.improve(first, 6, rng)
    make = LP_ROUTES[route]
    lp = make(sets) if make is not None else None
    seconds = []
    for assignment in visited:
        start = time.process_time()
        (lp if lp is not None else WarmDual(sets, 2)).solve(assignment, Run.quiet())
        seconds.append(time.process_time() - start)
    return {"seconds": float(np.mean(seconds[1:])), "lps": len(visited)}


# -- whole fits -------------------------------------------------------------------------------------------------------------


def fit_ours(name: str, inside: str) -> dict[str, Any]:
    """CPU seconds of a whole fit of PolyhedralClassifier."""
    X, y = datasets.load(name)
    model = PolyhedralClassifier(inside=inside if inside == "auto" else 1)
    start = time.process_time()
    model.fit(X, y)
    return {"seconds": time.process_time() - start, "value": model.result_.objective, "lps": model.result_.iterations}


def fit_svc(name: str, inside: str) -> dict[str, Any]:
    """CPU seconds of SVC(kernel='rbf') on standardised data, the median of nine fits."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = datasets.load(name)
    X = StandardScaler().fit_transform(X)
    seconds = []
    for _ in range(9):
        start = time.process_time()
        SVC(kernel="rbf").fit(X, y)
        seconds.append(time.process_time() - start)
    return {"seconds": float(np.median(seconds))}


# -- growth with N ----------------------------------------------------------------------------------------------------------


def slab(n: int, d: int = 10) -> tuple[Any, Any]:
    """n Gaussian points whose positive class is a noisy slab around 0 in the first feature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(np.abs(X[:, 0] + 0.3 * rng.normal(size=n)) < 0.7, 1, -1)


def grow_fit(n: int) -> dict[str, Any]:
    """One solve on n points of a slab, with CPU and wall-clock seconds."""
    X, y = slab(n)
    start = time.process_time()
    result = solve(models.polyhedral(X, y, 2))
    return {
        "seconds": time.process_time() - start,
        "wall": result.seconds,
        "value": result.objective,
        "claim": result.claim,
    }


def grow_lp(n: int, route: str) -> dict[str, Any]:
    """One LP for one assignment, the data already standardised."""
    X, y = slab(n)
    sets = Standardised.of(point_sets(models.polyhedral(X, y, 2))).sets
    assignment = (sets.B[:, 0] > 0).astype(np.intp)
    make = LP_ROUTES[route]
    assert make is not None
    start = time.process_time()
    answer = make(sets).solve(assignment, Run.quiet())
    return {"seconds": time.process_time() - start, "value": answer[1]}


# -- exact ------------------------------------------------------------------------------------------------------------------


def small(seed: int, n: int) -> models.Model:
    """A noisy slab of n points in the plane, with a price on the weights so that every solver can bound them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where((np.abs(X[:, 0]) < 0.7) ^ (rng.random(n) < 0.1), 1, -1)
    return models.polyhedral(X, y, 2, l1=0.01)


EXACT = {
    "HiGHS (big-M from l1)": ("highs", {}),
    "SCIP (indicators)": ("scip", {}),
    "slp, proof": ("slp", {"nodes": 10**7}),
    "slp": ("slp", {}),
}


def exact(seed: int, n: int, route: str) -> dict[str, Any]:
    """One solve of a small instance by one of the EXACT routes, limited to 20 s of wall clock."""
    solver, options = EXACT[route]
    start = time.process_time()
    result = solve(small(seed, n), solver, time_limit=20, options=options)
    shown = {"value": result.objective, "bound": result.bound, "claim": result.claim, "nodes": result.nodes}
    return {"seconds": time.process_time() - start, **shown}


def warmup() -> None:
    """Compile and import everything that is timed."""
    X, y = slab(200, 3)
    solve(models.polyhedral(X, y, 2), options={"lp": "interior-point", "rounds": 1})
    separate(point_sets(models.polyhedral(X, y, 2)), 2, Run.quiet(), rounds=1)
    from sklearn.svm import SVC

    SVC().fit(X, y)


def cases(full: bool) -> list[Case]:
    """The cases of a quick or a full run."""
    names = TABLE_1 if full else TABLE_1[2:3]
    found = []
    for name in names:
        found += [
            Case("majorise", majorise_minimise, {"name": name, "seed": seed}) for seed in range(10 if full else 2)
        ]
        found += [Case("printed", printed_rule, {"name": name, "seed": seed}) for seed in range(3 if full else 1)]
        found += [Case(f"lp {route}", lp_sequence, {"name": name, "route": route}) for route in LP_ROUTES]
        for inside in ("auto", "fixed"):
            found += [Case("fit ours", fit_ours, {"name": name, "inside": inside})]
            found += [Case("fit svc", fit_svc, {"name": name, "inside": inside})]
    sizes = (1_000, 3_000, 10_000, 30_000, 100_000) if full else (1_000, 10_000)
    for n in sizes:
        found.append(Case("grow fit", grow_fit, {"n": n}))
        found.append(Case("grow interior", grow_lp, {"n": n, "route": "interior point"}))
        if n <= 10_000:  # HiGHS needs minutes beyond
            found.append(Case("grow highs", grow_lp, {"n": n, "route": "rebuilt primal"}))
    for n in (30, 45) if full else (30,):
        for seed in range(3 if full else 2):
            found += [Case(f"exact {route}", exact, {"seed": seed, "n": n, "route": route}) for route in EXACT]
    return found


def report(results: Results) -> str:
    """The section's markdown."""
    names = [name for name in TABLE_1 if results.where("fit ours", name=name).cells]
    parts = [
        "LPs to the end of one descent from clusters of B, h = 2 (smallest - median - largest over seeds):",
        _descents(results, names),
        "CPU milliseconds per LP after the first, over the assignments of one search (ratio to the warm dual):",
        _routes(results, names),
        "Whole fit in CPU seconds, h = 2, default search (ratio to SVC(kernel='rbf').fit on scaled data):",
        _fits(results, names),
        "Growth with N: N x 10, a noisy slab, h = 2 (CPU seconds; MB are growth of resident memory):",
        _growth(results),
        "Exact model (l1 = 0.01, noisy slab in the plane, h = 2): CPU seconds, claim, nodes; limit 20 s of wall clock:",
        _proofs(results),
    ]
    return "\n\n".join(parts)


def _descents(results: Results, names: list[str]) -> str:
    rows = []
    for name in names:
        row: list[Any] = [name]
        for label in ("majorise", "printed"):
            here = results.where(label, name=name)
            lps = here.all("lps")
            row += [f"{min(lps)} - {int(np.median(lps))} - {max(lps)}", here.median("value")]
        rows.append(row)
    return table(["set", "majorise-minimise", "f", "Algorithm 4.1 (eps = sigma = 0.001)", "f"], rows)


def _routes(results: Results, names: list[str]) -> str:
    rows = []
    for name in names:
        base = results.where("lp warm dual", name=name).median("seconds")
        row: list[Any] = [name]
        for route in LP_ROUTES:
            value = results.where(f"lp {route}", name=name).median("seconds")
            row.append(f"{1e3 * value:.2f} ({value / base:.1f}x)" if value and base else None)
        rows.append(row)
    return table(["set", *LP_ROUTES], rows)


def _fits(results: Results, names: list[str]) -> str:
    rows = []
    for name in names:
        row: list[Any] = [name]
        svc = results.where("fit svc", name=name).median("seconds")
        for inside in ("auto", "fixed"):
            seconds = results.where("fit ours", name=name, inside=inside).median("seconds")
            row.append(f"{seconds:.3f} ({seconds / svc:.0f}x)" if seconds and svc else None)
        rows.append([*row, results.where("fit ours", name=name, inside="fixed").median("lps"), svc])
    return table(["set", "inside='auto' (two searches)", "inside fixed", "its LPs", "SVC"], rows)


def _growth(results: Results) -> str:
    rows = []
    for n in sorted({c.case.parameters["n"] for c in results.where("grow fit").cells}):
        fit, ipm, highs = (results.where(f"grow {k}", n=n) for k in ("fit", "interior", "highs"))
        whole = [fit.median(measure) for measure in ("seconds", "wall", "peak_mb")]
        rows.append([n, *whole, ipm.median("seconds"), ipm.median("peak_mb"), highs.median("seconds")])
    header = ["N", "whole fit", "wall clock", "MB", "one LP, interior point", "MB", "one LP, HiGHS (primal)"]
    return table(header, rows)


def _proofs(results: Results) -> str:
    rows = []
    for setting in results.where("exact slp").settings:
        here = {route: results.where(f"exact {route}", seed=setting["seed"], n=setting["n"]) for route in EXACT}
        row = [setting["n"], setting["seed"]]
        for cell in here.values():
            row.append(
                f"{cell.median('seconds'):.2f} s, {cell.all('claim')[0]}"
                + "".join(f", {k}" for k in cell.all("nodes")[:1])
            )
        best = min(here[route].median("value") for route in EXACT if route != "slp")
        rows.append([*row, f"{here['slp'].median('value') - best:.1e}"])
    return table(["points", "seed", *EXACT, "slp minus best exact"], rows)


study = Study(
    "polyhedral_speed",
    "Polyhedral separation: speed",
    cases,
    report,
    repeats=3,
    packages=("pyscipopt",),
    warmup=warmup,
    families=("polyhedral",),
)

if __name__ == "__main__":
    study.main()
