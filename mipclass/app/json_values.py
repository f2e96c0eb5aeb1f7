"""Values as JSON holds them, and back: arrays, tuples, infinities, results, rules, constraints and certificates.

Values are JSON's own, plus objects with one key: {"$array": {"dtype", "shape", "data"}} for a small array,
{"$stored": name} for one that the caller keeps in an .npz file, {"$objects": {"shape", "data"}} for labels of object dtype,
{"$sparse": {"shape", "data", "indices", "indptr"}} for CSR rows, {"$tuple": [...]}, {"$number": "inf" | "-inf" | "nan"},
{"$result": {...}}, {"$constraint": {"class", "arguments"}}, {"$certificate": {...}}, {"$mapping": [[key, value], ...]} where keys
are not text, and {"$reading": {"rule": {"class", "arguments"}, "values", "classes", "feature_names", "sentence"}} for a rule that
predicts, with values null where they are those of the result around it. A class is found by its name in a fixed table, never by import.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..certificates.certificate import Certificate
from ..errors import ReadError
from ..modelling.algebra import Constraint, Rule
from ..modelling.reading import RuleReading
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
RULES = ("Kernel", "Linear", "Polyhedron")
"""Rules that can be saved, by the name of their class in mipclass.models; a kernel that is a function cannot."""
WITHOUT_RULE = (
    "the result was loaded from a file that does not hold its rule: an earlier version of mipclass wrote the file, or the rule or "
    "its labels have no JSON form, such as a kernel that is a function. The numbers are in result.values; solve the problem again with warm_start=result "
    "for a result that predicts."
)
"""What a loaded result without its rule says when it is asked to predict."""
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
    if sp.issparse(value):
        return {"$sparse": _encode_sparse(value, stored, name)}
    if isinstance(value, RuleReading):
        return {"$reading": encode_reading(value, stored, name)}
    if isinstance(value, Result):
        return {"$result": encode_result(value, stored, name)}
    if isinstance(value, Certificate):
        return {"$certificate": dict(value.content)}
    if isinstance(value, Constraint):
        return {"$constraint": _encode_part(value, CONSTRAINTS, stored, name)}
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


def encode_reading(
    reading: RuleReading, stored: Stored, name: str, known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The JSON form of a rule that predicts; its values are left out where they are the arrays of `known`."""
    values = reading.values
    is_known = known is not None and values.keys() == known.keys() and all(values[key] is known[key] for key in values)
    return {
        "rule": _encode_part(reading.rule, RULES, stored, f"{name}_rule"),
        "values": None if is_known else encode(dict(values), stored, f"{name}_values"),
        "classes": encode(reading.classes, stored, f"{name}_classes"),
        "feature_names": list(reading.feature_names),
        "sentence": reading.sentence(),
    }


def _encode_part(part: Constraint | Rule, kinds: tuple[str, ...], stored: Stored, name: str) -> dict[str, Any]:
    """A constraint or a rule whose class is one of `kinds`, by the arguments that it was made from."""
    from .. import models

    kind = type(part).__name__
    if kind not in kinds or type(part) is not getattr(models, kind):
        raise UnsavableError(f"a {kind} has no JSON form; these have one: {', '.join(kinds)}.")
    arguments = vars(part).values()  # a frozen dataclass keeps its fields in order, and nothing else
    return {"class": kind, "arguments": [encode(value, stored, f"{name}_{k}") for k, value in enumerate(arguments)]}


def _encode_sparse(matrix: Any, stored: Stored, name: str) -> dict[str, Any]:
    rows = sp.csr_array(matrix)
    parts = {part: encode(getattr(rows, part), stored, f"{name}_{part}") for part in ("data", "indices", "indptr")}
    return {"shape": list(rows.shape), **parts}


def _encode_array(array: NDArray[Any], stored: Stored, name: str) -> Any:
    if array.dtype.kind == "O" and all(
        isinstance(item, str | int | float | np.integer | np.bool_) for item in array.flat
    ):
        return {"$objects": {"shape": list(array.shape), "data": [encode(item, stored, name) for item in array.flat]}}
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
            if isinstance(value, RuleReading):
                reading = encode_reading(value, stored, f"{prefix}_reading", known=result.values)
                document[field.name] = {"$reading": reading}
            else:
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
        if key == "$objects":
            return _shaped(np.array([*map(_label, content["data"]), None], dtype=object)[:-1], content["shape"])
        if key == "$sparse":
            return _decode_sparse(content, arrays)
        if key == "$reading":
            return decode_reading(content, arrays)
        if key == "$result":
            return decode_result(content, arrays)
        if key == "$certificate":
            return Certificate(content)
        if key == "$constraint":
            return _decode_part(content, CONSTRAINTS, "constraint", arrays)
        if key == "$mapping":
            return {decode(name, arrays): decode(item, arrays) for name, item in content}
    return {key: decode(item, arrays) for key, item in value.items()}


def decode_reading(
    content: dict[str, Any], arrays: Mapping[str, NDArray[Any]], known: Mapping[str, Any] | None = None
) -> RuleReading:
    """The rule of a JSON form; `known` are the values of the result around it."""
    values = content["values"]
    values = decode(values, arrays) if values is not None else known
    classes, names = decode(content["classes"], arrays), tuple(map(str, content["feature_names"]))
    if not isinstance(values, Mapping) or not isinstance(classes, np.ndarray) or classes.shape != (2,):
        raise ReadError("a rule needs values by name and an array of two classes.")
    rule = _decode_part(content["rule"], RULES, "rule", arrays)
    return RuleReading.of_parts(rule, dict(values), classes, names, str(content["sentence"]))


def _decode_part(content: dict[str, Any], kinds: tuple[str, ...], what: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    from .. import models

    if content["class"] not in kinds:
        raise ReadError(f"there is no {what} {content['class']!r}; known are {', '.join(kinds)}.")
    return getattr(models, content["class"])(*[decode(value, arrays) for value in content["arguments"]])


def _decode_array(content: dict[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(content["dtype"])
    if dtype.kind not in _DTYPES:
        raise ReadError(f"arrays of {dtype} are not read.")
    data = [decode(item, {}) for item in content["data"]]
    return _shaped(np.array(data, dtype=dtype), content["shape"])


def _label(item: Any) -> Any:
    """An entry of an array of objects, which is a plain text, truth value or number."""
    label = decode(item, {})
    if not isinstance(label, str | int | float):
        raise ReadError(f"arrays of {type(label).__name__} are not read.")
    return label


def _shaped(flat: NDArray[Any], lengths: Any) -> NDArray[Any]:
    """The entries in an array of these lengths, which have to fit their number."""
    shape = tuple(lengths)
    if math.prod(shape) != len(flat) or any(not isinstance(k, int) or k < 0 for k in shape):
        raise ReadError(f"an array of shape {shape} holds {len(flat)} numbers.")
    return flat.reshape(shape)


def _decode_sparse(content: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> sp.csr_array:
    parts = tuple(decode(content[part], arrays) for part in ("data", "indices", "indptr"))
    rows = sp.csr_array(parts, shape=tuple(content["shape"]))
    rows.check_format(full_check=True)  # Products read where the indices point to, also beyond the arrays.
    return rows


def decode_result(document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Result:
    """The result of a JSON form."""
    given = dict(document["result"])
    reading = given.pop("reading", None)
    decoded = {key: decode(value, arrays) for key, value in given.items()}
    decoded["values"] = decoded["values"] or {}  # Version 1 left out all values where one had no JSON form.
    if reading is not None:
        decoded["reading"] = decode_reading(reading["$reading"], arrays, known=decoded["values"])
    elif "reading" in document.get("left_out", ()):
        decoded["extra"] = {**decoded["extra"], "without_rule": WITHOUT_RULE}
    decoded["status"] = Status(decoded["status"])
    decoded["trace"] = [tuple(point) for point in decoded["trace"]]
    return Result(**decoded)
