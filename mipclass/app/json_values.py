"""Values as JSON holds them, and back: arrays, tuples, infinities, results, constraints and certificates.

Values are JSON's own, plus objects with one key: {"$array": {"dtype", "shape", "data"}} for a small array,
{"$stored": name} for one that the caller keeps in an .npz file, {"$tuple": [...]}, {"$number": "inf" | "-inf" | "nan"},
{"$result": {...}}, {"$constraint": {"class", "arguments"}}, {"$certificate": {...}}, {"$mapping": [[key, value], ...]} where keys
are not text. A class is found by its name in a fixed table, never by import.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificates.certificate import Certificate
from ..errors import ReadError
from ..modelling.algebra import Constraint
from ..protocol.result import Result, Status

INLINE = 10_000
"""Arrays with more numbers than this go to the .npz file."""
CONSTRAINTS = (
    "Bounds",
    "Errors",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "IntegerCoefficients",
    "MaxFeatures",
    "Monotone",
    "Precision",
    "RateParity",
)
"""Constraints that can be saved, by the name of their class in mipclass.models."""
_DTYPES = ("b", "i", "u", "f", "U")
"""Kinds of NumPy arrays that are written: truth values, whole numbers, floats and text."""

Stored = dict[str, NDArray[Any]]
"""Name -> large array, for the .npz file."""


class UnsavableError(TypeError):
    """A value without a JSON form."""


def encode(value: Any, stored: Stored, name: str) -> Any:
    """The JSON form of a value; a large array goes to `stored` under `name`. UnsavableError when it has no such form."""
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
        return {"$result": encode_result(value, stored, name)}
    if isinstance(value, Certificate):
        return {"$certificate": dict(value.content)}
    if isinstance(value, Constraint):
        return {"$constraint": _encode_constraint(value, stored, name)}
    if isinstance(value, tuple):
        return {"$tuple": [encode(item, stored, f"{name}_{k}") for k, item in enumerate(value)]}
    if isinstance(value, list):
        return [encode(item, stored, f"{name}_{k}") for k, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: encode(item, stored, f"{name}_{key}") for key, item in value.items()}
    if isinstance(value, Mapping):  # labels as keys, e.g. class_weight={0: 1.0, 1: 5.0}
        pairs = enumerate(value.items())
        return {"$mapping": [[encode(part, stored, f"{name}_{k}") for part in pair] for k, pair in pairs]}
    raise UnsavableError(f"a {type(value).__name__} has no JSON form.")


def _encode_constraint(constraint: Constraint, stored: Stored, name: str) -> dict[str, Any]:
    kind = type(constraint).__name__
    if kind not in CONSTRAINTS:
        raise UnsavableError(f"a {kind} has no JSON form; these constraints have: {', '.join(CONSTRAINTS)}.")
    arguments = vars(constraint).values()  # a frozen dataclass keeps its fields in order, and nothing else
    return {"class": kind, "arguments": [encode(value, stored, f"{name}_{k}") for k, value in enumerate(arguments)]}


def _encode_array(array: NDArray[Any], stored: Stored, name: str) -> Any:
    if array.dtype.kind == "O" and all(isinstance(item, str) for item in array.ravel()):
        array = array.astype(str)
    if array.dtype.kind not in _DTYPES:
        raise UnsavableError(f"an array of {array.dtype} has no JSON form.")
    if array.size > INLINE:
        stored[name] = array
        return {"$stored": name}
    # float(x).__repr__ is the shortest text that reads back to the same float64
    data = [encode(item, stored, name) for item in array.ravel().tolist()]
    return {"$array": {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}}


def encode_result(result: Result, stored: Stored, prefix: str = "result") -> dict[str, Any]:
    """The JSON form of a result; what has none is left out and listed under "left_out"."""
    document: dict[str, Any] = {}
    left_out: list[str] = []
    for field in fields(result):
        value = getattr(result, field.name)
        if field.name == "extra":
            kept = {}
            for name, item in value.items():
                try:
                    kept[name] = encode(item, stored, f"{prefix}_extra_{name}")
                except UnsavableError:
                    left_out.append(f"extra.{name}")
            document["extra"] = kept
            continue
        try:
            document[field.name] = encode(value, stored, f"{prefix}_{field.name}")
        except UnsavableError:
            document[field.name] = None
            left_out.append(field.name)
    return {"result": document, "left_out": left_out}


def decode(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value of a JSON form; `arrays` holds the large ones."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(key, content)] = value.items()
        if key == "$number":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
        if key == "$tuple":
            return tuple(decode(item, arrays) for item in content)
        if key == "$stored":
            return arrays[content]
        if key == "$array":
            return _decode_array(content)
        if key == "$result":
            return decode_result(content, arrays)
        if key == "$certificate":
            return Certificate(content)
        if key == "$constraint":
            return _decode_constraint(content, arrays)
        if key == "$mapping":
            return {decode(name, arrays): decode(item, arrays) for name, item in content}
    return {key: decode(item, arrays) for key, item in value.items()}


def _decode_constraint(content: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Constraint:
    from .. import models

    if content["class"] not in CONSTRAINTS:
        raise ReadError(f"there is no constraint {content['class']!r}; known are {', '.join(CONSTRAINTS)}.")
    made: Constraint = getattr(models, content["class"])(*[decode(value, arrays) for value in content["arguments"]])
    return made


def _decode_array(content: dict[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(content["dtype"])
    if dtype.kind not in _DTYPES:
        raise ReadError(f"arrays of {dtype} are not read.")
    shape = tuple(content["shape"])
    data = [decode(item, {}) for item in content["data"]]
    if math.prod(shape) != len(data) or any(not isinstance(k, int) or k < 0 for k in shape):
        raise ReadError(f"an array of shape {shape} holds {len(data)} numbers.")
    return np.array(data, dtype=dtype).reshape(shape)


def decode_result(document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Result:
    """The result of a JSON form."""
    decoded = {key: decode(value, arrays) for key, value in document["result"].items()}
    decoded["status"] = Status(decoded["status"])
    decoded["trace"] = [tuple(point) for point in decoded["trace"]]
    return Result(**decoded)
