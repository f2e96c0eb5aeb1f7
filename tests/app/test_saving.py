"""Estimators and results survive a round trip; broken files are refused with one clear error."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.app.saving import ESTIMATORS, load, save
from mipclass.errors import InvalidInputError, ReadError
from tests.breadth import mostly_slow
from tests.models.every_problem import EVERY_PROBLEM, K, X, Y


def data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.4 * rng.normal(size=n) > 0, "yes", "no")


FITS: dict[str, dict[str, Any]] = {
    "ZeroOneClassifier": {"solver": "local", "subject_to": ()},
    "PolyhedralClassifier": {"n_hyperplanes": 2},
    "RGDTreeSVC": {"outlier_fraction": 0.1},
    "RGDTreeOneClass": {"outlier_fraction": 0.1},
    "TauFPLClassifier": {"tau": 0.2, "threshold": "train"},
}


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_predictions_are_identical_after_loading(name: str, tmp_path: Path) -> None:
    X, y = data()
    estimator = getattr(mipclass, name)(**FITS.get(name, {}))
    estimator.fit(X, y)
    save(estimator, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert type(again) is type(estimator)
    assert again.get_params() == estimator.get_params()
    new = np.random.default_rng(1).normal(size=(200, 3))
    assert np.array_equal(again.decision_function(new), estimator.decision_function(new))
    assert np.array_equal(again.predict(new), estimator.predict(new))
    assert again.result_.objective == estimator.result_.objective


LABELS: dict[str, Callable[[Any], Any]] = {
    "text of object dtype": lambda y: y.astype(object),
    "text": lambda y: y,
    "categories": lambda y: pytest.importorskip("pandas").Series(y, dtype="category"),
    "strings of pandas": lambda y: pytest.importorskip("pandas").Series(y, dtype="string"),
    "truth values": lambda y: y == "yes",
    "small whole numbers": lambda y: (y == "yes").astype(np.int8),
}


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - {"RGDTreeOneClass"}))
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_labels_keep_their_type(name: str, labels: str, tmp_path: Path) -> None:
    X, y = data()
    estimator = getattr(mipclass, name)(**FITS.get(name, {})).fit(X, LABELS[labels](y))
    save(estimator, tmp_path / "model.json")
    again, before = load(tmp_path / "model.json"), estimator.predict(X)
    assert again.predict(X).dtype == before.dtype
    assert np.array_equal(again.predict(X), before)
    assert {type(label) for label in again.predict(X).tolist()} == {type(label) for label in before.tolist()}


def test_names_of_columns_keep_their_type(tmp_path: Path) -> None:
    frame = pytest.importorskip("pandas").DataFrame(data()[0], columns=["age", "dose", "sex"])
    estimator = mipclass.ZeroOneClassifier(solver="local").fit(frame, data()[1])
    save(estimator, tmp_path / "model.json")
    assert load(tmp_path / "model.json").feature_names_in_.dtype == estimator.feature_names_in_.dtype == object


def test_a_result_with_labels_of_objects_predicts_them(tmp_path: Path) -> None:
    result = mipclass.solve(models.rlp(X, np.array([1, 2.5], dtype=object)[Y]))
    save(result, tmp_path / "result.json")
    assert load(tmp_path / "result.json").predict(X).tolist() == result.predict(X).tolist()
    unsavable = mipclass.solve(models.rlp(X, np.array([b"a", b"b"])[Y]))
    save(unsavable, tmp_path / "result.json")
    with pytest.raises(InvalidInputError, match="its labels have no JSON form"):
        load(tmp_path / "result.json").predict(X)


def test_an_estimator_whose_labels_have_no_json_form_is_refused(tmp_path: Path) -> None:
    estimator = mipclass.ZeroOneClassifier(solver="local").fit(*data())
    estimator.classes_ = np.array([b"a", b"b"])
    with pytest.raises(InvalidInputError, match=r"labels of this ZeroOneClassifier have dtype \|S1"):
        save(estimator, tmp_path / "model.json")


def test_constraints_are_kept_as_parameters(tmp_path: Path) -> None:
    X, y = data(20)
    limits = [models.FalsePositiveRate(0.1), models.Monotone({0: 1}), models.RateParity(np.arange(20) % 2, 0.9)]
    estimator = mipclass.ZeroOneClassifier(solver="highs", subject_to=limits, time_limit=5).fit(X, y)
    save(estimator, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert [c.formula() for c in again.subject_to] == [c.formula() for c in limits]
    assert again.fit(X, y).loss_ == estimator.loss_


def test_results_round_trip_bit_for_bit(tmp_path: Path) -> None:
    result = mipclass.solve(models.zero_one(*data(30)), "highs")
    save(result, tmp_path / "result.json")
    again = load(tmp_path / "result.json")
    assert again.status == result.status
    assert again.trace == result.trace
    assert all(np.array_equal(again.values[name], result.values[name]) for name in result.values)


PREDICTING = [
    "hinge_svm", "polyhedral", "rlp", "zero_one", "rows on the weights", "a penalised offset", "one hyperplane", "a kernel",
    "a kernel on sparse rows", "a precomputed kernel", "a free multiplier",
]  # fmt: skip
"""One problem for each kind of rule and of values."""


@pytest.mark.parametrize("name", PREDICTING)
def test_a_loaded_result_predicts_exactly_as_before(name: str, tmp_path: Path) -> None:
    result = mipclass.solve(EVERY_PROBLEM[name]())
    save(result, tmp_path / "result.json")
    save(result.classifier(), tmp_path / "rule.json")
    again, classifier = load(tmp_path / "result.json"), load(tmp_path / "rule.json")
    new = K if name == "a precomputed kernel" else np.random.default_rng(1).normal(size=(50, 2))
    for loaded in (again, again.classifier(), classifier):
        assert np.array_equal(loaded.decision_function(new), result.decision_function(new))
        assert np.array_equal(loaded.predict(new), result.predict(new))
        assert loaded.predict(new).dtype == result.predict(new).dtype
    assert again.rule == result.rule
    assert str(again) == str(result)
    for attribute in ("classes_", "feature_names_in_", *(["coef_", "intercept_"] if "w" in result.values else [])):
        assert np.array_equal(getattr(classifier, attribute), getattr(result.classifier(), attribute))
    save(again, tmp_path / "twice.json")
    assert (tmp_path / "twice.json").read_text() == (tmp_path / "result.json").read_text()


def test_a_loaded_result_finds_the_columns_of_a_frame_by_name(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    result = mipclass.solve(models.hinge_svm(X, Y, 1.0, feature_names=["age", "dose"]))
    save(result, tmp_path / "result.json")
    frame = pandas.DataFrame(X[:, ::-1], columns=["dose", "age"])
    assert np.array_equal(load(tmp_path / "result.json").predict(frame), result.predict(X))


def test_large_kernel_rules_keep_their_points_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(150, 100))
    y = points[:, 0] > 0
    problem = models.Model(points, y, rule=models.Kernel("rbf"), minimize=0.5 * models.L2() + models.Hinge())
    result = mipclass.solve(problem)
    save(result, tmp_path / "result.json")
    with np.load(tmp_path / "result.npz") as archive:
        assert [archive[name].shape for name in archive.files] == [(150, 100)]
    assert np.array_equal(load(tmp_path / "result.json").decision_function(points), result.decision_function(points))


def own_kernel(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (one @ other.T + 1.0) ** 2


def test_a_rule_without_a_json_form_is_missed_in_one_sentence(tmp_path: Path) -> None:
    problem = models.Model(X, Y, rule=models.Kernel(own_kernel), minimize=0.5 * models.L2() + models.Hinge())
    result = mipclass.solve(problem)
    save(result, tmp_path / "result.json")
    again = load(tmp_path / "result.json")
    assert np.array_equal(again.values["c"], result.values["c"])
    assert str(again) == result.summary()
    for ask in (lambda: again.predict(X), again.classifier, lambda: again.rule):
        with pytest.raises(InvalidInputError, match=r"does not hold its rule.*warm_start=result"):
            ask()
    assert mipclass.solve(problem, warm_start=again).objective == pytest.approx(result.objective)
    with pytest.raises(InvalidInputError, match=r"cannot be saved: a function has no JSON form"):
        save(result.classifier(), tmp_path / "rule.json")


def test_files_of_version_one_still_load(tmp_path: Path) -> None:
    """They have no rule of a result, and labels of object dtype as text."""
    estimator = mipclass.ZeroOneClassifier().fit(X, np.where(Y > 0, "yes", "no").astype(object))
    save(estimator, tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    stored = document["fitted"]["result_"]["$result"]
    stored["result"]["reading"] = None
    stored["left_out"] = ["reading"]
    labels = {"$array": {"dtype": "<U3", "shape": [2], "data": ["no", "yes"]}}
    document["fitted"] = {**document["fitted"], "classes_": labels, "result_": {"$result": stored}}
    del document["fitted"]["_reading"]
    (tmp_path / "model.json").write_text(json.dumps({**document, "version": 1, "left_out": ["_reading"]}))
    again = load(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), estimator.predict(X))
    with pytest.raises(AttributeError, match="file of an earlier version"):
        _ = again.rule_
    (tmp_path / "result.json").write_text(
        json.dumps({"format": "mipclass", "version": 1, "kind": "result", **stored, "arrays": None})
    )
    with pytest.raises(InvalidInputError, match="an earlier version of mipclass wrote the file"):
        load(tmp_path / "result.json").predict(X)


@pytest.mark.parametrize("name", ["OutlierPathSVC", "PolyhedralClassifier", "ZeroOneClassifier"])
def test_a_loaded_estimator_has_its_rule_in_words(name: str, tmp_path: Path) -> None:
    estimator = getattr(mipclass, name)(**FITS.get(name, {})).fit(*data())
    save(estimator, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.rule_ == estimator.rule_
    assert np.array_equal(again.result_.predict(data()[0]), estimator.result_.predict(data()[0]))


def test_large_arrays_go_beside(tmp_path: Path) -> None:
    build = mipclass.models.hinge_svm(*data(60))
    result = mipclass.solve(build.program(), "highs")
    big = type(result)(**{**vars(result), "values": {"x": np.arange(20_000) / 7}})
    save(big, tmp_path / "big.json")
    assert (tmp_path / "big.npz").exists()
    assert np.array_equal(load(tmp_path / "big.json").values["x"], big.values["x"])
    (tmp_path / "big.npz").unlink()
    with pytest.raises(ReadError, match=r"needs big\.npz beside it"):
        load(tmp_path / "big.json")


CUT_OFF = """
import os, sys
import numpy as np
import mipclass

steps = int(sys.argv[1])

def counted(step):
    def call(*given, **named):
        global steps
        if steps == 0:
            os._exit(9)
        steps -= 1
        return step(*given, **named)
    return call

old = mipclass.load("model.json")
new = type(old)(**{**vars(old), "objective": 2.0, "values": {"x": np.full(20_000, 2.0)}})
os.replace, os.unlink = counted(os.replace), counted(os.unlink)
mipclass.save(new, "model.json")
"""


@pytest.mark.parametrize("steps", mostly_slow(range(4), fast=[1, 2]))
def test_saving_that_is_killed_between_steps_leaves_one_model_whole(steps: int, tmp_path: Path) -> None:
    result = mipclass.solve(models.zero_one([[0.0], [1.0]], [0, 1]), "highs")
    old = type(result)(**{**vars(result), "objective": 1.0, "values": {"x": np.full(20_000, 1.0)}})
    save(old, tmp_path / "model.json")
    ended = subprocess.run([sys.executable, "-c", CUT_OFF, str(steps)], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == (9 if steps < 3 else 0), ended.stderr
    loaded = load(tmp_path / "model.json")
    assert loaded.objective == (1.0 if steps < 2 else 2.0)
    assert set(loaded.values["x"]) == {loaded.objective}
    save(old, tmp_path / "model.json")
    assert set(load(tmp_path / "model.json").values["x"]) == {1.0}


def test_files_of_two_saves_do_not_load_together(tmp_path: Path) -> None:
    result = mipclass.solve(models.zero_one([[0.0], [1.0]], [0, 1]), "highs")
    for name, value in (("a", 1.0), ("b", 2.0)):
        save(type(result)(**{**vars(result), "values": {"x": np.full(20_000, value)}}), tmp_path / f"{name}.json")
    (tmp_path / "b.npz").replace(tmp_path / "a.npz")
    with pytest.raises(ReadError, match=r"a\.json and a\.npz do not belong together"):
        load(tmp_path / "a.json")


def test_a_model_without_large_arrays_leaves_none_behind(tmp_path: Path) -> None:
    result = mipclass.solve(models.zero_one([[0.0], [1.0]], [0, 1]), "highs")
    save(type(result)(**{**vars(result), "values": {"x": np.zeros(20_000)}}), tmp_path / "a.json")
    save(result, tmp_path / "a.json")
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not written by"),
        ({"version": 99}, "has version 99"),
        ({"kind": "program"}, "holds a 'program'"),
        ({"class": "os.system"}, "no estimator 'os.system'"),
        ({"arrays": "../secret.npz"}, "same folder"),
        ({"fitted": {"predict": 3}}, "would replace the method"),
        ({"parameters": {"nonsense": 1}}, "damaged"),
        ({"fitted": {"coef_": {"$array": {"dtype": "<f8", "shape": [3], "data": [1.0]}}}}, "holds 1 numbers"),
        ({"fitted": {"coef_": {"$array": {"dtype": "|O", "shape": [1], "data": [1.0]}}}}, "not read"),
    ],
)
def test_broken_files_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    estimator = mipclass.ZeroOneClassifier(solver="local").fit(*data())
    path = tmp_path / "model.json"
    save(estimator, path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ReadError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": {"class": "os.system", "arguments": ["true"]}}, "no rule 'os.system'"),
        ({"rule": {"class": "Linear", "arguments": [7]}}, "damaged"),
        ({"values": None}, "needs values by name"),
        ({"classes": 3}, "an array of two classes"),
        ({"classes": {"$objects": {"shape": [3], "data": ["a", "b"]}}}, "holds 2"),
        ({"classes": {"$objects": {"shape": [2], "data": ["a", [1]]}}}, "arrays of list are not read"),
    ],
)
def test_broken_rules_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    save(mipclass.solve(models.rlp(X, Y)).classifier(), path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "reading": {**document["reading"], **change}}))
    with pytest.raises(ReadError, match=message):
        load(path)


def test_sparse_rows_that_point_beyond_their_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    save(mipclass.solve(EVERY_PROBLEM["a kernel on sparse rows"]()), path)
    document = json.loads(path.read_text())
    document["result"]["values"]["points"]["$sparse"]["indices"]["$array"]["data"][0] = 10**6
    path.write_text(json.dumps(document))
    with pytest.raises(ReadError, match="damaged"):
        load(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1), junk=st.binary(max_size=20))
def test_fuzzed_files_never_raise_anything_else(cut: float, junk: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    if not (tmp_path / "good.json").exists():
        save(mipclass.solve(models.zero_one([[0.0], [1.0]], [0, 1]), "highs"), tmp_path / "good.json")
    good = (tmp_path / "good.json").read_bytes()
    at = int(cut * len(good))
    path.write_bytes(good[:at] + junk + good[at + len(junk) :])
    with contextlib.suppress(ReadError):
        load(path)


def test_what_cannot_be_saved_says_why(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="takes a Result or one of"):
        save({"a": 1}, tmp_path / "x.json")
    with pytest.raises(InvalidInputError, match="not fitted"):
        save(mipclass.ZeroOneClassifier(), tmp_path / "x.json")
    with pytest.raises(InvalidInputError, match=r"end in \.json"):
        save(mipclass.ZeroOneClassifier(), tmp_path / "x.pkl")
    with pytest.raises(ReadError, match="no file"):
        load(tmp_path / "nowhere.json")
    assert list(tmp_path.iterdir()) == []
