"""Table 1 of Ding & Xu (2015): each cell beside ours, and the causes of those that are worse.

The paper prints neither a deviation nor a number of splits; it says that the data are set as in Suzumura et al. (2014), so ten splits with our
deviation are taken. Ours is `RGD`, chosen on the validation part, on splits that played no part in the design of the candidates.
"""

from __future__ import annotations

from statistics import fmean

from benchmarks.harness import Cause, Comparison, Results, compare_means

PRINTED_SPLITS = 10
"""Splits that are taken to stand behind a printed figure, as in Suzumura et al. (2014)."""
# name: the paper's test error of RGD-SVM, and the best linear column of Suzumura et al. (2014, table 2), its baseline.
TABLE_1 = {
    "wdbc": (2.2, 4.9),
    "australian": (10.2, 14.5),
    "german_numer": (24.0, 26.2),
    "svmguide1": (4.0, 4.2),
    "spambase": (7.6, 8.4),
    "musk2": (7.0, 5.8),
    "w5a": (1.9, 2.0),
    "a6a": (15.2, 16.4),
    "a7a": (16.4, 16.0),
}


def compared(results: Results) -> tuple[list[Comparison], list[Cause]]:
    """Every cell that was run, and the causes whose experiments were run."""
    cells, causes = [], []
    for name, (paper, _) in TABLE_1.items():
        here = results.where("fresh", name=name)
        ours = [100 * value for value in here.all("RGD")]
        if not ours:
            continue
        cells.append(compare_means(("Table 1", name, "RGD"), paper, ours, printed_runs=PRINTED_SPLITS))
        for find in (more_training_data, chosen_on_test, best_split, true_labels):
            cause = find(results, name, paper)
            causes += [] if cause is None else [cause]
    return cells, causes


def more_training_data(results: Results, name: str, paper: float) -> Cause | None:
    """The validation part as further training data, which the paper does not rule out."""
    ours = [100 * value for value in results.where("pooled", name=name).all("RGD committee")]
    if not ours:
        return None
    cell = compare_means(("Table 1", name, "RGD"), paper, ours, printed_runs=PRINTED_SPLITS)
    return Cause(
        "The training part alone is too small for the printed error: with the validation part as further training data it is met.",
        f"{name}: trained on both parts, {cell.ours:.1f} (printed {paper:g}).",
        cell.verdict in ("better", "within error"),
        "Table 1",
        (name,),
    )


def chosen_on_test(results: Results, name: str, paper: float) -> Cause | None:
    """What a choice among the same candidates on the test part would report."""
    here = results.where("fresh", name=name)
    ours = [100 * value for value in here.all("chosen on test")]
    if not ours:
        return None
    cell = compare_means(("Table 1", name, "RGD"), paper, ours, printed_runs=PRINTED_SPLITS)
    clean = 100 * fmean(here.all("clean labels"))
    return Cause(
        "The printed error is met only by a choice among the same candidates on the test part; chosen on the validation part, as here, it is not. "
        "The paper does not say how it chose.",
        f"{name}: the best candidate on the test part has {cell.ours:.1f} (printed {paper:g}); an SVM trained on the true labels of the same training "
        f"part, chosen on the validation part, has {clean:.1f}.",
        cell.verdict in ("better", "within error"),
        "Table 1",
        (name,),
    )


def best_split(results: Results, name: str, paper: float) -> Cause | None:
    """A printed error that is far below that of the true labels: only the best single split, chosen on the test part, has it."""
    here = results.where("fresh", name=name)
    ours, clean = ([100 * value for value in here.all(key)] for key in ("chosen on test", "clean labels"))
    if not ours:
        return None
    reference = compare_means(("Table 1", name, "clean labels"), paper, clean, printed_runs=PRINTED_SPLITS)
    return Cause(
        "The printed error lies more than two standard errors below that of an SVM trained on the true labels; among our candidates it occurs only on "
        "the best single split, with a choice on the test part. The paper states neither the number of splits nor a deviation.",
        f"{name}: smallest error of a split, chosen on the test part, {min(ours):.1f} (printed {paper:g}); mean with the true labels "
        f"{reference.ours:.1f}.",
        min(ours) <= paper and reference.verdict == "open",
        "Table 1",
        (name,),
    )


def true_labels(results: Results, name: str, paper: float) -> Cause | None:
    """The labels before the flips: how far the noise explains a printed error that no rule trained on flipped labels has."""
    ours = [100 * value for value in results.where("fresh", name=name).all("clean labels")]
    if not ours:
        return None
    cell = compare_means(("Table 1", name, "clean labels"), paper, ours, printed_runs=PRINTED_SPLITS)
    return Cause(
        "The flipped labels: an SVM trained on the true labels of the same training part meets the printed error, and none of our rules trained on labels "
        "of which 15 % are flipped does.",
        f"{name}: trained on the true labels, {cell.ours:.1f} (printed {paper:g}).",
        cell.verdict in ("better", "within error"),
        "Table 1",
        (name,),
    )
