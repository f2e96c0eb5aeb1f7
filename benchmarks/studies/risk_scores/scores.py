"""Risk scores: logistic loss, proof and seconds of `lattice` next to FasterRisk, and logistic regression next to scikit-learn.

1. At most five features, points in -5..5, whole offset, multiplier chosen; columns as they are. The loss is recomputed from the data for
   both. FasterRisk proves nothing and takes the time that it takes; ours stops at the proof or after 60 s.
2. Five-fold cross-validation (stratified, one seed): area under the ROC curve and expected calibration error over ten bins of equal size;
   ours with 10 s per fold.
3. Logistic regression with L2 and with L1 on 100,000 x 50 normal points: `newton` against scikit-learn's lbfgs and liblinear, at their
   default tolerance and at 1e-8; distance of the objective to ours, and CPU seconds. liblinear penalises the offset, so ours does too
   in that comparison.

Run: python -m benchmarks.studies.risk_scores.scores     MIPCLASS_DATA must name the folder of the data sets (docs/datasets.md),
MIPCLASS_FASTERRISK an interpreter with fasterrisk (benchmarks/peers/fasterrisk.py); without it FasterRisk is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.harness import Case, Results, Study, table
from benchmarks.peers import fasterrisk
from mipclass import datasets, models, solve

SETS = ("mammo", "breastcancer", "spambase", "mushroom", "adult")
FEATURES, POINTS, FOLDS, BINS = 5, 5, 5, 10
SECONDS, FOLD_SECONDS = 60.0, 10.0


def declared(X: Any, y: Any) -> models.Model:
    """The risk score as a declared problem."""
    constraints = [models.IntegerCoefficients(POINTS, intercept=True), models.MaxFeatures(FEATURES)]
    return models.Model(X, y, minimize=models.Logistic(models.Logistic.FREE), subject_to=constraints)


def ours(X: Any, y: Any, limit: float) -> dict[str, Any]:
    """The card of `lattice` with its bound."""
    start = time.perf_counter()
    result = solve(declared(X, y), "lattice", time_limit=limit)
    seconds = time.perf_counter() - start
    values = {name: np.asarray(value).tolist() for name, value in result.values.items()}
    return {**values, "seconds": seconds, "bound": result.bound, "gap": result.gap, "claim": result.claim}


def loss_of(X: Any, y: Any, card: dict[str, Any]) -> float:
    """The logistic loss of a card, from the data."""
    return float(np.logaddexp(0.0, -y * (X @ np.array(card["w"]) + card["b"]) / card["multiplier"]).sum())


def search(name: str, method: str, limit: float) -> dict[str, Any]:
    """One card on a whole set."""
    X, y = datasets.load(f"risk_{name}", download=False)
    card = ours(X, y, limit) if method == "ours" else fasterrisk.fit(X, y, FEATURES, POINTS)
    return {**card, "loss": loss_of(X, y, card)}


def validate(name: str, method: str, limit: float) -> dict[str, Any]:
    """Area under the curve and calibration error on held-out folds."""
    X, y = datasets.load(f"risk_{name}", download=False)
    areas, errors = [], []
    for kept, held in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        card = ours(X[kept], y[kept], limit) if method == "ours" else fasterrisk.fit(X[kept], y[kept], FEATURES, POINTS)
        odds = (X[held] @ np.array(card["w"]) + card["b"]) / card["multiplier"]
        areas.append(float(roc_auc_score(y[held], odds)))
        errors.append(calibration_error(1.0 / (1.0 + np.exp(-odds)), y[held] > 0))
    return {"auc": float(np.mean(areas)), "ece": float(np.mean(errors))}


def calibration_error(p: Any, is_positive: Any) -> float:
    """The mean distance of predicted and observed fractions over bins of equal size."""
    parts = np.array_split(np.argsort(p, kind="stable"), BINS)
    return float(sum(len(k) * abs(p[k].mean() - is_positive[k].mean()) for k in parts if len(k)) / len(p))


def regression(penalty: str, method: str, tolerance: float) -> dict[str, Any]:
    """Objective and CPU seconds of logistic regression on 100,000 x 50 points."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 50))
    y = np.where(X @ (rng.normal(size=50) * (rng.random(50) < 0.5)) + rng.logistic(size=100_000) > 0, 1, -1)
    terms = (0.5 * models.L2() if penalty == "l2" else models.L1()) + models.Logistic()
    rule = models.Linear(True if penalty == "l2" else "penalised")
    problem = models.Model(X, y, rule=rule, minimize=terms)
    start = time.process_time()
    if method == "newton":
        result = solve(problem, "newton")
        return {"cpu": time.process_time() - start, "objective": result.objective, "gap": result.gap}
    shared = {"tol": tolerance, "max_iter": 10_000, "C": 1.0}
    peer = (
        LogisticRegression(**shared)
        if penalty == "l2"
        else LogisticRegression(l1_ratio=1.0, solver="liblinear", **shared)
    )
    peer.fit(X, y)
    cpu = time.process_time() - start
    return {"cpu": cpu, "objective": problem.recount({"w": peer.coef_[0], "b": peer.intercept_[0]})}


def warmup() -> None:
    """Compile what is timed."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 4)).astype(float)
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.5, 1, -1)
    solve(declared(X, y), "lattice")
    for penalty in (models.L1(), models.L2()):
        solve(models.Model(X, y, minimize=penalty + models.Logistic()), "newton")


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    methods = ("ours", "FasterRisk") if fasterrisk.is_here() else ("ours",)
    for penalty, peer in (("l2", "lbfgs"), ("l1", "liblinear")):
        for method, tolerance in (("newton", 0.0), (peer, 1e-4), (peer, 1e-8)):
            yield Case(method, regression, {"penalty": penalty, "method": method, "tolerance": tolerance})
    names = SETS if full else SETS[:2]
    for name in names:
        for method in methods:
            yield Case(method, search, {"name": name, "method": method, "limit": SECONDS})
    for name in names:
        for method in methods:
            yield Case(method, validate, {"name": name, "method": method, "limit": FOLD_SECONDS})


def report(results: Results) -> str:
    """The section's markdown."""
    names = [name for name in SETS if results.where(name=name).cells]
    losses, folds = [], []
    for name in names:
        mine, theirs = (results.where(label, name=name, limit=SECONDS) for label in ("ours", "FasterRisk"))
        held = [results.where(label, name=name, limit=FOLD_SECONDS) for label in ("ours", "FasterRisk")]
        claim = (mine.all("claim") or ["-"])[0]
        losses.append([
            name, _text(mine.median("loss"), 3), _text(mine.median("bound"), 3), _text(mine.median("gap"), 4), claim,
            _text(mine.median("seconds"), 1), _text(theirs.median("loss"), 3), _text(theirs.median("seconds"), 1),
        ])  # fmt: skip
        folds.append([name, *(_text(r.median(m), 4) for m in ("auc", "ece") for r in held)])
    parts = [
        "Logistic loss, at most 5 features, points in -5..5 (seconds of wall clock; ours at most 60):",
        table(["set", "ours", "bound", "gap", "claim", "seconds", "FasterRisk", "seconds"], losses),
        "Five-fold cross-validation: area under the ROC curve and calibration error:",
        table(["set", "AUC ours", "AUC FasterRisk", "error ours", "error FasterRisk"], folds),
        "Logistic regression, 100,000 x 50: CPU seconds, and distance of the objective to ours, relative:",
        table(["penalty", "method", "tolerance", "cpu seconds", "distance"], _regressions(results)),
    ]
    return "\n\n".join(parts)


def _regressions(results: Results) -> list[list[str]]:
    rows = []
    for penalty, peer in (("l2", "lbfgs"), ("l1", "liblinear")):
        best = results.where("newton", penalty=penalty).median("objective")
        for method, tolerance in (("newton", 0.0), (peer, 1e-4), (peer, 1e-8)):
            here = results.where(method, penalty=penalty, tolerance=tolerance)
            objective = here.median("objective")
            away = "" if objective is None or best is None else f"{(objective - best) / best:.1e}"
            rows.append(
                [penalty, method, f"{tolerance:g}" if tolerance else "gap 1e-9", _text(here.median("cpu"), 2), away]
            )
    return rows


def _text(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


study = Study("risk_scores", "Risk scores", cases, report, warmup=warmup)

if __name__ == "__main__":
    study.main()
