"""Proven 0-1 loss: box, iis and exact against general MIP solvers, on the same data with the same time.

1. Plain 0-1 loss. `errors` are recounted from the data; `bound` is what the solver claims for the problem it was given: for ours the true
   loss, with a certificate that the independent checker accepted; for HiGHS (big-M) and SCIP (indicators) the loss with a margin eps.
   `iis+scip` is iis with SCIP as its master, whose bounds beyond the root's are SCIP's word.
   Left out, as they would only repeat others: `iis` beyond nine features, where it is what `exact` runs; `box` at pima, where it is what
   `exact` runs; and `box` at heart (thirteen features), where its bound stays at zero in this time. Then heart and pima again, to the end.
2. Neyman-Pearson: fewest missed positives with at most 5 % of the negatives called positive; iis against the MIP backends.
3. Cell enumeration (e01loss) where it can: two features; box has run once before on other data of the same size.

Time limits are wall-clock; `cpu` is the processor time of the call, which on a busy machine is less; `check` is the time of the checker.
Run: python -m benchmarks.studies.zero_one.exact            MIPCLASS_DATA must name the folder of the data sets (docs/datasets.md).
A full run takes about ninety minutes on one core.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from mipclass import datasets, models, solve, verify
from mipclass.datasets.synthetic import nguyen_sanner

SOLVERS = ("exact", "box", "iis", "iis+scip", "highs", "scip")
RUNS = {  # what is run where; see above for what is left out
    "sonar": ("exact", "highs", "scip"),
    "wdbc": ("exact", "highs", "scip"),
    "breast_wisconsin": ("exact", "box", "iis", "iis+scip", "highs", "scip"),
    "liver_bupa": ("exact", "box", "iis", "highs", "scip"),
    "heart_statlog": ("exact", "iis+scip", "highs", "scip"),
    "pima": ("exact", "iis", "highs", "scip"),
    "ilpd": ("exact", "box", "highs", "scip"),
    "cmc": ("exact", "box", "iis", "highs", "scip"),
}
TO_THE_END = ("heart_statlog", "pima")
RATE_SETS = ("breast_wisconsin", "liver_bupa", "heart_statlog", "pima")
KNOWN = {  # the paper's best loss (Table 1); breast there has the sample number as a tenth feature
    "sonar": 0, "breast_wisconsin": 10, "liver_bupa": 89, "heart_statlog": 25, "pima": 156, "ilpd": 146, "cmc": 418,
}  # fmt: skip


def points(name: str) -> tuple[Any, Any]:
    """A data set by name, or draw k of the paper's synthetic recipe as synthetic_k (500 points, five features)."""
    if name.startswith("synthetic_"):
        X, y = nguyen_sanner(random_state=int(name.removeprefix("synthetic_")))
    else:
        X, y = datasets.load(name)
    return X, y


def prove(name: str, solver: str, limit: float) -> dict[str, Any]:
    """Plain 0-1 loss of a data set within `limit` seconds."""
    return _measure(models.zero_one(*points(name)), solver, limit)


def prove_to_the_end(name: str, solver: str, limit: float) -> dict[str, Any]:
    """The same with a long limit; a function of its own, so that its cells have a table of their own."""
    return prove(name, solver, limit)


def prove_rate(name: str, solver: str, limit: float) -> dict[str, Any]:
    """Fewest missed positives with a false-positive rate of at most 0.05."""
    return _measure(models.neyman_pearson(*points(name), 0.05), solver, limit)


def _measure(problem: models.Model, solver: str, limit: float) -> dict[str, Any]:
    solver, _, master = solver.partition("+")
    started, cpu = time.perf_counter(), time.process_time()
    result = solve(problem, solver=solver, time_limit=limit, options={"master": master} if master else None)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    row = {
        "errors": problem.recount(result.values) if result.values else None,
        "bound": result.bound,
        "nodes": result.nodes,
        "status": str(result.status),
        "certified": result.certified,
        "seconds": seconds,
        "cpu": cpu,
    }
    if result.certificate is not None:
        from mipclass.checker import check

        began = time.process_time()
        verdict = check(result.certificate, problem)
        row["check"] = time.process_time() - began
        row["certificate_kb"] = len(result.certificate.to_json()) / 1000
        assert verdict.accepted == result.certified
    return row


def cloud(n: int, seed: int = 0, d: int = 2) -> tuple[Any, Any]:
    """n Gaussian points, in the plane unless said otherwise, with noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X.sum(axis=1) + np.sqrt(d / 2) * rng.normal(size=n) > 0, 1, -1)


def enumerate_cells(n: int) -> dict[str, Any]:
    """The exact loss of a cloud by cell enumeration (e01loss)."""
    from benchmarks.peers.zero_one import e01loss

    return e01loss(*cloud(n))


def prove_cloud(n: int) -> dict[str, Any]:
    """The exact loss of a cloud by box, timed after a run on another cloud of the same size."""
    solve(models.zero_one(*cloud(n, seed=1)), solver="box", options={"local_steps": 500})
    problem = models.zero_one(*cloud(n))
    started = time.perf_counter()
    result = solve(problem, solver="box", options={"local_steps": 500})
    return {"loss": result.objective, "seconds": time.perf_counter() - started, "certified": result.certified}


def warmup() -> None:
    """Compile and import everything that is timed; with nine features `exact` starts both of its searches."""
    for solver, d in (("box", 2), ("iis", 2), ("exact", 9)):
        X, y = cloud(60, d=d)
        verify(solve(models.zero_one(X, y), solver=solver).certificate, X, y)


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    from benchmarks.peers import zero_one as peers

    limit = 120.0 if full else 3.0
    names = RUNS if full else ("sonar", "breast_wisconsin", "liver_bupa")
    for name in names:
        for solver in RUNS[name]:
            yield Case(solver, prove, {"name": name, "solver": solver, "limit": limit})
    for name in TO_THE_END if full else ():
        yield Case("exact", prove_to_the_end, {"name": name, "solver": "exact", "limit": 3600.0})
    for draw in range(8 if full else 2):
        yield Case("exact", prove, {"name": f"synthetic_{draw}", "solver": "exact", "limit": limit})
    for name in RATE_SETS if full else RATE_SETS[:1]:
        for solver in ("iis", "highs", "scip"):
            yield Case(solver, prove_rate, {"name": name, "solver": solver, "limit": min(limit, 60.0)})
    for n in (100, 300, 1000) if full else (100,):
        yield Case("box", prove_cloud, {"n": n})
        if n <= 300 and peers.has_e01loss():
            yield Case("e01loss", enumerate_cells, {"n": n})


def report(results: Results) -> str:
    """The section's markdown."""
    parts = [
        "Plain 0-1 loss: errors / bound (cpu seconds; * = bound certified and checked). `-`: not run, because `exact` runs the same "
        "there (box up to eight features, iis beyond nine) or the bound stays at zero (box from thirteen).\n"
    ]
    parts.append(_losses(results, "prove", SOLVERS, paper=True))
    if any(cell.case.function is prove_to_the_end for cell in results.cells):
        parts.append("\nTo the end, up to an hour.\n")
        parts.append(_losses(results, "prove_to_the_end", ("exact",), paper=True))
    parts.append("\nCertificates: size and time of the independent check.\n")
    rows = []
    for cell in results.cells:
        if cell.error is None and cell.measured.get("check") is not None and cell.case.label == "exact":
            got = cell.measured
            ending = ", to the end" if cell.case.function is prove_to_the_end else ""
            rows.append(
                [cell.case.parameters["name"] + ending, f"{got['errors']:g} / {got['bound']:g}", got["nodes"],
                 f"{got['certificate_kb']:.0f} kB", f"{got['check']:.2f} s"]
            )  # fmt: skip
    parts.append(table(["data", "errors / bound", "nodes", "certificate", "check"], rows))
    parts.append("\nNeyman-Pearson, false-positive rate <= 0.05: missed positives / bound (cpu seconds).\n")
    parts.append(_losses(results, "prove_rate", ("iis", "highs", "scip")))
    parts.append("\nTwo features: seconds of box (warm, with certificate and check) and of cell enumeration.\n")
    clouds = Results([cell for cell in results.cells if "n" in cell.case.parameters])
    parts.append(clouds.compare("seconds", baseline="e01loss"))
    return "\n".join(parts)


def _losses(results: Results, function: str, solvers: tuple[str, ...], paper: bool = False) -> str:
    cells = [cell for cell in results.cells if cell.case.function.__name__ == function]
    names = list(dict.fromkeys(cell.case.parameters["name"] for cell in cells))
    rows = []
    for name in names:
        row: list[Any] = [name] + ([KNOWN.get(name, "-")] if paper else [])
        for solver in solvers:
            here = [
                c for c in cells if c.case.parameters["name"] == name and c.case.label == solver and c.error is None
            ]
            row.append(_entry(here[0].measured) if here else "-")
        rows.append(row)
    return table(["data", *(["paper's best"] if paper else []), *solvers], rows)


def _entry(got: dict[str, Any]) -> str:
    errors = "none" if got["errors"] is None else f"{got['errors']:g}"
    bound = "none" if got["bound"] is None else f"{got['bound']:g}"
    return f"{errors} / {bound}{'*' if got['certified'] else ''} ({got['cpu']:.1f})"


study = Study(
    "zero_one_exact",
    "Proven 0-1 loss",
    cases,
    report,
    warmup=warmup,
    packages=("pyscipopt",),
    families=("exact", "zero_one"),
)

if __name__ == "__main__":
    study.main()
