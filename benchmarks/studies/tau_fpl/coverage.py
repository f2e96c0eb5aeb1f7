"""How often each threshold of TauFPLClassifier lets the true false-positive rate exceed tau.

    python -m benchmarks.studies.tau_fpl.coverage [--full]

Two Gaussian classes, so that the true rates of a linear rule are known exactly: negatives N(0, I), positives N(c, I) with
|c| = 3.2. Each case draws a training sample, fits, and records the true rates.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Case, Results, Study, table

TAU, DELTA = 0.1, 0.1


def fit_samples(threshold: str, d: int, negatives: int, samples: int) -> dict[str, list[float]]:
    """True false- and true-positive rates of one fit for each of `samples` samples."""
    from scipy.stats import norm

    from mipclass import TauFPLClassifier

    shift = 3.2 / np.sqrt(d)
    fpr, tpr = [], []
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], [negatives, negatives // 3])
        X = rng.standard_normal((len(y), d)) + shift * y[:, None]
        clf = TauFPLClassifier(tau=TAU, threshold=threshold, delta=DELTA, R=0.1, n_rounds=5, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf.fit(X, y)
        w, b = clf.coef_[0], clf.threshold_
        norm_w = float(np.linalg.norm(w)) or 1.0
        fpr.append(float(norm.sf(b / norm_w)))
        tpr.append(float(norm.sf((b - shift * w.sum()) / norm_w)))
    return {"fpr": fpr, "tpr": tpr}


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for d, negatives in ((2, 120), (20, 120), (20, 600)) if full else ((2, 120),):
        for threshold in ("train", "oob", "umbrella"):
            parameters = {"threshold": threshold, "d": d, "negatives": negatives, "samples": 500}
            yield Case(threshold, fit_samples, parameters)


def report(results: Results) -> str:
    """The section's markdown."""
    rows = []
    for cell in results.cells:
        if cell.error is None:
            fpr, tpr = np.array(cell.measured["fpr"]), np.array(cell.measured["tpr"])
            place = [cell.case.parameters[name] for name in ("d", "negatives", "threshold")]
            rows.append([*place, float(fpr.mean()), f"{np.mean(fpr > TAU):.1%}", float(tpr.mean())])
    title = f"tau = {TAU}, delta = {DELTA}, 500 samples each; rates are true ones. The umbrella promises at most {DELTA:.0%}."
    return title + "\n\n" + table(["d", "negatives", "threshold", "mean fpr", "above tau", "mean tpr"], rows)


study = Study("tau_fpl_coverage", "tau-FPL: how often thresholds exceed tau", cases, report)

if __name__ == "__main__":
    study.main()
