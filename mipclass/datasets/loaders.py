"""The papers' data sets, their synthetic recipes and their noise, all seeded.

    X, y = load("pima")                                  labels -1/+1, rows in the order of the source, nothing scaled
    X, y = nguyen_sanner(500, 5, random_state=0)         two Gaussians, section 6 of Nguyen & Sanner (2013)
    X, y = add_range_noise(X, y, 0.10, random_state=0)   their background noise and outliers (tables 2 and 4)
    y = flip_labels(y, 0.15, random_state=0)             outliers of Suzumura et al. (2014) and Ding & Xu (2015)

`load` finds a set in scikit-learn, in the folder named by the environment variable MIPCLASS_DATA (files `<name>.npz`
with `X` or the parts of a CSR matrix, and `y`), or downloads it from OpenML, and checks shape and class sizes in each case.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidInputError

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Facts:
    """What is known about a set before it is read; `load` checks the numbers.

    `papers`: A Nguyen & Sanner, B Astorino & Gaudioso, C Suzumura et al., D Ding & Xu, E Zhang et al.;
    empty for the sets of RiskSLIM (Ustun & Rudin, JMLR 2019), whose names begin with risk, and for those on which cells are
    enumerated (docs/records.md), whose names begin with ice.
    `noise_label`: the class that the noise of paper A joins. The paper says only "the first class"; these signs fit its
    table 2 best. None where paper A does not use the set or the fit does not decide.
    `openml`: OpenML's number of the set, where its columns are known to be the same.
    """

    n_samples: int
    n_features: int
    n_positive: int
    positive: str
    papers: str
    noise_label: int | None = None
    openml: int | None = None


FACTS: dict[str, Facts] = {
    "breast_wisconsin": Facts(683, 9, 239, "malignant", "ABE", -1, openml=15),
    "liver_bupa": Facts(345, 6, 145, "selector 1", "AB", +1, openml=8),
    "cmc": Facts(1473, 9, 629, "no contraceptive used", "A", +1, openml=23),
    "heart_statlog": Facts(270, 13, 120, "disease present", "AE", -1, openml=53),
    "ilpd": Facts(583, 10, 416, "liver patient", "A", -1, openml=1480),
    "pima": Facts(768, 8, 268, "diabetes", "AB", openml=37),
    "sonar": Facts(208, 60, 111, "mine", "A", +1, openml=40),
    "heart_cleveland": Facts(297, 13, 137, "disease present", "B"),
    "votes": Facts(435, 16, 168, "republican", "B", openml=56),
    "wpbc": Facts(194, 32, 46, "recurrence", "B"),
    "wdbc": Facts(569, 30, 212, "malignant", "CD"),
    "australian": Facts(690, 14, 307, "class 1", "CD", openml=40981),
    "german_numer": Facts(1000, 24, 300, "bad credit", "CD"),
    "svmguide1": Facts(3089, 4, 2000, "label 1", "CD"),
    "spambase": Facts(4601, 57, 1813, "spam", "CDE", openml=44),
    "musk2": Facts(6598, 166, 1017, "musk", "CD"),
    "w5a": Facts(9888, 300, 281, "label +1", "CD"),
    "a6a": Facts(11220, 122, 2692, "label +1", "CD"),
    "a7a": Facts(16100, 122, 3918, "label +1", "CD"),
    "w8a_train": Facts(49749, 300, 1479, "label +1", "E"),
    "w8a_test": Facts(14951, 300, 454, "label +1", "E"),
    "real_sim": Facts(72309, 20958, 22238, "label +1", "E"),
    "gisette": Facts(6000, 5000, 3000, "label +1", "CD"),
    "risk_breastcancer": Facts(683, 9, 239, "malignant", ""),
    "risk_mammo": Facts(961, 14, 445, "malignant", ""),
    "risk_spambase": Facts(4601, 57, 1813, "spam", ""),
    "risk_mushroom": Facts(8124, 113, 3916, "poisonous", ""),
    "risk_adult": Facts(32561, 36, 7841, "income over 50K", ""),
    "ice_caesarian": Facts(72, 5, 41, "caesarean", ""),
    "ice_haberman": Facts(283, 3, 204, "survived five years", ""),
    "ice_voice": Facts(707, 2, 654, "pathological", ""),
    "ice_blood": Facts(502, 4, 131, "donated", ""),
    "ice_sepsis": Facts(975, 3, 917, "survived", ""),
    "ice_ai4i": Facts(10000, 6, 339, "machine failure", ""),
    "ice_skin": Facts(51433, 3, 14654, "skin", ""),
}


@dataclass(frozen=True)
class Dataset:
    """X (float64 array or csr_array) and y (-1/+1). Unpacks into the two: `X, y = load(name)`.

    `extra` holds what else the file had: sample numbers, raw labels, groups.
    """

    name: str
    X: Any
    y: Labels
    feature_names: tuple[str, ...]
    facts: Facts
    source: str
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<data set {self.name}: {n} x {d}, {self.facts.n_positive} positive ({self.facts.positive}), from {self.source}>"


def names() -> list[str]:
    """The sets that `load` knows."""
    return list(FACTS)


def available() -> list[str]:
    """The sets that `load` finds here without a network."""
    return [name for name in FACTS if name in _BUNDLED or _file(name) is not None]


def load(name: str, *, download: bool = True) -> Dataset:
    """The papers' data set `name`, with labels -1/+1 and its shape and class sizes checked.

    Looked for in scikit-learn, then in the folder MIPCLASS_DATA, then (with `download`) at OpenML.
    """
    if name not in FACTS:
        raise InvalidInputError(f"there is no data set {name!r}; load knows {', '.join(FACTS)}.")
    path = _file(name)
    if name in _BUNDLED:
        dataset = _BUNDLED[name](name)
    elif path is not None:
        dataset = _from_file(name, path)
    elif download and FACTS[name].openml is not None:
        dataset = _from_openml(name)
    else:
        raise InvalidInputError(_how_to_get(name))
    _check(dataset)
    return dataset


def _how_to_get(name: str) -> str:
    folder = os.environ.get("MIPCLASS_DATA")
    looked = f"the folder MIPCLASS_DATA={folder} has no {name}.npz" if folder else "MIPCLASS_DATA is not set"
    openml = ", or go online and let load fetch it from OpenML" if FACTS[name].openml is not None else ""
    return (
        f"data set {name!r} is not here: {looked}. Put {name}.npz (arrays X and y, labels -1/+1) into a folder and name it "
        f"in MIPCLASS_DATA{openml}. Available now: {', '.join(available())}."
    )


def _file(name: str) -> Path | None:
    folder = os.environ.get("MIPCLASS_DATA")
    path = Path(folder).expanduser() / f"{name}.npz" if folder else None
    return path if path is not None and path.is_file() else None


def _check(dataset: Dataset) -> None:
    X: Any = dataset.X
    facts, (n, d) = dataset.facts, X.shape
    got = (n, d, int((dataset.y == 1).sum()), int((dataset.y == -1).sum()))
    expected = (facts.n_samples, facts.n_features, facts.n_positive, facts.n_samples - facts.n_positive)
    if got != expected:
        raise InvalidInputError(
            f"data set {dataset.name!r} from {dataset.source} has {got[0]} rows, {got[1]} columns, {got[2]} positive and {got[3]} "
            f"negative; expected {expected[0]}, {expected[1]}, {expected[2]} and {expected[3]}. It is another version of the set; "
            f"use its arrays directly if that is what you want."
        )
    if not np.isfinite(X.data if hasattr(X, "indptr") else X).all():
        raise InvalidInputError(
            f"data set {dataset.name!r} from {dataset.source} holds missing or infinite values; expected none."
        )


# -- sources --------------------------------------------------------------------------------------------------------------


def _wdbc(name: str) -> Dataset:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    y = np.where(bunch.target == 0, 1, -1)  # scikit-learn's 0 is malignant
    return _dataset(name, bunch.data, y, map(str, bunch.feature_names), "scikit-learn")


_BUNDLED = {"wdbc": _wdbc}


def _from_file(name: str, path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    try:
        if "indptr" in arrays:
            parts = (arrays.pop("data"), arrays.pop("indices"), arrays.pop("indptr"))
            n, d = map(int, arrays.pop("shape"))
            X: Any = sp.csr_array(parts, shape=(n, d))
        else:
            X = arrays.pop("X")
        y = arrays.pop("y")
    except KeyError as err:
        raise InvalidInputError(
            f"{path} lacks the array {err.args[0]!r}; it must hold y and X (or data, indices, indptr, shape)."
        ) from err
    feature_names = arrays.pop("feature_names", ())
    return _dataset(name, X, y, map(str, feature_names), str(path), arrays)


def _dataset(name: str, X: Any, y: Any, feature_names: Any, source: str, extra: Any = None) -> Dataset:
    labels = tuple(feature_names) or tuple(f"x{j}" for j in range(1, X.shape[1] + 1))
    matrix = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    return Dataset(name, matrix, np.asarray(y, dtype=np.int64), labels, FACTS[name], source, extra or {})


# OpenML's label column (None: its default target) and the values of the positive class.
_OPENML_TARGET: dict[str, tuple[str | None, str]] = {
    "breast_wisconsin": (None, "malignant"),
    "liver_bupa": ("selector", "1"),
    "cmc": (None, "1"),
    "heart_statlog": (None, "present"),
    "ilpd": (None, "1"),
    "pima": (None, "tested_positive"),
    "sonar": (None, "Mine"),
    "votes": (None, "republican"),
    "australian": (None, "1"),
    "spambase": (None, "1"),
}
# How words become numbers: the same codes as in the files.
_WORDS = {"y": 1.0, "n": -1.0, "Male": 0.0, "Female": 1.0}


def _from_openml(name: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    target, positive = _OPENML_TARGET[name]
    try:
        bunch = fetch_openml(
            data_id=FACTS[name].openml,
            as_frame=True,
            parser="auto",
            n_retries=1,
            **({"target_column": target} if target else {}),
        )
    except (OSError, ImportError) as err:  # no network, or no pandas to parse with
        raise InvalidInputError(f"{_how_to_get(name)} (OpenML: {err})") from err
    X = np.column_stack([_numbers(bunch.data[column]) for column in bunch.data.columns])
    answers = np.array([_word(value) for value in bunch.target])
    y = np.where(answers == positive, 1, -1)
    X, y = _without_gaps(name, X, y)
    return _dataset(name, X, y, map(str, bunch.data.columns), f"OpenML {FACTS[name].openml}")


def _without_gaps(name: str, X: Array, y: Any) -> tuple[Array, Any]:
    """Missing values the way the papers' sets treat them: votes 0, ilpd the median, otherwise the row is dropped."""
    gaps = np.isnan(X)
    if name == "votes":
        return np.where(gaps, 0.0, X), y
    if name == "ilpd":
        return np.where(gaps, np.nanmedian(X, axis=0), X), y
    return X[~gaps.any(axis=1)], y[~gaps.any(axis=1)]


def _word(value: Any) -> str:
    text = str(value)
    return text[:-2] if text.endswith(".0") else text


def _numbers(column: Any) -> Array:
    def number(value: Any) -> float:
        if value is None or value != value:
            return np.nan
        return _WORDS[value] if value in _WORDS else float(value)

    return np.array([number(value) for value in column.astype(object)])
