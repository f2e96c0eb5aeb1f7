"""save and load: estimators and results as JSON, large arrays beside it as .npz. No pickle; nothing is ever executed.

    {"format": "mipclass", "version": 1, "kind": "estimator", "class": "ZeroOneClassifier",
     "parameters": {...}, "fitted": {...}, "arrays": "model.npz" or null}

Values are JSON's own, plus objects with one key: {"$array": {"dtype", "shape", "data"}} for a small array,
{"$stored": name} for one in the .npz, {"$tuple": [...]}, {"$number": "inf" | "-inf" | "nan"}, {"$result": {...}},
{"$constraint": {"class", "arguments"}}, {"$certificate": {...}}, {"$mapping": [[key, value], ...]} where keys are not
text.
A class is found by its name in a fixed table, never by import. Attributes that have no such form (a search tree, a path)
are left out and listed under "left_out"; predictions do not need them.
"""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificates.certificate import Certificate
from ..errors import InvalidInputError, ReadError
from ..estimators import ESTIMATORS
from ..modelling.algebra import Constraint
from ..protocol.result import Result, Status
from .fitted_table import FittedTable

FORMAT, VERSION = "mipclass", 1
TABLE_FIELDS = ("feature_names", "target", "mean", "scale", "classes", "categories")
INLINE = 10_000
"""Arrays with more numbers than this go to the .npz file."""
MAX_BYTES = 2**30
"""Larger files are refused before they are read."""

CONSTRAINTS = (
    "Bounds",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "IntegerCoefficients",
    "MaxFeatures",
    "Monotone",
    "RateParity",
)
_DTYPES = ("b", "i", "u", "f", "U")


class _Unsavable(TypeError):
    """A value without a JSON form."""


# -- writing ----------------------------------------------------------------------------------------------------------


def save(what: Any, path: str | Path) -> None:
    """Write an estimator or a Result to `path` (.json), with `path`.npz beside it when arrays are large.

    Both files are written under other names and renamed, so that a crash leaves nothing half-written.
    """
    path = Path(path)
    if path.suffix != ".json":
        raise InvalidInputError(f"save writes JSON: the path must end in .json; got {path.name!r}.")
    stored: dict[str, NDArray[Any]] = {}
    if isinstance(what, Result):
        document = {"kind": "result", **_result_document(what, stored)}
    elif type(what).__name__ in ESTIMATORS:
        document = {"kind": "estimator", **_estimator_document(what, stored)}
    elif isinstance(what, FittedTable):
        document = {"kind": "table", **_table_document(what, stored)}
    else:
        raise InvalidInputError(f"save takes a Result or one of {', '.join(ESTIMATORS)}; got {type(what).__name__}.")
    arrays = path.with_suffix(".npz")
    document = {"format": FORMAT, "version": VERSION, **document, "arrays": arrays.name if stored else None}
    if stored:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **stored)  # type: ignore[arg-type]
        write_safely(arrays, buffer.getvalue())
    write_safely(path, (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())


def write_safely(path: Path, content: bytes) -> None:
    """Write to a temporary file in the same folder, then rename it over `path`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _estimator_document(estimator: Any, stored: dict[str, NDArray[Any]]) -> dict[str, Any]:
    parameters, fitted, left_out = {}, {}, []
    for name, value in estimator.get_params(deep=False).items():
        try:
            parameters[name] = _encode(value, stored, f"parameter_{name}")
        except _Unsavable as err:
            raise InvalidInputError(f"parameter {name!r} of {type(estimator).__name__} cannot be saved: {err}") from err
    for name, value in vars(estimator).items():
        if name in parameters:
            continue
        try:
            fitted[name] = _encode(value, stored, name)
        except _Unsavable:
            left_out.append(name)
    if not any(name.endswith("_") for name in fitted):
        raise InvalidInputError(f"this {type(estimator).__name__} is not fitted; call fit before save.")
    return {"class": type(estimator).__name__, "parameters": parameters, "fitted": fitted, "left_out": left_out}


def _table_document(fitted: FittedTable, stored: dict[str, NDArray[Any]]) -> dict[str, Any]:
    own = {name: _encode(getattr(fitted, name), stored, f"table_{name}") for name in TABLE_FIELDS}
    return {**own, "estimator": _estimator_document(fitted.estimator, stored)}


def _result_document(result: Result, stored: dict[str, NDArray[Any]], prefix: str = "result") -> dict[str, Any]:
    document: dict[str, Any] = {}
    left_out: list[str] = []
    for field in fields(result):
        value = getattr(result, field.name)
        if field.name == "extra":
            kept = {}
            for name, item in value.items():
                try:
                    kept[name] = _encode(item, stored, f"{prefix}_extra_{name}")
                except _Unsavable:
                    left_out.append(f"extra.{name}")
            document["extra"] = kept
            continue
        try:
            document[field.name] = _encode(value, stored, f"{prefix}_{field.name}")
        except _Unsavable:
            document[field.name] = None
            left_out.append(field.name)
    return {"result": document, "left_out": left_out}


def _encode(value: Any, stored: dict[str, NDArray[Any]], name: str) -> Any:
    if isinstance(value, Status):
        return value.value
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"$number": repr(float(value))}
    if isinstance(value, np.ndarray):
        return _encode_array(value, stored, name)
    if isinstance(value, Result):
        return {"$result": _result_document(value, stored, name)}
    if isinstance(value, Certificate):
        return {"$certificate": dict(value.content)}
    if isinstance(value, Constraint):
        return {"$constraint": _constraint_document(value, stored, name)}
    if isinstance(value, tuple):
        return {"$tuple": [_encode(item, stored, f"{name}_{k}") for k, item in enumerate(value)]}
    if isinstance(value, list):
        return [_encode(item, stored, f"{name}_{k}") for k, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: _encode(item, stored, f"{name}_{key}") for key, item in value.items()}
    if isinstance(value, Mapping):  # labels as keys, e.g. class_weight={0: 1.0, 1: 5.0}
        pairs = enumerate(value.items())
        return {"$mapping": [[_encode(part, stored, f"{name}_{k}") for part in pair] for k, pair in pairs]}
    raise _Unsavable(f"a {type(value).__name__} has no JSON form.")


def _constraint_document(constraint: Constraint, stored: dict[str, NDArray[Any]], name: str) -> dict[str, Any]:
    kind = type(constraint).__name__
    if kind not in CONSTRAINTS:
        raise _Unsavable(f"a {kind} has no JSON form; these constraints have: {', '.join(CONSTRAINTS)}.")
    arguments = vars(constraint).values()  # a frozen dataclass keeps its fields in order, and nothing else
    return {"class": kind, "arguments": [_encode(value, stored, f"{name}_{k}") for k, value in enumerate(arguments)]}


def _encode_array(array: NDArray[Any], stored: dict[str, NDArray[Any]], name: str) -> Any:
    if array.dtype.kind == "O" and all(isinstance(item, str) for item in array.ravel()):
        array = array.astype(str)
    if array.dtype.kind not in _DTYPES:
        raise _Unsavable(f"an array of {array.dtype} has no JSON form.")
    if array.size > INLINE:
        stored[name] = array
        return {"$stored": name}
    # float(x).__repr__ is the shortest text that reads back to the same float64
    data = [_encode(item, stored, name) for item in array.ravel().tolist()]
    return {"$array": {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}}


# -- reading ----------------------------------------------------------------------------------------------------------


def load(path: str | Path) -> Any:
    """Read what `save` wrote: an estimator that predicts as before, or a Result."""
    path = Path(path)
    document = _read_document(path)
    arrays = _read_arrays(path, document)
    try:
        if document["kind"] == "result":
            return _decode_result(document, arrays)
        if document["kind"] == "estimator":
            return _decode_estimator(document, arrays)
        if document["kind"] == "table":
            return _decode_table(document, arrays)
    except ReadError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as err:
        raise ReadError(f"{path.name} is damaged: {type(err).__name__}: {err}.") from err
    raise ReadError(f"{path.name} holds a {document['kind']!r}; this version knows 'estimator', 'table' and 'result'.")


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
    if document.get("version") != VERSION:
        raise ReadError(
            f"{path.name} has version {document.get('version')!r}; this mipclass reads version {VERSION}. Update mipclass."
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
    try:
        with np.load(beside, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except Exception as err:
        raise ReadError(f"{name} cannot be read: {err}") from err


def _decode_estimator(document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    name = document["class"]
    if name not in ESTIMATORS:
        raise ReadError(f"there is no estimator {name!r}; known are {', '.join(ESTIMATORS)}.")
    module, _, attribute = ESTIMATORS[name].partition(":")
    estimator = getattr(import_module(module), attribute)()
    parameters = {key: _decode(value, arrays) for key, value in document["parameters"].items()}
    estimator.set_params(**parameters)
    for key, value in document["fitted"].items():
        if hasattr(type(estimator), key) and callable(getattr(type(estimator), key)):
            raise ReadError(f"the file would replace the method {key!r} of {name}.")
        setattr(estimator, key, _decode(value, arrays))
    return estimator


def _decode_table(document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FittedTable:
    own = {name: _decode(document[name], arrays) for name in TABLE_FIELDS}
    return FittedTable(_decode_estimator(document["estimator"], arrays), **own)


def _decode_result(document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Result:
    decoded = {key: _decode(value, arrays) for key, value in document["result"].items()}
    decoded["status"] = Status(decoded["status"])
    decoded["trace"] = [tuple(point) for point in decoded["trace"]]
    return Result(**decoded)


def _decode(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(key, content)] = value.items()
        if key == "$number":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
        if key == "$tuple":
            return tuple(_decode(item, arrays) for item in content)
        if key == "$stored":
            return arrays[content]
        if key == "$array":
            return _decode_array(content)
        if key == "$result":
            return _decode_result(content, arrays)
        if key == "$certificate":
            return Certificate(content)
        if key == "$constraint":
            return _decode_constraint(content, arrays)
        if key == "$mapping":
            return {_decode(name, arrays): _decode(item, arrays) for name, item in content}
    return {key: _decode(item, arrays) for key, item in value.items()}


def _decode_constraint(content: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Constraint:
    from .. import models

    if content["class"] not in CONSTRAINTS:
        raise ReadError(f"there is no constraint {content['class']!r}; known are {', '.join(CONSTRAINTS)}.")
    made: Constraint = getattr(models, content["class"])(*[_decode(value, arrays) for value in content["arguments"]])
    return made


def _decode_array(content: dict[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(content["dtype"])
    if dtype.kind not in _DTYPES:
        raise ReadError(f"arrays of {dtype} are not read.")
    shape = tuple(content["shape"])
    data = [_decode(item, {}) for item in content["data"]]
    if math.prod(shape) != len(data) or any(not isinstance(k, int) or k < 0 for k in shape):
        raise ReadError(f"an array of shape {shape} holds {len(data)} numbers.")
    return np.array(data, dtype=dtype).reshape(shape)
