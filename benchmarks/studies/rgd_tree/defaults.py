"""RGDTreeSVC with its defaults next to LinearSVC on twenty sets, clean and with 10 % of the training labels flipped.

    MIPCLASS_DATA=... python -m benchmarks.studies.rgd_tree.defaults --full

The defaults (share of outliers, soft margin, its C) were chosen on the sets of CHOSEN_ON and are reported on those of REPORTED. Each
split takes 70 % of at most 600 points to train, standardised by the training part; C of "LinearSVC, C chosen" is chosen by three folds of
the training part, among the values that RGDTreeSVC compares. Test labels are never flipped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Case, Results, Study, table
from mipclass import RGDTreeSVC, datasets
from mipclass.errors import MipclassWarning
from mipclass.estimators.soft_margin import CANDIDATES

MOST_POINTS, TEST_SHARE, FLIPS = 600, 0.3, 0.1
SPLITS, SPLITS_TO_CHOOSE = 5, 3

Points = tuple[np.ndarray, np.ndarray]


def _made(n: int, d: int, informative: int, flips: float, apart: float, seed: int) -> Points:
    from sklearn.datasets import make_classification

    X, y = make_classification(n, d, n_informative=informative, flip_y=flips, class_sep=apart, random_state=seed)
    return X, y


def _pair(name: str, first: int, second: int) -> Points:
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    kept = (y == first) | (y == second)
    return X[kept], y[kept]


def _even_and_odd_digits() -> Points:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y % 2


def _moons() -> Points:
    from sklearn.datasets import make_moons

    X, y = make_moons(1000, noise=0.3, random_state=0)
    return X, y


def _stored(name: str) -> Points:
    X, y = datasets.load(name)
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64), y


STORED_TO_CHOOSE = ("heart_cleveland", "risk_adult", "a6a")
STORED = (
    "australian", "breast_wisconsin", "cmc", "german_numer", "heart_statlog", "ilpd", "liver_bupa", "musk2", "pima", "risk_mammo",
    "risk_mushroom", "sonar", "spambase", "svmguide1", "votes", "wdbc", "wpbc",
)  # fmt: skip
NEED_DATA = {*STORED_TO_CHOOSE, *STORED}

CHOSEN_ON: Mapping[str, Callable[[], Points]] = {
    **{
        f"made {k}": partial(_made, *how, 100 + k)
        for k, how in enumerate(
            (
                (300, 10, 4, 0.0, 1.0),
                (300, 20, 10, 0.05, 1.0),
                (1000, 20, 5, 0.1, 0.7),
                (500, 40, 8, 0.0, 0.5),
                (1000, 20, 10, 0.05, 1.0),
                (150, 5, 3, 0.0, 0.8),
                (1000, 10, 2, 0.2, 1.0),
                (400, 30, 20, 0.02, 1.5),
            )
        )
    },
    **{f"digits {a}, {b}": partial(_pair, "digits", a, b) for a, b in ((3, 8), (4, 9), (1, 7))},
    "iris 1, 2": partial(_pair, "iris", 1, 2),
    "wine 0, 1": partial(_pair, "wine", 0, 1),
    **{name: partial(_stored, name) for name in STORED_TO_CHOOSE},
}
"""Sets on which the defaults were chosen."""

REPORTED: Mapping[str, Callable[[], Points]] = {
    **{name: partial(_stored, name) for name in STORED},
    "digits, even or odd": _even_and_odd_digits,
    "moons": _moons,
    "wine 1, 2": partial(_pair, "wine", 1, 2),
}
"""Twenty sets that played no part in the choice."""

LINEAR = "LinearSVC"


def _linear(C: float = 1.0) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, dual=False)


def _linear_chosen() -> Any:
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(_linear(), {"C": list(CANDIDATES)}, cv=3)


SETTINGS: Mapping[str, Callable[[], Any]] = {
    LINEAR: _linear,
    **{f"share {share:g}, C = {C}": partial(RGDTreeSVC, share, C=C) for share in (0.05, 0.1) for C in (0.01, "auto")},
}
"""What was compared on the sets of CHOSEN_ON."""

CONTENDERS: Mapping[str, Callable[[], Any]] = {
    LINEAR: _linear,
    "LinearSVC, C chosen": _linear_chosen,
    "RGDTreeSVC": RGDTreeSVC,
    "RGDTreeSVC(C=None)": partial(RGDTreeSVC, C=None),
}
"""What is reported."""


def accuracies(name: str, flips: float, split: int, choosing: bool) -> dict[str, float]:
    """Test accuracy of every setting or contender on one split of a set."""
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = (CHOSEN_ON if choosing else REPORTED)[name]()
    y = np.where(y == y.max(), 1, -1)
    rng = np.random.default_rng(split)
    rows = rng.permutation(len(y))[:MOST_POINTS]
    X, X_test, y, y_test = train_test_split(
        X[rows], y[rows], test_size=TEST_SHARE, stratify=y[rows], random_state=split
    )
    y = datasets.flip_labels(y, flips, random_state=rng) if flips else y
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MipclassWarning)  # that no slab separates, for C=None
        for label, make in (SETTINGS if choosing else CONTENDERS).items():
            found[label] = float(make_pipeline(StandardScaler(), make()).fit(X, y).score(X_test, y_test))
    return found


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    here = set(datasets.available())
    for choosing, sets, splits in ((True, CHOSEN_ON, SPLITS_TO_CHOOSE), (False, REPORTED, SPLITS)):
        names = [name for name in sets if name not in NEED_DATA or name in here]
        for name in names if full else names[-2:]:
            for flips in (0.0, FLIPS):
                for split in range(splits if full else 1):
                    parameters = {"name": name, "flips": flips, "split": split, "choosing": choosing}
                    yield Case("accuracies", accuracies, parameters)


def means(results: Results, label: str, names: list[str], flips: float) -> np.ndarray:
    """The mean accuracy of each set, in per cent."""
    return np.array([100 * np.mean(results.where(name=name, flips=flips).all(label)) for name in names])


def standard_errors(results: Results, peer: str, names: list[str], flips: float) -> np.ndarray:
    """Of the mean difference between RGDTreeSVC and the peer on each set, over its splits, in points."""
    found = []
    for name in names:
        cells = results.where(name=name, flips=flips)
        differences = 100 * (np.array(cells.all("RGDTreeSVC")) - np.array(cells.all(peer)))
        found.append(float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else np.inf)
    return np.array(found)


def report(results: Results) -> str:
    """The section's markdown."""
    chosen, reported = results.where(choosing=True), results.where(choosing=False)
    return "\n\n".join([_report_sets(reported), _report_choice(chosen)])


def _names(results: Results) -> list[str]:
    return list(dict.fromkeys(cell.case.parameters["name"] for cell in results.cells))


def _report_sets(results: Results) -> str:
    names = _names(results)
    columns = [(label, flips) for flips in (0.0, FLIPS) for label in CONTENDERS]
    values = {column: means(results, *column[:1], names, column[1]) for column in columns}
    rows = [[name, *(f"{values[column][k]:.1f}" for column in columns)] for k, name in enumerate(names)]
    rows.append(["mean", *(f"{values[column].mean():.2f}" for column in columns)])
    notes = []
    for flips, when in ((0.0, "clean"), (FLIPS, "with flips")):
        for peer in (LINEAR, "LinearSVC, C chosen"):
            ahead = values["RGDTreeSVC", flips] - values[peer, flips]
            sure = 2 * standard_errors(results, peer, names, flips)
            notes.append(
                f"{when}, against {peer}: {ahead.mean():+.2f} on average, ahead on {(ahead > 0).sum()} of {len(names)} sets, more than "
                f"a point behind on {(ahead < -1).sum()}, at worst {ahead.min():+.1f} ({names[int(ahead.argmin())]}); by more than two "
                f"standard errors ahead on {(ahead > sure).sum()}, behind on {(ahead < -sure).sum()}"
            )
    return (
        f"Test accuracy in per cent, mean over {SPLITS} splits; the first four columns of figures clean, the others with "
        f"{FLIPS:.0%} of the training labels flipped. RGDTreeSVC(C=None) is the maximum margin on the points that stay.\n\n"
        + table(["set", *(label + (" (flips)" if flips else "") for label, flips in columns)], rows)
        + "\n\nRGDTreeSVC with its defaults, points of accuracy:\n\n"
        + "\n".join(f"- {note}" for note in notes)
    )


def _report_choice(results: Results) -> str:
    names = _names(results)
    rows = []
    for label in SETTINGS:
        ahead = [means(results, label, names, flips) - means(results, LINEAR, names, flips) for flips in (0.0, FLIPS)]
        rows.append(
            [label, *(text for d in ahead for text in (f"{d.mean():+.2f}", int((d > 0).sum()), int((d < -1).sum())))]
        )
    head = ["setting", "clean", "ahead on", "> 1 behind on", "flips", "ahead on", "> 1 behind on"]
    return (
        f"How the defaults were chosen: points of accuracy above LinearSVC on {len(names)} other sets ({', '.join(names)}), mean over "
        f'{SPLITS_TO_CHOOSE} splits each. "auto" compares {", ".join(f"{C:g}" for C in CANDIDATES)} on held-out training points.\n\n'
        + table(head, rows)
    )


study = Study("rgd_defaults", "RGD-tree: its defaults next to LinearSVC", cases, report)

if __name__ == "__main__":
    raise SystemExit(study.main())
