"""Certificates: a problem, a rule and a proof, in a JSON document that anyone can check (docs/certificates.md has the format).

This file only writes and reads. The checking is in `mipclass.checker`, which shares no code with the search that found the proof.
Numbers are exact: floats as hexadecimal literals, rationals as "p/q", long arrays as deflated little-endian bytes in base64.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, ReadError

FORMAT = "mipclass certificate"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Certificate:
    """A JSON document with a claim and its proof; `mipclass.verify(certificate, X, y)` checks it."""

    content: Mapping[str, Any]

    @property
    def upper(self) -> Fraction | None:
        """The loss of the rule in it, or None when it holds no rule."""
        return None if self.content.get("upper") is None else Fraction(self.content["upper"]["loss"])

    @property
    def lower(self) -> Fraction:
        """The loss that no rule goes below, as claimed."""
        return Fraction(self.content["lower"]["bound"])

    @property
    def kind(self) -> str:
        """How the lower bound is proven: "trivial", "box" or "iis"."""
        return str(self.content["lower"]["kind"])

    def to_json(self) -> str:
        return json.dumps(self.content, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        try:
            content = json.loads(text)
        except json.JSONDecodeError as err:
            raise ReadError(f"this is not a certificate: no JSON document ({err}).") from err
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ReadError(f"this is not a certificate: its 'format' is not {FORMAT!r}.")
        return cls(content)

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        upper = "none" if self.upper is None else str(self.upper)
        return f"<certificate: {self.lower} <= optimum <= {upper}, by {self.kind}>"


def fraction(value: Fraction) -> str:
    return str(value)


def floats(values: Any) -> list[str]:
    return [float(value).hex() for value in np.ravel(values)]


def pack(array: NDArray[Any]) -> str:
    """An integer array as text."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes(), 6)).decode("ascii")


def pack_text(text: str) -> str:
    """A long text, deflated."""
    return base64.b64encode(zlib.compress(text.encode("ascii"), 6)).decode("ascii")


def dense(X: Any) -> NDArray[np.float64]:
    """X as a float64 C array with no negative zeros."""
    matrix = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return np.ascontiguousarray(matrix, dtype=np.float64) + 0.0


def data_digest(X: Any, y_pm1: Any) -> dict[str, Any]:
    """Size and hash of the data: float64 values row by row, then the signs of the labels as bytes."""
    matrix = dense(X)
    digest = hashlib.sha256(np.ascontiguousarray(matrix, dtype="<f8").tobytes())
    digest.update(np.asarray(y_pm1, dtype=np.int8).tobytes())
    return {"points": matrix.shape[0], "features": matrix.shape[1], "sha256": digest.hexdigest()}


@dataclass(frozen=True, eq=False)
class Statement:
    """The 0-1 problem a certificate is about.

    Minimise sum_i costs_i [point i is wrong] where wrong means  y_i (w.x_i + b) <= 0  (margin 0)  or  < 1  (margin 1), subject to
    sum_i limit_i [i wrong] <= at_most  for each limit, and  row.(w, b) >= at_least  for each row. `intercept` False fixes b = 0.
    """

    costs: NDArray[np.float64]
    margin: int = 0
    intercept: bool = True
    limits: tuple[tuple[NDArray[np.float64], float], ...] = ()
    rows: tuple[tuple[NDArray[np.float64], float], ...] = ()

    @property
    def is_plain(self) -> bool:
        return not self.limits and not self.rows and self.margin == 0 and self.intercept

    def content(self) -> dict[str, Any]:
        return {
            "margin": self.margin,
            "intercept": self.intercept,
            "costs": None if (self.costs == 1).all() else floats(self.costs),
            "limits": [{"coefficients": floats(c), "at_most": float(k).hex()} for c, k in self.limits],
            "rows": [{"coefficients": floats(a), "at_least": float(c).hex()} for a, c in self.rows],
        }


@dataclass(frozen=True)
class MarginStatement:
    """The maximum margin problem that a certificate is about: minimise coefficient |w|^2 subject to y_i (w.x_i + b) >= 1 for every point."""

    coefficient: float
    intercept: bool = True

    def content(self) -> dict[str, Any]:
        return {"kind": "maximum margin", "coefficient": self.coefficient.hex(), "intercept": self.intercept}


def statement_of(model: Any) -> Statement:
    """The statement of a Model with one ZeroOne loss; InvalidInputError names what it has beyond that."""
    from ..models.rules import Linear
    from ..models.zero_one_loss import ZeroOne

    loss = model.term(ZeroOne)
    if loss is None or len(model.terms) != 1 or not isinstance(model.rule, Linear):
        raise InvalidInputError(
            "certificates are about one ZeroOne loss of a Linear rule, with limits and linear rows."
        )
    if model.other_constraints() or model.rule.intercept == "penalised":
        raise InvalidInputError(
            "certificates take limits on errors and linear rows on (w, b) as side constraints only."
        )
    coefficient, term = loss
    counted = {"all": True, "positives": model.y_pm1 > 0, "negatives": model.y_pm1 < 0}[term.on]
    limits = tuple((np.asarray(limit.coefficients), float(limit.at_most)) for limit in model.error_limits())
    rows = tuple(row for block in model.weight_rows() for row in _one_sided(block, model.X.shape[1]))
    return Statement(
        np.where(counted, coefficient * model.weights, 0.0), term.margin, model.rule.intercept is True, limits, rows
    )


def margin_statement_of(model: Any) -> MarginStatement:
    """The statement of L2() subject to HardMargin() without outliers; InvalidInputError for anything else."""
    from ..models.outlier_svm import HardMargin
    from ..models.penalties import L2
    from ..models.rules import Linear

    kinds = [type(term) for _, term in model.terms], [type(constraint) for constraint in model.constraints]
    if kinds != ([L2], [HardMargin]) or not isinstance(model.rule, Linear) or model.rule.intercept == "penalised":
        raise InvalidInputError("certificates of margins are about L2() subject to HardMargin() and a Linear rule.")
    limits = model.constraints[0].limits(model.data)
    if max(limits.total or 0.0, limits.positives, limits.negatives) >= model.weights.min():
        raise InvalidInputError("certificates of margins are about HardMargin() without outliers.")
    return MarginStatement(float(model.terms[0][0]), model.rule.intercept is True)


def _one_sided(rows: Any, d: int) -> list[tuple[NDArray[np.float64], float]]:
    """Rows lower <= A (w, b) + constant <= upper as rows a.(w, b) >= c, those with an infinite side left out."""
    expression = rows.expression
    A = np.zeros((expression.size, d + 1))
    for block, matrix in expression.terms.items():
        part = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
        if block.name == "w":
            A[:, :d] += part
        else:
            A[:, d:] += part
    lower = np.broadcast_to(np.ravel(rows.lower), expression.size) - expression.constant
    upper = np.broadcast_to(np.ravel(rows.upper), expression.size) - expression.constant
    found = [(a, float(c)) for a, c in zip(A, lower, strict=True) if np.isfinite(c)]
    return found + [(-a, -float(c)) for a, c in zip(A, upper, strict=True) if np.isfinite(c)]


def certificate(
    X: Any,
    y_pm1: Any,
    statement: Statement,
    *,
    rule: tuple[Any, float] | None,
    loss: Fraction | None,
    lower: Mapping[str, Any],
    positive: str = "larger",
) -> Certificate:
    """Put the parts together. `lower` comes from the search's own writer; `positive` says which label counts as +1."""
    upper = None
    if rule is not None and loss is not None:
        upper = {"w": floats(rule[0]), "b": float(rule[1]).hex(), "loss": fraction(loss)}
    return Certificate(
        {
            "format": FORMAT,
            "version": VERSION,
            "data": {**data_digest(X, y_pm1), "positive": positive},
            "problem": statement.content(),
            "upper": upper,
            "lower": dict(lower),
        }
    )
