"""Tables 2 and 3 of Zhang et al. (2018): ranking and classification under a tolerated false-positive rate.

    python -m benchmarks.studies.tau_fpl.tables [--full] [--jobs N]

As in the paper: stratified hold-outs of 2/3 to 1/3 (30; 10 for w8a), hyper-parameters by 5-fold cross-validation inside the
training part, grids of R and C extended while the best value lies at an edge. MIPCLASS_HOLDOUTS=30,30,5,1 caps the hold-outs of the
sets in order (the last number counts for the rest).

Ranking (Table 2): the share of positives of the test part above its ceil(tau n)-th largest negative score, criterion (3),
which also chooses R. Classification (Table 3): false- and true-positive rate on the test part and the NP-score.
Where the paper is silent: dense features are standardised on the training part; SVMs have the squared hinge and are
solved to full accuracy (benchmarks/peers/newton_svm.py); CS-SVM, CS-LR and BS-SVM choose by NP-score, CS-SVM-OOB by (3) like tau-FPL, with the same out-of-bootstrap
threshold. real-sim and the whole of w8a are run where a user has them (real_sim.npz, w8a_test.npz in MIPCLASS_DATA); without its test part
w8a is the training part.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import ceil
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks.harness import Case, Study
from benchmarks.peers.newton_svm import fit_svm
from benchmarks.peers.partial_auc import fit_partial_auc
from benchmarks.studies.tau_fpl.algorithm_1 import stopped_early
from benchmarks.studies.tau_fpl.report import report
from benchmarks.studies.tau_fpl.settled import TAUS, VARIANTS, compared
from mipclass import datasets
from mipclass.analysis.thresholds import clear_of_rounding, rank_threshold
from mipclass.estimators.splits import row_hashes, split
from mipclass.methods.tau_fpl.ranking import RankingData
from mipclass.methods.tau_fpl.smoothed_primal import train_path
from mipclass.models.false_positive import number_of_top
from mipclass.protocol.run import Run

HOLDOUTS = {"heart_statlog": 30, "breast_wisconsin": 30, "spambase": 30, "w8a_train": 10, "w8a": 10, "real_sim": 10}
WHOLE_W8A = ("w8a_train", "w8a_test")
QUICK = {"heart_statlog": 4, "breast_wisconsin": 4}
N_ROUNDS = 10
PARTIAL_AUC = "heart_statlog"  # the one set on which the paper has figures of SVM-pAUC-tight; on the others it took more than a week
PARTIAL_AUC_R = (0.01, 0.1, 1.0)  # below 0.01 a fit takes minutes
FACTORS = {"tau-FPL": 1.0, "2tau-FPL": 2.0, "TopPush": None}
"""tau of the training over that of the table; TopPush has k = 1."""
STOPPED_TAUS = (0.0005, 0.001)
"""Where tau-FPL and 2tau-FPL are run by Algorithm 1 too; above, the solved problem meets the printed figures."""

Part = tuple[Any, np.ndarray]
Scores = np.ndarray
Trainer = Callable[[RankingData, list[float]], dict[float, np.ndarray]]


# -- measures -------------------------------------------------------------------------------------------------------------


def ranked_above(scores: Scores, y: np.ndarray, tau: float, ties: bool = False) -> float:
    """Positives above the ceil(tau n)-th largest negative score; with `ties` also those equal to it, as criterion (3) is printed."""
    negatives = np.sort(scores[y < 0])[::-1]
    level = negatives[max(1, ceil(tau * len(negatives) - 1e-9)) - 1]
    positives = scores[y > 0]
    return float((positives >= level if ties else positives > level).mean())


def rates_of(called: np.ndarray, y: np.ndarray, tau: float) -> tuple[float, float, float]:
    """(fpr, tpr, NP-score) of predictions."""
    fpr, tpr = float(called[y < 0].mean()), float(called[y > 0].mean())
    return fpr, tpr, max(fpr, tau) / tau - tpr


# -- data -----------------------------------------------------------------------------------------------------------------


def load(name: str) -> tuple[Any, np.ndarray]:
    """A data set; "w8a" is its training and its test part together, as in the paper."""
    if name != "w8a":
        X, y = datasets.load(name)
        return X, y
    (X_train, y_train), (X_test, y_test) = (datasets.load(part) for part in WHOLE_W8A)
    return sp.vstack([X_train, X_test], format="csr"), np.concatenate([y_train, y_test])


def is_here(name: str) -> bool:
    """Whether the set is stored on this machine, or can be fetched; w8a is taken whole if its test part is here."""
    here = datasets.available()
    if name in ("w8a", "w8a_train"):
        return (name == "w8a") == set(WHOLE_W8A).issubset(here)
    return name in here or datasets.FACTS[name].openml is not None


def hold_out(name: str, seed: int) -> tuple[Part, Part]:
    """Training and test part of one stratified hold-out; dense columns standardised on the training part.

    A name such as "spambase, log" is a variant of the set (`settled.VARIANTS`).
    """
    name, _, variant = name.partition(", ")
    X, y = load(name)
    y = np.asarray(y, dtype=np.float64)
    [(train, test)] = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=seed).split(np.zeros(len(y)), y)
    if variant == "other class":
        y = -y
    if sp.issparse(X):
        X = sp.csr_array(X)
        return (X[train], y[train]), (X[test], y[test])
    if variant == "log":
        X = np.log1p(X)
    scaler = MinMaxScaler((-1, 1)) if variant == "range" else StandardScaler()
    scaler.fit(X[train])
    return (scaler.transform(X[train]), y[train]), (scaler.transform(X[test]), y[test])


def folds(part: Part, seed: int) -> list[tuple[Part, Part]]:
    """Five stratified folds of a part, as (inner, outer) pairs."""
    X, y = part
    splits = StratifiedKFold(5, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    return [((X[a], y[a]), (X[b], y[b])) for a, b in splits]


# -- hyper-parameters -----------------------------------------------------------------------------------------------------


def search(evaluate: Callable[[float], float], grid: Iterable[float], limits: tuple[float, float]) -> float:
    """The best value of a decade grid, extended by a decade while the best lies at its edge (within limits)."""
    tried = {value: evaluate(value) for value in grid}
    while True:
        best = max(tried, key=lambda value: tried[value])
        edge = best * 10 if best == max(tried) else best / 10 if best == min(tried) else None
        if edge is None or not limits[0] <= edge <= limits[1]:
            return best
        tried[edge] = evaluate(edge)


def fpl_scorer(part: Part, tau_rank: float | None, R: float) -> np.ndarray:
    """The weights that tau-FPL trains for one R."""
    return train_path(ranking(part, tau_rank, R), [R], Run.quiet())[R].w


def ranking(part: Part, tau_rank: float | None, R: float) -> RankingData:
    """k = ceil(tau n), or 1 (TopPush) without a tau."""
    X, y = part
    k = 1.0 if tau_rank is None else number_of_top(min(tau_rank, 0.999), float((y < 0).sum()))
    return RankingData.build(X, y, None, k, R)


def solved(data: RankingData, values: list[float]) -> dict[float, np.ndarray]:
    """The weights for each R, to the package's own accuracy."""
    return {R: found.w for R, found in train_path(data, values, Run.quiet()).items()}


def choose_R(
    part: Part, tau_rank: float | None, taus: tuple[float, ...], seed: int, train: Trainer = solved
) -> dict[float, float]:
    """R by criterion (3) for each tau; the fits are shared between the taus."""
    validation: dict[float, list[list[float]]] = {}
    pieces = [(ranking(inner, tau_rank, 1.0), outer) for inner, outer in folds(part, seed)]

    def fit(values: list[float]) -> None:
        validation.update({R: [] for R in values})
        for data, (X, y) in pieces:
            for R, w in train(data, values).items():
                scores = X @ w
                validation[R].append([ranked_above(scores, y, tau) for tau in taus])

    fit([10.0**e for e in range(-5, 2)])
    chosen = {}
    for column, tau in enumerate(taus):

        def quality(R: float, column: int = column) -> float:
            key = next((seen for seen in validation if np.isclose(seen, R)), R)
            if key not in validation:
                fit([key])
            return float(np.mean(np.array(validation[key])[:, column]))

        chosen[tau] = search(quality, sorted(validation), (1e-8, 1e3))
    return chosen


# -- methods --------------------------------------------------------------------------------------------------------------


def out_of_bootstrap(part: Part, fit: Callable[[Part], np.ndarray], tau: float, seed: int) -> tuple[np.ndarray, float]:
    """Normalised scorers of N_ROUNDS splits and their thresholds, averaged, as TauFPLClassifier does."""
    X, y = part
    hashes = row_hashes(X)
    scorers, thresholds = [], []
    for r in range(N_ROUNDS):
        first, rest = split(hashes, y, 0.632, 1000 * seed + r)
        w = fit((X[first], y[first]))
        norm = float(np.linalg.norm(w))
        if norm > 0:
            scorers.append(w / norm)
            thresholds.append(rank_threshold((X[rest] @ w)[y[rest] < 0], tau) / norm)
    if not scorers:
        return np.zeros(X.shape[1]), 0.0
    # Equal negatives are held out together; the rank rule of the averaged scorer on all negatives knows the size of a tied group.
    scorer = np.mean(scorers, axis=0)
    scores = X @ scorer
    at_least = clear_of_rounding(rank_threshold(scores[y < 0], tau), scores)
    return scorer, max(float(np.mean(thresholds)), at_least)


def by_fpl(name: str, seed: int, variant: str) -> dict[str, Any]:
    """Ranking and classification figures of tau-FPL, 2tau-FPL or TopPush on one hold-out."""
    train, (X, y) = hold_out(name, seed)
    taus = TAUS[name.partition(", ")[0]]
    factor = FACTORS[variant]
    out: dict[str, Any] = {}
    if factor is None:
        chosen = choose_R(train, None, taus, seed)
    for tau in taus:
        tau_rank = None if factor is None else factor * tau
        if factor is not None:
            chosen = choose_R(train, tau_rank, (tau,), seed)
        w = fpl_scorer(train, tau_rank, chosen[tau])
        out[f"rank {tau}"] = ranked_above(X @ w, y, tau)
        out[f"tied {tau}"] = ranked_above(X @ w, y, tau, ties=True)
        out[f"R {tau}"] = chosen[tau]
        if factor is not None:
            fit = partial(fpl_scorer, tau_rank=tau_rank, R=chosen[tau])
            w, b = out_of_bootstrap(train, fit, tau, seed)
            out[f"class {tau}"] = rates_of(X @ w > b, y, tau)
    return out


def by_algorithm_1(name: str, seed: int, variant: str) -> dict[str, Any]:
    """Ranking figures of tau-FPL, 2tau-FPL or TopPush on one hold-out, trained by Algorithm 1 as printed."""
    train, (X, y) = hold_out(name, seed)
    taus = TAUS[name.partition(", ")[0]]
    factor = FACTORS[variant]
    trainer = partial(stopped_early, seed=seed)
    groups = [(None, taus)] if factor is None else [(factor * tau, (tau,)) for tau in taus if tau in STOPPED_TAUS]
    out: dict[str, Any] = {}
    for tau_rank, group in groups:
        chosen = choose_R(train, tau_rank, group, seed, trainer)
        weights = trainer(ranking(train, tau_rank, 1.0), sorted(set(chosen.values())))
        for tau in group:
            scores = X @ weights[chosen[tau]]
            out[f"rank {tau}"] = ranked_above(scores, y, tau)
            out[f"tied {tau}"] = ranked_above(scores, y, tau, ties=True)
            out[f"R {tau}"] = chosen[tau]
    return out


def by_partial_auc(name: str, seed: int, variant: str) -> dict[str, Any]:
    """Ranking figures of SVM-pAUC-tight on one hold-out, R by criterion (3)."""
    train, (X, y) = hold_out(name, seed)
    out: dict[str, Any] = {}
    for tau in TAUS[name]:

        def quality(R: float, tau: float = tau) -> float:
            return float(
                np.mean(
                    [
                        ranked_above(Xb @ fit_partial_auc(*inner, tau, R), yb, tau)
                        for inner, (Xb, yb) in folds(train, seed)
                    ]
                )
            )

        w = fit_partial_auc(*train, tau, max(PARTIAL_AUC_R, key=quality))
        out[f"rank {tau}"] = ranked_above(X @ w, y, tau)
        out[f"tied {tau}"] = ranked_above(X @ w, y, tau, ties=True)
    return out


def svm(part: Part, C: float, ratio: float, start: np.ndarray | None = None) -> np.ndarray:
    """(w, b) of the SVM with costs; `start` is one of a similar C."""
    X, y = part
    return fit_svm(X, y, C * np.where(y < 0, ratio, 1.0), start)


def logistic(part: Part, C: float, ratio: float, start: np.ndarray | None = None) -> np.ndarray:
    """(w, b) of logistic regression with costs; `start` is not used."""
    model = LogisticRegression(C=C, class_weight={-1.0: ratio, 1.0: 1.0}, max_iter=500).fit(*part)
    return np.concatenate([model.coef_[0], model.intercept_])


def scores_of(wb: np.ndarray, X: Any) -> Scores:
    """Scores X w + b."""
    return np.asarray(X @ wb[:-1] + wb[-1])


RATIOS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
WIDER_RATIOS = (0.02, 0.05, 0.1, 0.2, *RATIOS)


def by_cost(name: str, seed: int, variant: str) -> dict[str, Any]:
    """CS-SVM (with and without the out-of-bootstrap threshold), CS-LR, BS-SVM."""
    train, (X, y) = hold_out(name, seed)
    name, _, change = name.partition(", ")
    taus = TAUS[name]
    fit = logistic if variant == "CS-LR" else svm
    ratios = (1.0,) if variant == "BS-SVM" else WIDER_RATIOS if change == "costs" else RATIOS
    pieces = folds(train, seed)
    last: dict[int, np.ndarray] = {}  # of each fold, to start the next C from
    seen: dict[tuple[float, float], np.ndarray] = {}  # (C, ratio) -> mean over folds of [tau, (classification, rank)]

    def threshold(wb: np.ndarray, part: Part, tau: float) -> float:
        """BS-SVM moves the threshold on the training part; the others have theirs from the costs."""
        return rank_threshold(scores_of(wb, part[0])[part[1] < 0], tau) if variant == "BS-SVM" else 0.0

    def classifies(wb: np.ndarray, inner: Part, outer: Scores, yb: np.ndarray, tau: float) -> float:
        """Minus the NP-score on the outer part, or the SVM's own accuracy there."""
        if change == "accuracy":
            return float(((outer > 0) == (yb > 0)).mean())
        return -rates_of(outer > threshold(wb, inner, tau), yb, tau)[2]

    def quality(C: float, ratio: float) -> np.ndarray:
        key = (float(f"{C:.3g}"), ratio)
        if key not in seen:
            rows = []
            for fold, (inner, (Xb, yb)) in enumerate(pieces):
                wb = last[fold] = fit(inner, *key, last.get(fold))
                outer = scores_of(wb, Xb)
                rows.append([(classifies(wb, inner, outer, yb, tau), ranked_above(outer, yb, tau)) for tau in taus])
            seen[key] = np.mean(rows, axis=0)
        return seen[key]

    def score_of(C: float, ratio: float, place: tuple[int, int]) -> float:
        return float(quality(C, ratio)[place])

    out: dict[str, Any] = {}
    for column, tau in enumerate(taus):
        for goal, name_of_goal in ((0, "class"), (1, "rank")):
            best: tuple[float, float, float] = (-np.inf, 1.0, 1.0)
            for ratio in ratios:
                score = partial(score_of, ratio=ratio, place=(column, goal))
                C = search(score, [1e-3, 1e-2, 1e-1, 1.0, 10.0], (1e-5, 1e2))
                best = max(best, (score(C), C, ratio))
            _, C, ratio = best
            wb = fit(train, C, ratio)
            scores = scores_of(wb, X)
            if name_of_goal == "class":
                out[f"class {tau}"] = rates_of(scores > threshold(wb, train, tau), y, tau)
                continue
            out[f"rank {tau}"] = ranked_above(scores, y, tau)
            out[f"tied {tau}"] = ranked_above(scores, y, tau, ties=True)
            if variant == "CS-SVM":
                w, b = out_of_bootstrap(train, lambda part, C=C, r=ratio: svm(part, C, r)[:-1], tau, seed)
                out[f"oob {tau}"] = rates_of(X @ w > b, y, tau)
    return out


def quietly(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Collapse of small k and unfinished liblinear runs are expected on such grids; they show in the figures."""

    def call(**parameters: Any) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(**parameters)

    call.__qualname__ = function.__qualname__
    return call


def holdout(name: str, seed: int, variant: str) -> dict[str, Any]:
    """The figures of one variant on one hold-out."""
    function = by_fpl if "FPL" in variant or variant == "TopPush" else by_cost
    if variant == "SVM-pAUC-tight":
        function = by_partial_auc
    if name.endswith(", algorithm 1"):
        function = by_algorithm_1
    return quietly(function)(name=name, seed=seed, variant=variant)


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    sizes = HOLDOUTS if full else QUICK
    caps = [int(cap) for cap in os.environ.get("MIPCLASS_HOLDOUTS", "30").split(",")]
    for place, (name, count) in enumerate((name, count) for name, count in sizes.items() if is_here(name)):
        for seed in range(min(count, caps[min(place, len(caps) - 1)])):
            for variant in ("tau-FPL", "2tau-FPL", "TopPush", "CS-SVM", "CS-LR", "BS-SVM"):
                yield Case(variant, holdout, {"name": name, "seed": seed, "variant": variant})
            if full and name == PARTIAL_AUC:
                yield Case("SVM-pAUC-tight", holdout, {"name": name, "seed": seed, "variant": "SVM-pAUC-tight"})
    for name, (seeds, labels) in VARIANTS.items() if full else ():
        for seed in range(seeds):
            for label in labels:
                yield Case(label, holdout, {"name": name, "seed": seed, "variant": label})


study = Study(
    "tau_fpl_tables",
    "tau-FPL: Tables 2 and 3",
    cases,
    report,
    compared=compared,
    kept=True,
    families=("tau_fpl",),
)

if __name__ == "__main__":
    study.main()
