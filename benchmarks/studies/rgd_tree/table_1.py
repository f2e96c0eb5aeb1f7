"""Table 1 of Ding & Xu (2015): test errors of one split of a benchmark set.

40/30/30 splits, 15 % of the labels of the training and validation parts flipped, the test part clean; everything is chosen on the
validation part. Candidates of the RGD column: shares of outliers, two scalings (standardised; logarithm, then standardised), and for
each tree its own slab, the exact maximum margin, and a soft margin on the points that stay; the share 0, whose soft margin is the plain
SVM, is one of them. Soft margins have the squared hinge and are solved to full accuracy (benchmarks/peers/newton_svm.py). "clean labels" is a
linear SVM trained on the true labels of the same training part: a yardstick, not a bound.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.newton_svm import fit_svm
from benchmarks.studies.outlier_path.splits import CCCP_SECONDS, COSTS, PARAMETERS, Choice, CpuRun, Parts, Split
from mipclass import datasets, models, solve
from mipclass.errors import MipclassWarning
from mipclass.methods.robust_svm.cccp import concave_convex
from mipclass.methods.robust_svm.outlier_path import follow_path
from mipclass.protocol.run import Run

SHARES = (0.10, 0.15, 0.20, 0.25, 0.30, 0.35)
POOLED_SHARES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)
LARGEST_EXACT = 300_000  # entries of the training part up to which the exact last step is a candidate


class Candidates:
    """Linear rules with their scores on the validation and the test part."""

    def __init__(self, y_validation: np.ndarray, y_test: np.ndarray) -> None:
        self.y_validation, self.y_test = y_validation, y_test
        self.kind: list[str] = []
        self.validation: list[float] = []
        self.scores: list[np.ndarray] = []

    def add(self, kind: str, w: np.ndarray, b: float, X_validation: Any, X_test: Any) -> None:
        """Score the rule w.x + b on both parts; test scores are divided by its mean validation score, so that rules can be averaged."""
        on_validation = X_validation @ w + b
        self.kind.append(kind)
        self.validation.append(error(on_validation, self.y_validation))
        self.scores.append((X_test @ w + b) / (np.abs(on_validation).mean() + 1e-300))

    def chosen(self, kinds: tuple[str, ...], slack: float = 0.0) -> list[int]:
        """Candidates within `slack` standard errors of the best validation error."""
        among = [k for k, kind in enumerate(self.kind) if kind in kinds]
        best = min(self.validation[k] for k in among)
        tolerance = slack * np.sqrt(best * (1 - best) / len(self.y_validation)) + 1e-12
        return [k for k in among if self.validation[k] <= best + tolerance]

    def best(self, *kinds: str) -> float:
        """Test error of the best on the validation part; ties count with their mean, as a random one would."""
        return (
            float(np.mean([error(self.scores[k], self.y_test) for k in self.chosen(kinds)]))
            if set(kinds) & set(self.kind)
            else np.nan
        )

    def on_test_part(self, *kinds: str) -> float:
        """The smallest test error of all candidates: what a choice on the test part would report. Not a method."""
        among = [k for k, kind in enumerate(self.kind) if kind in kinds]
        return min(error(self.scores[k], self.y_test) for k in among)

    def committee(self, *kinds: str, slack: float) -> float:
        """Test error of the mean score of all candidates near the best."""
        return error(np.mean([self.scores[k] for k in self.chosen(kinds, slack)], axis=0), self.y_test)


def error(scores: np.ndarray, y: np.ndarray) -> float:
    """Share of points whose score has the wrong sign."""
    return float(np.mean(np.where(scores > 0, 1, -1) != y))


def scalings(X: Any) -> dict[str, Callable[[Any], Any]]:
    """As it is for sparse 0/1 features; otherwise standardised, of the values or of their logarithms."""
    if sp.issparse(X):
        return {"raw": lambda part: part}
    return {"standardised": lambda part: part, "logarithm": lambda part: np.sign(part) * np.log1p(np.abs(part))}


def benchmark(name: str, split: int) -> dict[str, float]:
    """Test errors of every kind of candidate on one split of a data set."""
    X, y = datasets.load(name)
    parts = datasets.split_with_flips(X, y, random_state=split)
    truth = datasets.split_with_flips(X, y, flipped=0.0, random_state=split).train[1]
    (X_train, y_train), (X_validation, y_validation), (X_test, y_test) = parts
    found = Candidates(y_validation, y_test)
    for transform in scalings(X).values():
        scale = scaled(X_train, transform)
        train, validation, test = (scale(part) for part in (X_train, X_validation, X_test))
        everyone = np.ones(len(y_train), dtype=bool)
        add_soft(found, "svm", train, y_train, everyone, validation, test)
        add_soft(found, "clean", train, truth, everyone, validation, test)
        for share in SHARES:
            add_tree(found, train, y_train, share, split, validation, test)
    everything = tuple(kind for kind in ("tree", "exact", "soft", "svm") if kind in found.kind)
    return {
        "C-SVM": found.best("svm"),
        "tree": found.best("tree"),
        "exact": found.best("exact"),
        "soft": found.best("soft", "svm"),
        "RGD": found.best(*everything),
        "committee": found.committee(*everything, slack=0.5),
        "clean labels": found.best("clean"),
        "chosen on test": found.on_test_part(*everything),
    }


def grown(X: Any, y: np.ndarray, share: float, seed: int, polish: bool) -> dict[str, Any]:
    """What the tree found; shares too small to separate are candidates like any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MipclassWarning)
        return solve(models.outlier_svm(X, y, share), "rgd-tree", seed=seed, options={"polish": polish}).extra


def scaled(X: Any, transform: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The transformation, then standardising with the means and spreads of X; sparse features stay as they are."""
    from sklearn.preprocessing import StandardScaler

    if sp.issparse(X):
        return transform
    scaler = StandardScaler().fit(transform(X))
    return lambda part: scaler.transform(transform(part))


def add_soft(found: Candidates, kind: str, X: Any, y: np.ndarray, kept: np.ndarray, validation: Any, test: Any) -> None:
    """Soft margins (squared hinge) on the points that stay, each C started from the one before."""
    wb = None
    for C in STRENGTHS:
        wb = fit_svm(X[kept], y[kept], np.full(int(kept.sum()), C), wb)
        found.add(kind, wb[:-1], float(wb[-1]), validation, test)


def add_tree(found: Candidates, X: Any, y: np.ndarray, share: float, seed: int, validation: Any, test: Any) -> None:
    """One tree with this share of outliers: its slab, the exact margin if the data are small, and soft margins on the points that stay."""
    if share * len(y) >= 0.9 * min((y > 0).sum(), (y < 0).sum()):
        return  # a share of all points that could swallow a class
    exact = X.shape[0] * X.shape[1] <= LARGEST_EXACT
    extra = grown(X, y, share, seed, polish=exact)
    a, c = extra["tree_faces"]
    found.add("tree", extra["tree_direction"], -(a + c) / 2, validation, test)
    if exact:
        a, c = extra["faces"]
        found.add("exact", extra["direction"], -(a + c) / 2, validation, test)
    kept = np.ones(len(y), dtype=bool)
    kept[extra["tree_outliers"]] = False
    add_soft(found, "soft", X, y, kept, validation, test)


# -- with the validation part as further training data ----------------------------------------------------------------


class Rule(NamedTuple):
    """A linear rule in scaled features."""

    scale: Callable[[Any], Any]
    wb: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """Scores of points in their original features."""
        return np.asarray(self.scale(X) @ self.wb[:-1] + self.wb[-1])


def rules(X: Any, y: np.ndarray, seed: int) -> dict[tuple[str, float, float], Rule]:
    """(scaling, share, C) -> the soft margin whose outliers, first the tree's, are chosen anew until they stay."""
    found = {}
    for name, transform in scalings(X).items():
        scale = scaled(X, transform)
        Z = scale(X)
        for share in (0.0, *POOLED_SHARES):
            if share * len(y) >= 0.9 * min((y > 0).sum(), (y < 0).sum()):
                continue
            kept = np.ones(len(y), dtype=bool)
            if share:
                kept[grown(Z, y, share, seed, polish=False)["tree_outliers"]] = False
            for C in STRENGTHS:
                found[name, share, C] = Rule(scale, reselected(Z, y, kept, C))
    return found


def reselected(Z: Any, y: np.ndarray, kept: np.ndarray, C: float) -> np.ndarray:
    """The soft margin on the points that stay, the worst of all points leaving in their stead; at most nine fits."""
    leave = int((~kept).sum())
    wb = fit_svm(Z[kept], y[kept], np.full(int(kept.sum()), C))
    for _ in range(8 if leave else 0):
        again = np.ones(len(y), dtype=bool)
        again[np.argsort(y * (Z @ wb[:-1] + wb[-1]), kind="stable")[:leave]] = False
        if (again == kept).all():
            break
        kept = again
        wb = fit_svm(Z[kept], y[kept], np.full(int(kept.sum()), C), wb)
    return wb


def pooled(name: str, split: int) -> dict[str, float]:
    """Both parts train and both choose: errors of rules of each part on the other are averaged, the best (for RGD all within
    half a standard error of it) are fitted to both parts together, and their mean score is the rule."""
    X, y = datasets.load(name)
    (X1, y1), (X2, y2), (X_test, y_test) = datasets.split_with_flips(X, y, random_state=split)
    first, second = rules(X1, y1, split), rules(X2, y2, split)
    wrong = {
        key: 0.5 * (error(rule.scores(X2), y2) + error(second[key].scores(X1), y1))
        for key, rule in first.items()
        if key in second
    }
    both = sp.vstack([X1, X2], format="csr") if sp.issparse(X) else np.vstack([X1, X2])
    last = rules(both, np.concatenate([y1, y2]), split)

    def test_error(keys: list[tuple[str, float, float]], slack: float) -> float:
        best = min(wrong[key] for key in keys)
        near = best + slack * np.sqrt(best * (1 - best) / len(y2)) + 1e-12
        scores = [last[key].scores(X_test) for key in keys if wrong[key] <= near]
        return error(np.mean([s / (np.abs(s).mean() + 1e-300) for s in scores], axis=0), y_test)

    known = [key for key in wrong if key in last]
    plain = [key for key in known if key[1] == 0.0]
    return {
        "C-SVM": test_error(plain, 0.0),
        "C-SVM committee": test_error(plain, 0.5),
        "RGD committee": test_error(known, 0.5),
    }


class SameSplit(Split):
    """The same parts and flips for the robust SVMs of Suzumura et al.; dense columns are standardised."""

    def parts(self, name: str, seed: int) -> Parts:
        """Training, validation and test part as in `benchmark`."""
        X, y = datasets.load(name)
        found = datasets.split_with_flips(X, y, random_state=seed)
        scale = scaled(found.train[0], lambda part: part)
        train, held, test = ((scale(part), labels) for part, labels in found)
        dense = [(part.toarray() if sp.issparse(part) else part, labels) for part, labels in (train, held, test)]
        return dense[0], dense[1], dense[2]


def robust(name: str, split: int) -> dict[str, Any]:
    """CCCP with five candidates and the outlier path with all of its breakpoints, in theta and in s; chosen alike."""
    here = SameSplit(name, "linear", split)
    choices = {"CCCP": Choice(), "OP": Choice()}
    cut = 0
    for C in COSTS:
        problem = here.problem(C)
        svm: np.ndarray | None = None
        for parameter in PARAMETERS:
            path, status = follow_path(problem, Run.quiet(), parameter, start=svm)
            assert status is None, f"{name} C={C} {parameter}: {status}"
            svm = path.alpha(0)
            choices["OP"].offer(here.path_errors(path), path.alpha)
            run = CpuRun(time_limit=CCCP_SECONDS)
            found, early = concave_convex(problem, run, parameter, candidates=5, tolerance=1e-3, start=svm)
            alphas = np.array([candidate.alpha for candidate in found])
            choices["CCCP"].offer(here.held_errors(alphas), alphas.__getitem__)
            cut += early is not None
    return {**{label: here.test_error(choice.alpha()) for label, choice in choices.items()}, "cut": cut}
