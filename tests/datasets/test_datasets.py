"""Loaders check what they read; generators follow the printed recipes and are seeded."""

from __future__ import annotations

import urllib.error
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from mipclass import datasets
from mipclass.errors import InvalidInputError
from tests.paths import ROOT


def is_separable(A: np.ndarray, B: np.ndarray) -> bool:
    """Is there v, g with A v <= g - 1 and B v >= g + 1?"""
    rows = np.vstack([np.column_stack([A, -np.ones(len(A))]), np.column_stack([-B, np.ones(len(B))])])
    return linprog(np.zeros(3), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=(None, None)).status == 0


# -- loading --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_data_folder")
def test_wdbc_comes_with_scikit_learn() -> None:
    data = datasets.load("wdbc")
    X, y = data
    assert X.shape == (569, 30)
    assert (y == 1).sum() == 212
    assert data.source == "scikit-learn"
    assert data.feature_names[0] == "mean radius"
    assert datasets.available() == ["wdbc"]


@pytest.mark.parametrize("name", datasets.names())
def test_every_set_that_is_here_has_its_stated_shape(name: str) -> None:
    if name not in datasets.available():
        pytest.skip(f"{name} is not here; set MIPCLASS_DATA to a folder that holds {name}.npz")
    data = datasets.load(name, download=False)
    facts = datasets.FACTS[name]
    assert data.X.shape == (facts.n_samples, facts.n_features)
    assert (data.y == 1).sum() == facts.n_positive
    assert set(np.unique(data.y)) == {-1, 1}
    assert data.y.dtype == np.int64
    assert len(data.feature_names) == facts.n_features


def folder_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, **arrays: Any) -> None:
    np.savez(tmp_path / f"{name}.npz", **arrays)
    monkeypatch.setenv("MIPCLASS_DATA", str(tmp_path))


def test_a_folder_of_npz_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.arange(345 * 6, dtype=float).reshape(345, 6)
    y = np.repeat([1, -1], [145, 200]).astype(np.int8)
    folder_with(tmp_path, monkeypatch, "liver_bupa", X=X, y=y, sample_id=np.arange(345))
    data = datasets.load("liver_bupa")
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, y)
    assert np.array_equal(data.extra["sample_id"], np.arange(345))
    assert data.feature_names[:2] == ("x1", "x2")
    assert "liver_bupa" in datasets.available()
    assert "145 positive (selector 1)" in repr(data)


def test_a_sparse_file_becomes_csr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.random_array((9888, 300), density=0.01, format="csr", rng=np.random.default_rng(0))
    y = np.repeat([1, -1], [281, 9607])
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    folder_with(tmp_path, monkeypatch, "w5a", y=y, **parts)
    data = datasets.load("w5a")
    assert sp.issparse(data.X)
    assert data.X.format == "csr"
    assert abs(data.X - X).nnz == 0


@pytest.mark.parametrize(
    ("X", "y", "complaint"),
    [
        (np.zeros((344, 6)), np.repeat([1, -1], [145, 199]), "344 rows"),
        (np.zeros((345, 7)), np.repeat([1, -1], [145, 200]), "7 columns"),
        (np.zeros((345, 6)), np.repeat([1, -1], [200, 145]), "200 positive"),
        (np.full((345, 6), np.nan), np.repeat([1, -1], [145, 200]), "missing or infinite"),
    ],
)
def test_another_version_of_a_set_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, X: Any, y: Any, complaint: str
) -> None:
    folder_with(tmp_path, monkeypatch, "liver_bupa", X=X, y=y)
    with pytest.raises(InvalidInputError, match=complaint):
        datasets.load("liver_bupa")


def test_a_file_without_its_arrays_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_with(tmp_path, monkeypatch, "pima", X=np.zeros((768, 8)))
    with pytest.raises(InvalidInputError, match="lacks the array 'y'"):
        datasets.load("pima")


@pytest.mark.usefixtures("no_data_folder")
def test_unknown_and_absent_sets_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="load knows breast_wisconsin"):
        datasets.load("iris")
    with pytest.raises(InvalidInputError, match="MIPCLASS_DATA is not set"):
        datasets.load("german_numer")
    monkeypatch.setenv("MIPCLASS_DATA", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"has no pima\.npz"):
        datasets.load("pima", download=False)


@pytest.mark.usefixtures("no_data_folder")
def test_openml_answers_are_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    n = 435
    votes = pd.DataFrame({f"v{j}": pd.Categorical(["y", "n", None] * (n // 3)) for j in range(16)})
    party = pd.Series(pd.Categorical(["republican"] * 168 + ["democrat"] * 267))

    def fetch(**arguments: Any) -> Any:
        asked.update(arguments)
        return SimpleNamespace(data=votes, target=party)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    data = datasets.load("votes")
    assert asked["data_id"] == 56
    assert np.array_equal(data.X[:3, 0], [1.0, -1.0, 0.0])
    assert (data.y[:168] == 1).all()
    assert data.source == "OpenML 56"


@pytest.mark.usefixtures("no_data_folder")
def test_openml_rows_with_gaps_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.ones((699, 9))
    X[-16:, 5] = np.nan
    target = pd.Series(["malignant"] * 239 + ["benign"] * 460)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(9)])
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: SimpleNamespace(data=frame, target=target))
    assert datasets.load("breast_wisconsin").X.shape == (683, 9)


@pytest.mark.usefixtures("no_data_folder")
def test_no_network_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(**_: Any) -> Any:
        raise urllib.error.URLError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(InvalidInputError, match="go online"):
        datasets.load("pima")


def test_the_documented_table_is_the_checked_one() -> None:
    page = (ROOT / "docs" / "datasets.md").read_text()
    for name, facts in datasets.FACTS.items():
        source = "scikit-learn" if name == "wdbc" else str(facts.openml or "")
        cells = [
            name,
            f"{facts.n_samples} x {facts.n_features}",
            facts.n_positive,
            facts.positive,
            " ".join(facts.papers),
        ]
        assert f"| {' | '.join(map(str, cells))} | {source}".rstrip() in page, name


# -- recipes --------------------------------------------------------------------------------------------------------------


def test_nguyen_sanner_recipe() -> None:
    X, y = datasets.nguyen_sanner((20_000, 30_000), 4, random_state=3)
    assert X.shape == (50_000, 4)
    assert (y == -1).sum() == 20_000
    R = np.random.default_rng(3).uniform(5.0, 10.0)
    for label in (-1, 1):
        part = X[y == label]
        assert (np.abs(part.mean(axis=0)) <= R / 2 + 0.3).all()
        variance = part.var(axis=0)
        assert ((variance >= 0.95) & (variance <= 1.05 * R**2)).all()
        off_diagonal = np.corrcoef(part.T) - np.eye(4)
        assert np.abs(off_diagonal).max() < 0.03


def test_range_noise_is_uniform_over_twice_the_range_and_of_one_class() -> None:
    X, y = datasets.nguyen_sanner(1000, 3, random_state=0)
    noisy, labels = datasets.add_range_noise(X, y, 0.5, label=1, random_state=1)
    assert np.array_equal(noisy[:1000], X)
    assert (labels[1000:] == 1).all()
    assert len(noisy) == 1500
    added, width = noisy[1000:], X.max(axis=0) - X.min(axis=0)
    assert (added >= X.min(axis=0) - width / 2).all()
    assert (added <= X.max(axis=0) + width / 2).all()
    assert np.allclose(added.max(axis=0) - added.min(axis=0), 2 * width, rtol=0.02)


def test_flips_are_exactly_as_many_as_asked() -> None:
    y = np.repeat([-1, 1], [30, 71])
    flipped = datasets.flip_labels(y, 0.15, random_state=0)
    assert (flipped != y).sum() == 15
    assert np.array_equal(y, np.repeat([-1, 1], [30, 71])), "the input stays as it was"
    assert np.array_equal(datasets.flip_labels(y, 0.0, random_state=0), y)


def test_split_is_a_partition_and_its_test_part_is_clean() -> None:
    X = np.arange(200.0).reshape(-1, 1)
    y = np.where(np.arange(200) % 3 == 0, 1, -1)
    split = datasets.split_with_flips(X, y, random_state=5)
    assert [len(part[1]) for part in split] == [80, 60, 60]
    assert np.array_equal(np.sort(np.vstack([part[0] for part in split]).ravel()), np.arange(200.0))
    wrong = [(labels != y[points.ravel().astype(int)]).sum() for points, labels in split]
    assert wrong == [12, 9, 0]
    sparse = datasets.split_with_flips(sp.csr_array(X), y, random_state=5)
    assert np.array_equal(sparse.train[0].toarray(), split.train[0])


def test_ding_xu_recipe() -> None:
    made = datasets.ding_xu(0.1, 8.0, n_train=(150, 250), n_test=(300, 500), n_features=12, random_state=0)
    assert made.X.shape == (400, 12)
    assert made.X_test.shape == (800, 12)
    assert made.outliers.sum() == 40
    clean = np.where(made.outliers, -made.y, made.y)
    assert (clean == -1).sum() == 150
    assert (made.y_test == -1).sum() == 300
    diameters = [max(np.linalg.norm(p - q) for p in P for q in P) for P in (made.X[clean == s] for s in (-1, 1))]
    from sklearn.svm import SVC

    width = 2.0 / np.linalg.norm(SVC(kernel="linear", C=1e6).fit(made.X, clean).coef_)
    assert width >= max(diameters) / 8.0 - 1e-6, "the clean classes are at least D / ratio apart"


def test_ding_xu_default_sizes_and_covariances() -> None:
    made = datasets.ding_xu(n_test=(10, 10), random_state=1)
    clean = np.where(made.outliers, -made.y, made.y)
    for label in (-1, 1):
        part = made.X[clean == label]
        assert 1000 <= len(part) <= 3000
        variance = part.var(axis=0)
        assert 7.0 < variance.max() / variance.min() < 14.0


@pytest.mark.parametrize("h", [2, 3, 4])
def test_planar_figures_need_more_than_one_line(h: int) -> None:
    X, y = datasets.astorino_gaudioso(h, random_state=7)
    A, B = X[y == 1], X[y == -1]
    assert (len(A), len(B)) == (40, 80)
    assert not is_separable(A, B)
    angles = 2 * np.pi * np.arange(h) / h
    reach = X @ np.array([np.cos(angles), np.sin(angles)])
    assert (reach[y == 1] <= 1.0).all()
    assert (reach[y == -1].max(axis=1) > 1.2).all()
    if h % 2 == 0:
        assert np.allclose(A.mean(axis=0), B.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: datasets.nguyen_sanner(50, 3, random_state=seed)[0],
        lambda seed: datasets.add_range_noise(np.eye(4), [1, 1, -1, -1], 0.5, random_state=seed)[0],
        lambda seed: datasets.flip_labels(np.ones(100), 0.3, random_state=seed),
        lambda seed: datasets.ding_xu(n_train=20, n_test=20, n_features=3, random_state=seed).X,
        lambda seed: datasets.astorino_gaudioso(3, random_state=seed)[0],
    ],
)
def test_seeds_repeat_and_differ(make: Any) -> None:
    assert np.array_equal(make(4), make(4))
    assert not np.array_equal(make(4), make(5))


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: datasets.nguyen_sanner((0, 5)), "class sizes"),
        (lambda: datasets.flip_labels([0, 1]), "labels -1 and \\+1"),
        (lambda: datasets.flip_labels([-1, 1], 1.5), r"\[0, 1\]"),
        (lambda: datasets.add_range_noise(np.eye(2), [1, -1], label=3), "not one of the classes"),
        (lambda: datasets.split_with_flips(np.eye(2), [1, -1], sizes=(0.5, 0.6, 0.1)), "sum to one"),
        (lambda: datasets.ding_xu(ratio=0.0), "must be positive"),
        (lambda: datasets.astorino_gaudioso(1), "at least 2"),
        (lambda: datasets.astorino_gaudioso(2, n_inside=3), "pairs"),
    ],
)
def test_bad_input_is_refused(call: Any, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        call()


def test_both_parts_of_w8a_are_the_papers_set() -> None:
    """Zhang et al. (2018), Table 3: 1933 positives, 62767 negatives."""
    parts = [datasets.FACTS[f"w8a_{part}"] for part in ("train", "test")]
    positives = sum(part.n_positive for part in parts)
    assert (positives, sum(part.n_samples for part in parts) - positives) == (1933, 62767)
