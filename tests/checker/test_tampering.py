"""Changed certificates of compositions: limits by prices and in parts, rows on (w, b), few features, whole weights.

Every entry of a lower part is changed in several ways. What is then accepted must still be true; and a certificate that claims more than the
optimum is rejected whatever else is changed.
"""

from __future__ import annotations

import base64
import copy
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import mipclass
from mipclass import models
from tests.breadth import mostly_slow

FEW_PLACES, MANY_PLACES = 5, 25
"""Entries far inside one certificate that are changed, at most, chosen evenly: by default and in the slow tests."""

PACKED = {
    "ops": "u1",
    "counts": "u1",
    "first": "<i4",
    "second": "<i4",
    "mix": "u1",
    "lemmas": "<i4",
    "handed_to": "<i4",
}
"""Names of packed arrays and the type of their numbers."""


def points(seed: int, n: int = 40, d: int = 2, *, whole: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X = np.round(2 * X) if whole else X
    return X, np.where(X[:, 0] + rng.normal(0, 1.0, n) > 0, 1, -1)


def limited(seed: int, *constraints: models.Constraint, whole: bool = False) -> models.Model:
    return models.neyman_pearson(*points(seed, whole=whole), 0.1).subject_to(*constraints)


def chosen(*constraints: models.Constraint, loss: Any = None) -> models.Model:
    X, y = points(0, n=25, d=3)
    return models.Model(X, y, minimize=models.ZeroOne() if loss is None else loss, subject_to=constraints)


def ordered(model: models.Model) -> models.Model:
    return model.subject_to(0.3 * model.w[1] >= 0.1 * model.w[0] + 0.2 * model.w[2])


SIGNS = models.Monotone({0: 1, 1: -1})

CASES: dict[str, tuple[str, Callable[[], models.Model]]] = {
    "priced": ("priced", lambda: limited(0)),
    "priced, points copied": ("priced", lambda: limited(5)),
    "priced, rows": ("priced", lambda: limited(0, SIGNS, whole=True)),
    "limited, joint lemmas": ("limited", lambda: limited(6, whole=True)),
    "limited, lemmas of a loss": ("limited", lambda: limited(3, whole=True)),
    "limited, rows": ("limited", lambda: limited(3, SIGNS, whole=True)),
    "rows": ("box", lambda: models.Model(*points(4, whole=True), minimize=models.ZeroOne(), subject_to=SIGNS)),
    "few features": ("supports", lambda: chosen(models.MaxFeatures(2))),
    "few features, limit": ("supports", lambda: chosen(models.MaxFeatures(2), models.FalsePositiveRate(0.2))),
    "cost of features": ("supports", lambda: chosen(loss=models.ZeroOne() + 0.5 * models.L0())),
    "whole weights": (
        "lattice",
        lambda: chosen(models.IntegerCoefficients(2), models.MaxFeatures(2), models.FalsePositiveRate(0.2)),
    ),
    "whole weights, parity": (
        "lattice",
        lambda: chosen(models.IntegerCoefficients(2, intercept=True), models.RateParity(np.arange(25) % 2, 0.05)),
    ),
    "whole weights, rows": ("lattice", lambda: ordered(chosen(models.IntegerCoefficients(2)))),
}
"""Name -> kind of the certificate, problem."""

DIFFERENT = [name for name in CASES if name not in ("priced", "limited, lemmas of a loss", "few features, limit")]
"""Cases whose certificates have few entries in common; each of the others resembles one of them."""


@cache
def solved(name: str) -> tuple[models.Model, dict[str, Any], Fraction]:
    """(problem, content of its certificate without the rule, optimum)."""
    kind, make = CASES[name]
    problem = make()
    result = mipclass.solve(problem, solver="exact")
    assert result.certified
    assert result.claim == "proven"
    content = copy.deepcopy(dict(result.certificate.content))
    assert content["lower"]["kind"] == kind
    content["upper"] = None
    return problem, content, Fraction(content["lower"]["bound"])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all entries, lists and dictionaries included."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def put(content: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        content = content[key]
    content[path[-1]] = value


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def repacked(text: str, kind: str, change: Callable[[np.ndarray], np.ndarray]) -> str:
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind).copy()
    return base64.b64encode(zlib.compress(change(numbers).astype(kind).tobytes())).decode()


def changed(value: Any, name: Any) -> Iterator[Any]:
    """Other values of an entry."""
    if isinstance(value, bool) or value is None:
        yield 1
    elif isinstance(value, int):
        yield from (value + 1, value - 1, -1 - value, 2 * value + 3)
    elif isinstance(value, str) and name in PACKED:
        for change in (lambda a: a + 1, lambda a: a[::-1], lambda a: a[:-1], lambda a: np.zeros_like(a)):
            yield repacked(value, PACKED[name], change)
    elif isinstance(value, str) and "0x" in value:
        number = float.fromhex(value)
        yield from ((-number).hex(), (2.0 * number).hex(), (number + 1.0).hex())
    elif isinstance(value, str):
        try:
            number = Fraction(value)
        except ValueError:
            yield from ("box", "iis", "trivial", "priced", "")
            return
        yield from (str(number + 1), str(-number - 1), str(2 * number), str(number / 2))
    elif isinstance(value, list):
        yield from (value[:-1], value[::-1], [*value, *value[:1]], [])
    elif isinstance(value, dict):
        yield {}


def raised(lower: Any, by: int) -> None:
    """Raise every bound and target of a lower part."""
    for path in list(places(lower)):
        if path[-1] in ("bound", "target"):
            value = at(lower, path)
            put(lower, path, value + by if isinstance(value, int) else str(Fraction(value) + by))


def variants(content: dict[str, Any], most: int) -> Iterator[tuple[tuple[Any, ...], Any, dict[str, Any]]]:
    """(path, value, lower part with that value): all paths near the top, and at most about `most` of the others, chosen evenly."""
    lower = content["lower"]
    every = list(places(lower))
    deep = [path for path in every if len(path) > 3]
    top = [path for path in every if len(path) <= 3 and not isinstance(path[-1], int)]
    step = max(1, len(deep) // most)
    for path in [*top, *deep[::step]]:
        for value in changed(at(lower, path), path[-1]):
            other = copy.deepcopy(lower)
            put(other, path, value)
            yield path, value, other


@pytest.mark.parametrize("name", mostly_slow(CASES, fast=DIFFERENT))
def test_what_is_accepted_is_true(name):
    check_what_is_accepted(name, FEW_PLACES)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_accepted_is_true_at_many_places(name):
    check_what_is_accepted(name, MANY_PLACES)


def check_what_is_accepted(name, most):
    problem, content, optimum = solved(name)
    assert mipclass.verify(content, problem.X, problem.y_pm1).accepted
    rejected = 0
    for path, value, lower in variants(content, most):
        verdict = mipclass.verify({**content, "lower": lower}, problem.X, problem.y_pm1)
        if verdict.accepted:
            assert verdict.lower <= optimum, (path, value)
        else:
            assert verdict.reason
            rejected += 1
    assert rejected > 0


@pytest.mark.parametrize("name", mostly_slow(CASES, fast=DIFFERENT))
def test_a_claim_above_the_optimum_is_rejected_whatever_else_is_changed(name):
    check_that_claims_are_rejected(name, FEW_PLACES)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_claim_above_the_optimum_is_rejected_at_many_places(name):
    check_that_claims_are_rejected(name, MANY_PLACES)


def check_that_claims_are_rejected(name, most):
    problem, content, _ = solved(name)
    higher = copy.deepcopy(content)
    raised(higher["lower"], 1)
    for path, value, lower in variants(higher, most):
        claimed = {**lower, "bound": higher["lower"]["bound"]}
        verdict = mipclass.verify({**content, "lower": claimed}, problem.X, problem.y_pm1)
        assert not verdict.accepted, (path, value)


def without_copies(lower: dict[str, Any]) -> None:
    """Each row has the whole weight of its point, though another row stands for the same point."""
    proof = lower["proof"]
    proof["weights"] = [2 * weight for weight in proof["weights"]]


MUST_FAIL: dict[str, dict[str, Callable[[dict[str, Any]], object]]] = {
    "priced, points copied": {
        "copies with the whole weight each": without_copies,
        "a lower price": lambda lower: lower.update(prices=["0"]),
        "a higher price": lambda lower: lower.update(prices=[str(10 * Fraction(lower["prices"][0]))]),
    },
    "priced, rows": {
        "no interior": lambda lower: lower["proof"].pop("interior"),
        "an interior outside": lambda lower: lower["proof"].update(
            interior=[(-float.fromhex(v)).hex() for v in lower["proof"]["interior"]]
        ),
        "rows that weigh less than nothing": lambda lower: lower["proof"].update(row_weight=-1),
        "rows that weigh nothing": lambda lower: lower["proof"].update(row_weight=0),
    },
    "rows": {
        "an interior on the boundary": lambda lower: lower.update(interior=[(0.0).hex()] * len(lower["interior"])),
        "rows that weigh nothing": lambda lower: lower.update(row_weight=0),
    },
    "limited, rows": {
        "no interior": lambda lower: lower.pop("interior"),
        "no loss": lambda lower: lower.update(losses=[]),
        "rows that weigh less than nothing": lambda lower: lower["losses"][0].update(row_weight=-1),
    },
    "limited, joint lemmas": {
        "no lemma": lambda lower: lower["joint"].update(lemmas=[]),
        "more room": lambda lower: [x.update(rooms=["1000"]) for x in lower["joint"]["lemmas"]],
        "higher lemmas": lambda lower: [x.update(bound=x["bound"] + 1) for x in lower["joint"]["lemmas"]],
        "lemmas about fewer points": lambda lower: [x.update(rows=x["rows"][1:]) for x in lower["joint"]["lemmas"]],
        "points that count twice": lambda lower: lower["joint"].update(
            points=[*lower["joint"]["points"], lower["joint"]["points"][0]],
            weights=[*lower["joint"]["weights"], lower["joint"]["weights"][0]],
        ),
    },
    "few features": {
        "a set is missing": lambda lower: lower["proofs"].pop(),
        "no set": lambda lower: lower.update(proofs=[]),
    },
    "cost of features": {"a set is missing": lambda lower: lower["proofs"].pop()},
    "whole weights, rows": {"a target beyond 64 bits": lambda lower: lower.update(target=1 << 63)},
}
"""Case -> change -> what it does to the lower part."""


@pytest.mark.parametrize(("name", "what"), [(name, what) for name, changes in MUST_FAIL.items() for what in changes])
def test_a_changed_certificate_is_rejected(name, what):
    problem, content, _ = solved(name)
    bad = copy.deepcopy(content)
    MUST_FAIL[name][what](bad["lower"])
    verdict = mipclass.verify(bad, problem.X, problem.y_pm1)
    assert not verdict.accepted
    assert verdict.reason
