"""save and load: estimators, results and their rules as JSON, large arrays beside it as .npz. No pickle; nothing is ever executed.

    {"format": "mipclass", "version": 2, "kind": "estimator", "class": "ZeroOneClassifier",
     "parameters": {...}, "fitted": {...}, "arrays": "model.npz" or null, "arrays_sha256": "..."}

Version 1 kept no rule of a result and wrote labels of object dtype as text; it is still read. Values have the JSON forms of json_values.py. A class is found by its name in a fixed table, never by import. Attributes that
have no JSON form (a search tree, a path) are left out and listed under "left_out"; predictions do not need them.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, ReadError
from ..estimators import ESTIMATORS
from ..modelling.conversions import conversion
from ..protocol.result import Result
from ..replacing import write_safely
from .fitted_table import FittedTable
from .json_values import (
    Stored,
    UnsavableError,
    decode,
    decode_reading,
    decode_result,
    encode,
    encode_reading,
    encode_result,
)

RULE_CLASSIFIER = "RuleClassifier"
"""What `result.classifier()` makes. Its class is imported when a file holds one, and scikit-learn with it."""
FORMAT, VERSION, READ_VERSIONS = "mipclass", 2, (1, 2)
TABLE_FIELDS = ("feature_names", "target", "mean", "scale", "classes", "categories")
MAX_BYTES = 2**30
"""Larger files are refused before they are read."""


# -- writing ----------------------------------------------------------------------------------------------------------


def save(what: Any, path: str | Path) -> None:
    """Write an estimator, a Result or its `classifier()` to `path` (.json), with an .npz file beside it when arrays are large.

    The arrays of a file that is there already are left alone until the new JSON file, which names the new arrays and their digest,
    has taken its place in one step: whenever saving is cut off, what loads is the old model or the new one, whole.
    """
    path = Path(path)
    if path.suffix != ".json":
        raise InvalidInputError(f"save writes JSON: the path must end in .json; got {path.name!r}.")
    stored: Stored = {}
    if isinstance(what, Result):
        document = {"kind": "result", **encode_result(what, stored)}
    elif type(what).__name__ in ESTIMATORS:
        document = {"kind": "estimator", **_estimator_document(what, stored)}
    elif type(what).__name__ == RULE_CLASSIFIER:
        document = {"kind": "rule", **_rule_document(what, stored)}
    elif isinstance(what, FittedTable):
        document = {"kind": "table", **_table_document(what, stored)}
    else:
        known = ", ".join((RULE_CLASSIFIER, *ESTIMATORS))
        raise InvalidInputError(f"save takes a Result or one of {known}; got {type(what).__name__}.")
    free, used = _free_name(path)
    document = {"format": FORMAT, "version": VERSION, **document, "arrays": free if stored else None}
    if stored:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **stored)  # type: ignore[arg-type]  # mypy takes the names for `allow_pickle`
        document["arrays_sha256"] = hashlib.sha256(buffer.getvalue()).hexdigest()
        write_safely(path.with_name(free), buffer.getvalue())
    write_safely(path, (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())
    if used is not None:
        path.with_name(used).unlink(missing_ok=True)


def _free_name(path: Path) -> tuple[str, str | None]:
    """A name for the arrays that the file at `path` does not use now, and the name that it does use."""
    own = (f"{path.stem}.npz", f"{path.stem}~.npz")
    try:
        used = _read_document(path).get("arrays")
    except ReadError:
        used = None
    return own[1] if used == own[0] else own[0], used if used in own else None


def _estimator_document(estimator: Any, stored: Stored) -> dict[str, Any]:
    parameters, fitted, left_out = {}, {}, []
    for name, value in estimator.get_params(deep=False).items():
        try:
            parameters[name] = encode(value, stored, f"parameter_{name}")
        except UnsavableError as err:
            raise InvalidInputError(f"parameter {name!r} of {type(estimator).__name__} cannot be saved: {err}") from err
    for name, value in vars(estimator).items():
        if name in parameters:
            continue
        try:
            fitted[name] = encode(value, stored, name)
        except UnsavableError:
            left_out.append(name)
    if "classes_" in left_out:  # nothing can be predicted without them
        raise InvalidInputError(
            f"the labels of this {type(estimator).__name__} have dtype {estimator.classes_.dtype}, which has no JSON form; text, numbers and "
            "truth values have one. Fit with such labels, or keep the estimator with pickle."
        )
    if not any(name.endswith("_") for name in fitted):
        raise InvalidInputError(f"this {type(estimator).__name__} is not fitted; call fit before save.")
    return {"class": type(estimator).__name__, "parameters": parameters, "fitted": fitted, "left_out": left_out}


def _rule_document(classifier: Any, stored: Stored) -> dict[str, Any]:
    try:
        return {"reading": encode_reading(classifier.reading, stored, "reading")}
    except UnsavableError as err:
        raise InvalidInputError(
            f"the rule of this {RULE_CLASSIFIER} cannot be saved: {err} Saved are linear rules, polyhedra and kernels by name, "
            "such as Kernel('rbf'), with labels that are text or numbers; keep others with pickle."
        ) from err


def _table_document(fitted: FittedTable, stored: Stored) -> dict[str, Any]:
    own = {name: encode(getattr(fitted, name), stored, f"table_{name}") for name in TABLE_FIELDS}
    return {**own, "estimator": _estimator_document(fitted.estimator, stored)}


# -- reading ----------------------------------------------------------------------------------------------------------


def load(path: str | Path) -> Any:
    """Read what `save` wrote: an estimator, a Result or its classifier, which predicts as before."""
    path = Path(path)
    document = _read_document(path)
    arrays = _read_arrays(path, document)
    try:
        if document["kind"] == "result":
            return decode_result(document, arrays)
        if document["kind"] == "estimator":
            return _decode_estimator(document, arrays)
        if document["kind"] == "rule":
            return conversion("classifier")(decode_reading(document["reading"], arrays))
        if document["kind"] == "table":
            return _decode_table(document, arrays)
    except ReadError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as err:
        raise ReadError(f"{path.name} is damaged: {type(err).__name__}: {err}.") from err
    raise ReadError(
        f"{path.name} holds a {document['kind']!r}; this version knows 'estimator', 'table', 'rule' and 'result'."
    )


def _read_document(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ReadError(f"there is no file {str(path)!r}.")
    if path.stat().st_size > MAX_BYTES:
        raise ReadError(f"{path.name} is larger than {MAX_BYTES // 2**20} MiB, which no saved model is.")
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as err:
        raise ReadError(f"{path.name} is not JSON: {err}") from err
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ReadError(f"{path.name} was not written by mipclass.save.")
    if document.get("version") not in READ_VERSIONS:
        raise ReadError(
            f"{path.name} has version {document.get('version')!r}; this mipclass reads versions {READ_VERSIONS[0]} to {VERSION}. Update mipclass."
        )
    if "kind" not in document:
        raise ReadError(f"{path.name} does not say what it holds.")
    return document


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _read_arrays(path: Path, document: dict[str, Any]) -> Mapping[str, NDArray[Any]]:
    name = document.get("arrays")
    if name is None:
        return {}
    if not isinstance(name, str) or Path(name).name != name or not name.endswith(".npz"):
        raise ReadError(f"{path.name}: 'arrays' must name an .npz file in the same folder; got {name!r}.")
    beside = path.parent / name
    if not beside.is_file():
        raise ReadError(f"{path.name} needs {name} beside it, which is missing.")
    if beside.stat().st_size > MAX_BYTES:
        raise ReadError(f"{name} is larger than {MAX_BYTES // 2**20} MiB, which no saved model is.")
    content = beside.read_bytes()
    if hashlib.sha256(content).hexdigest() != document.get("arrays_sha256"):
        raise ReadError(
            f"{path.name} and {name} do not belong together: the digest in {path.name} is not that of {name}. One of them comes from "
            "another save or was changed. Copy both files of one save, or save the model again."
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except Exception as err:  # a damaged archive raises errors of zipfile, zlib, struct, NumPy and others
        raise ReadError(f"{name} cannot be read: {err}") from err


def _decode_estimator(document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    name = document["class"]
    if name not in ESTIMATORS:
        raise ReadError(f"there is no estimator {name!r}; known are {', '.join(ESTIMATORS)}.")
    module, _, attribute = ESTIMATORS[name].partition(":")
    estimator = getattr(import_module(module), attribute)()
    parameters = {key: decode(value, arrays) for key, value in document["parameters"].items()}
    estimator.set_params(**parameters)
    for key, value in document["fitted"].items():
        if hasattr(type(estimator), key) and callable(getattr(type(estimator), key)):
            raise ReadError(f"the file would replace the method {key!r} of {name}.")
        setattr(estimator, key, decode(value, arrays))
    return estimator


def _decode_table(document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FittedTable:
    own = {name: decode(document[name], arrays) for name in TABLE_FIELDS}
    return FittedTable(_decode_estimator(document["estimator"], arrays), **own)
