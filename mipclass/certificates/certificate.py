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
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import ReadError
from ..replacing import write_safely

FORMAT = "mipclass certificate"
VERSION = 1
LEVEL = 3
"""zlib's compression level: a quarter of the time of its default, 6, for 2 % more bytes (200,000 x 3 normals, 13 million conflicts: 4 s, 57 MB)."""


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
        """How the lower bound is proven: "trivial", "box", "iis", "priced", "limited", "supports", "lattice", "hulls", "directions",
        "subsystems" or "balls"."""
        return str(self.content["lower"]["kind"])

    def to_json(self) -> str:
        """The document as one line of JSON."""
        return json.dumps(self.content, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a document; ReadError when it is no certificate."""
        try:
            content = json.loads(text)
        except json.JSONDecodeError as err:
            raise ReadError(f"this is not a certificate: no JSON document ({err}).") from err
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ReadError(f"this is not a certificate: its 'format' is not {FORMAT!r}.")
        return cls(content)

    def save(self, path: str | Path) -> None:
        """Write the document to a file."""
        write_safely(Path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a document from a file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        upper = "none" if self.upper is None else str(self.upper)
        return f"<certificate: {self.lower} <= optimum <= {upper}, by {self.kind}>"


def fraction(value: Fraction) -> str:
    """A rational number as "p/q" or "p"."""
    return str(value)


def floats(values: Any) -> list[str]:
    """Float64 numbers as hexadecimal literals, which lose nothing."""
    return [float(value).hex() for value in np.ravel(values)]


def pack(array: NDArray[Any]) -> str:
    """An integer array as text: little-endian bytes, deflated, in base64."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return pack_bytes(zlib.compress(little.tobytes(), LEVEL))


def pack_bytes(deflated: bytes) -> str:
    """Deflated bytes as text, in base64."""
    return base64.b64encode(deflated).decode("ascii")


def pack_text(text: str) -> str:
    """A long ASCII text, deflated, in base64."""
    return base64.b64encode(zlib.compress(text.encode("ascii"), LEVEL)).decode("ascii")


def dense(X: Any) -> Array:
    """X as a float64 C array with no negative zeros."""
    matrix = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return np.ascontiguousarray(matrix, dtype=np.float64) + 0.0


def data_digest(X: Any, y_pm1: Any) -> dict[str, Any]:
    """Size and hash of the data: float64 values row by row, then the signs of the labels as bytes."""
    matrix = dense(X)
    digest = hashlib.sha256(np.ascontiguousarray(matrix, dtype="<f8").tobytes())
    digest.update(np.asarray(y_pm1, dtype=np.int8).tobytes())
    return {"points": matrix.shape[0], "features": matrix.shape[1], "sha256": digest.hexdigest()}


@dataclass(frozen=True)
class WholeWeights:
    """Every weight is a whole number from `lower` to `upper`; with `intercept` the offset is a whole number too."""

    lower: int
    upper: int
    intercept: bool


@dataclass(frozen=True, eq=False)
class Statement:
    """The 0-1 problem a certificate is about.

    Minimise sum_i costs_i [point i is wrong] where wrong means  y_i (w.x_i + b) <= 0  (margin 0)  or  < 1  (margin 1), subject to
    sum_i limit_i [i wrong] <= at_most  for each limit, and  row.(w, b) >= at_least  for each row. `intercept` False fixes b = 0.
    `max_features` limits the number of weights other than zero, and each of them costs `feature_cost`. `whole` asks for whole weights.
    Rules that tie a point with a negative coefficient in some limit are not allowed: its error would help to keep the limit.
    """

    costs: Array
    margin: int = 0
    intercept: bool = True
    limits: tuple[tuple[Array, float], ...] = ()
    rows: tuple[tuple[Array, float], ...] = ()
    max_features: int | None = None
    feature_cost: float = 0.0
    whole: WholeWeights | None = None

    @property
    def chooses_features(self) -> bool:
        """The number of weights other than zero is limited or costs something."""
        return self.max_features is not None or self.feature_cost > 0

    @property
    def is_plain(self) -> bool:
        """No side constraints, no margin, a free offset, real weights, and all features for nothing."""
        free = not self.limits and not self.rows and not self.chooses_features and self.whole is None
        return free and self.margin == 0 and self.intercept

    def content(self) -> dict[str, Any]:
        """The entry "problem" of a certificate; features and whole weights are there only where it says something about them."""
        features: dict[str, Any] = {}
        if self.max_features is not None:
            features["max_features"] = self.max_features
        if self.feature_cost:
            features["feature_cost"] = float(self.feature_cost).hex()
        if self.whole is not None:
            features["whole"] = asdict(self.whole)
        return {
            **features,
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
        """The entry "problem" of a certificate."""
        return {"kind": "maximum margin", "coefficient": self.coefficient.hex(), "intercept": self.intercept}


@dataclass(frozen=True, eq=False)
class HardMarginStatement:
    """The hard-margin problem that a certificate is about: minimise coefficient |w|^2 + the costs of the points with y (w.x + b) < 1.

    With a limit: minimise coefficient |w|^2 subject to at most `limit` such points, which all cost 1; two numbers are limits of the
    positives and of the negatives.
    """

    coefficient: float
    costs: Array
    intercept: bool = True
    limit: int | tuple[int, int] | None = None

    def content(self) -> dict[str, Any]:
        """The entry "problem" of a certificate."""
        return {
            "kind": "hard margin",
            "coefficient": self.coefficient.hex(),
            "costs": floats(self.costs),
            "intercept": self.intercept,
            **(
                {}
                if self.limit is None
                else {"limit": list(self.limit) if isinstance(self.limit, tuple) else self.limit}
            ),
        }


@dataclass(frozen=True, eq=False)
class RampStatement:
    """The robust SVM that a certificate is about: minimise coefficient |w|^2 + sum_i costs_i loss(m_i), m_i = y_i (w.x_i + b).

    loss(m) = [1 - m]_+ for m >= s, and 1 - s + theta (s - m) below. Without intercept b = 0; with "penalised" |w|^2 includes b^2.
    """

    coefficient: float
    costs: Array
    theta: float
    s: float
    intercept: Literal[False, True, "penalised"] = False

    def content(self) -> dict[str, Any]:
        """The entry "problem" of a certificate."""
        return {
            "kind": "ramp loss",
            "coefficient": self.coefficient.hex(),
            "costs": floats(self.costs),
            "theta": float(self.theta).hex(),
            "s": float(self.s).hex(),
            "intercept": self.intercept,
        }


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
