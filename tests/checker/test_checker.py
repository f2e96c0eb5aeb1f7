"""The checker: never fooled. A changed certificate is rejected with reason and place, or what it still says is true."""

from __future__ import annotations

import base64
import copy
import zlib
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass import models
from mipclass.checker import box_kernel, check


def noisy(n: int, d: int, lattice: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + d)
    X = rng.integers(0, 3, (n, d)).astype(float) if lattice else rng.standard_normal((n, d))
    return X, np.where(X.sum(axis=1) + rng.normal(0, 2, n) > X.sum(axis=1).mean(), 1, -1)


@pytest.fixture(scope="module")
def proofs():
    """name -> (X, y, certificate content, optimum): box, box with lemmas of either kind, iis tree, Neyman-Pearson."""
    found = {}
    for name, solver, (X, y) in (
        ("box", "box", noisy(40, 2, False)),
        ("lemmas", "box", noisy(80, 4, True)),
        ("iis", "iis", noisy(40, 3, False)),
    ):
        result = mipclass.solve(models.zero_one(X, y), solver=solver)
        assert result.certified
        found[name] = (X, y, result.certificate.content, Fraction(result.objective))
    X, y = noisy(30, 2, False)
    problem = models.neyman_pearson(X, y, 0.2)
    result = mipclass.solve(problem, solver="iis")
    assert result.certified
    found["limits"] = (X, y, result.certificate.content, Fraction(result.objective))
    return found


NAMES = ("box", "lemmas", "iis", "limits")
PACKED = {
    "box": ["ops:u1", "counts:u1", "first:i4", "second:i4", "mix:u1", "lemmas:i4"],
    "iis": ["points:i4", "counts:i4", "supports:i4", "v:i8", "mu:i8"],
}


def repack(text: str, kind: str, change) -> str:
    array = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=f"<{kind}").copy()
    return base64.b64encode(zlib.compress(change(array).tobytes())).decode()


def tree_of(content: dict) -> tuple[dict, list[str]]:
    lower = content["lower"]
    return (lower["proof"]["tree"], PACKED["box"]) if lower["kind"] == "box" else (lower["tree"], PACKED["iis"])


@pytest.mark.parametrize("name", NAMES)
def test_untouched_is_accepted(proofs, name):
    X, y, content, optimum = proofs[name]
    verdict = mipclass.verify(content, X, y)
    assert verdict.optimal
    assert verdict.lower == verdict.upper == optimum
    assert "optimal" in str(verdict)


@given(name=st.sampled_from(NAMES), seed=st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_a_changed_number_never_proves_a_falsehood(proofs, name, seed):
    X, y, content, optimum = proofs[name]
    rng = np.random.default_rng(seed)
    bad = copy.deepcopy(content)
    tree, fields = tree_of(bad)
    field, kind = fields[rng.integers(len(fields))].split(":")

    def change(array: np.ndarray) -> np.ndarray:
        how = rng.integers(3)
        if how == 0 and len(array) > 1:
            return array[:-1]
        if how == 1:
            return np.append(array, array[:1] if len(array) else np.zeros(1, array.dtype)).astype(array.dtype)
        if len(array):
            k = rng.integers(len(array))
            array[k] = array[k] + rng.integers(1, 5) * rng.choice([-1, 1])
        return array

    tree[field] = repack(tree[field], kind, change)
    if rng.random() < 0.5:  # the same, with a claim that is false
        bad["lower"]["bound"] = str(optimum + 1)
        bad["upper"] = None
        if "proof" in bad["lower"]:
            bad["lower"]["proof"]["bound"] += 1
    verdict = mipclass.verify(bad, X, y)
    if verdict.accepted:
        assert verdict.lower <= optimum
    else:
        assert verdict.reason
        assert verdict.place


CHANGES = {
    "bound": (lambda c: c["lower"].update(bound="999"), "lower"),
    "loss": (lambda c: c["upper"].update(loss="0"), "upper"),
    "rule": (lambda c: c["upper"].update(w=[(-float.fromhex(v)).hex() for v in c["upper"]["w"]]), "upper"),
    "hash": (lambda c: c["data"].update(sha256="0" * 64), "data"),
    "kind": (lambda c: c["lower"].update(kind="magic"), "lower"),
    "constant": (lambda c: c["lower"].update(constant="5"), "lower, constant"),
    "weight": (lambda c: c["lower"]["weights"].__setitem__(0, 7), "lower, weight 0"),
    "unit": (lambda c: c["lower"].update(unit="2"), "lower, weight 0"),
    "repeated point": (lambda c: c["lower"]["points"].__setitem__(0, c["lower"]["points"][1]), "lower, point 1"),
    "no such point": (lambda c: c["lower"]["points"].__setitem__(0, 10**6), "lower, point 0"),
    "version": (lambda c: c.update(version=2), "version"),
    "missing part": (lambda c: c.pop("lower"), "lower"),
    "costs": (lambda c: c["problem"].update(costs=["0x1.0p+1"]), "problem, costs"),
    "garbage": (lambda c: c["upper"].update(b="half"), "upper, b"),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("name", ["box", "iis"])
def test_each_part_is_checked(proofs, name, what):
    X, y, content, _ = proofs[name]
    bad = copy.deepcopy(content)
    change, place = CHANGES[what]
    if (name, what) == (
        "box",
        "repeated point",
    ):  # rows of boxes may share what a point costs, and together they exceed it here
        place = "lower, weight 1"
    change(bad)
    verdict = mipclass.verify(bad, X, y)
    assert not verdict.accepted
    assert verdict.place.startswith(place)
    assert verdict.reason
    assert verdict.lower is None
    assert "rejected" in str(verdict)


def leave_out_conflicts(tree: dict, counts: Callable[[np.ndarray], np.ndarray]) -> None:
    tree["counts"] = repack(tree["counts"], "u1", counts)
    for name, kind in (("first", "i4"), ("second", "i4"), ("mix", "u1")):
        tree[name] = repack(tree[name], kind, lambda a: a[:0])


def test_inside_the_box_proof(proofs):
    X, y, content, _ = proofs["box"]
    proof = content["lower"]["proof"]
    cases = {
        "rank": lambda p: p.update(map=[(0.0).hex()] * len(p["map"])),
        "below": lambda p: leave_out_conflicts(p["tree"], lambda a: a * 0),
        "fit": lambda p: p["tree"].update(mix=repack(p["tree"]["mix"], "u1", lambda a: a[:0])),
        "read": lambda p: p["tree"].update(ops="%%%"),
        "both be right": lambda p: p["tree"].update(mix=repack(p["tree"]["mix"], "u1", lambda a: a * 0 + 1)),
    }
    for reason, change in cases.items():
        bad = copy.deepcopy(content)
        change(bad["lower"]["proof"])
        assert bad["lower"]["proof"] != proof
        verdict = mipclass.verify(bad, X, y)
        assert not verdict.accepted
        assert reason in verdict.reason


def test_a_box_is_not_halved_below_the_grid(proofs):
    """Coordinate 1 of the first face can be halved twenty times; the arrays of the checker are made for that."""
    X, y, content, _ = proofs["box"]
    bad = copy.deepcopy(content)
    tree = bad["lower"]["proof"]["tree"]
    tree["ops"] = repack(tree["ops"], "u1", lambda a: np.array([2] * 21 + [3] * 21, dtype=a.dtype))
    leave_out_conflicts(tree, lambda a: np.zeros(42, dtype=a.dtype))
    verdict = mipclass.verify(bad, X, y)
    assert verdict.place == "box tree, node 20"
    assert "too thin" in verdict.reason


def test_lemmas_within_lemmas_end(proofs):
    X, y, content, _ = proofs["box"]
    proof = content["lower"]["proof"]
    nested = proof
    for _ in range(60):
        nested = {**proof, "lemmas": [nested]}
    bad = {**content, "lower": {**content["lower"], "proof": nested}}
    verdict = mipclass.verify(bad, X, y)
    assert not verdict.accepted
    assert "nested deeper" in verdict.reason


def test_a_new_conflict_of_a_used_point_dissolves_the_old_one():
    """Two points right where V_1 > 0 and two where V_1 < 0: at most two of the four, whatever V is."""
    points = np.array([[0, 1], [0, 1], [0, -1], [0, -1]]) * 2**21
    walls = np.array([0, 0, 0, 0])  # the four faces, none of them halved

    def walk(target: int, pairs: list[tuple[int, int, int]]) -> tuple[int, int]:
        nothing, ones = np.zeros(0, np.int64), np.ones(4, np.int64)
        counts = np.array([len(pairs), len(pairs), 0, 0])
        table = np.array(2 * pairs, dtype=np.int64).reshape(-1, 3)
        cloud = box_kernel.Cloud(points, 0 * ones, ones)
        lemmas = box_kernel.Lemmas(np.zeros(1, np.int64), nothing, nothing)
        return box_kernel.walk(cloud, target, box_kernel.Stream(walls, counts, table, nothing), lemmas)

    assert walk(2, [(0, 2, 64), (1, 3, 64)]) == (box_kernel.OK, 4)
    assert walk(2, [(0, 2, 64), (0, 3, 64), (1, 2, 64)]) == (box_kernel.OK, 4)
    assert walk(1, [(0, 2, 64), (0, 3, 64)]) == (box_kernel.OK, 4)
    assert walk(2, [(0, 2, 64), (0, 3, 64)]) == (box_kernel.TOO_LOW, 0)
    assert walk(3, [(0, 2, 64), (0, 3, 64), (1, 2, 64)]) == (box_kernel.TOO_LOW, 0)


def raise_first_multiplier(proof: dict) -> None:
    words = zlib.decompress(base64.b64decode(proof["supports"]["multipliers"])).decode().split()
    words[0] = f"{int(words[0], 16) + 1:x}"
    proof["supports"]["multipliers"] = base64.b64encode(zlib.compress(" ".join(words).encode())).decode()


def test_inside_the_iis_proof(proofs):
    X, y, content, _ = proofs["iis"]
    bad = copy.deepcopy(content)
    raise_first_multiplier(bad["lower"])
    verdict = mipclass.verify(bad, X, y)
    assert verdict.place == "support 0"
    assert "not zero" in verdict.reason


def test_both_kinds_of_lemma_are_among_the_proofs(proofs):
    assert {lemma["kind"] for lemma in proofs["lemmas"][2]["lower"]["proof"]["lemmas"]} == {"box", "iis"}


LEMMA_CHANGES = {
    "multiplier": ("iis", raise_first_multiplier, ", support 0", "not zero"),
    "claim of a cover": ("iis", lambda lemma: lemma.update(bound=lemma["bound"] + 1), "", "it claims"),
    "claim of a tree": ("box", lambda lemma: lemma.update(bound=lemma["bound"] + 1), ", node", "below"),
    "rows": ("iis", lambda lemma: lemma.update(rows=[lemma["rows"][0], *lemma["rows"][:-1]]), "", "repeat"),
    "fewer rows": ("iis", lambda lemma: lemma.update(rows=lemma["rows"][:-1]), ", support", "does not exist"),
    "kind": ("iis", lambda lemma: lemma.update(kind="magic"), "", "not known"),
    "other kind": ("box", lambda lemma: lemma.update(kind="iis"), ", supports", "missing"),
    "no scale": ("iis", lambda lemma: lemma.update(scale=0), ", scale", "at least 1"),
}


@pytest.mark.parametrize("what", LEMMA_CHANGES)
def test_inside_a_lemma(proofs, what):
    X, y, content, _ = proofs["lemmas"]
    kind, change, place, reason = LEMMA_CHANGES[what]
    bad = copy.deepcopy(content)
    lemmas = bad["lower"]["proof"]["lemmas"]
    number = next(k for k, lemma in enumerate(lemmas) if lemma["kind"] == kind)
    change(lemmas[number])
    verdict = mipclass.verify(bad, X, y)
    assert not verdict.accepted
    assert verdict.place.startswith(f"box tree, lemma {number}{place}")
    assert reason in verdict.reason


def test_other_data_and_other_problems_are_told_apart(proofs):
    X, y, content, _ = proofs["box"]
    moved = X.copy()
    moved[3, 1] = np.nextafter(moved[3, 1], np.inf)
    assert mipclass.verify(content, moved, y).place == "data"
    assert mipclass.verify(content, X, -y).place == "data"
    assert mipclass.verify(content, X[:-1], y[:-1]).place == "data"
    assert check(content, models.zero_one(X, y)).optimal
    weighted = models.zero_one(X, y, sample_weight=np.full(len(y), 2.0))
    assert check(content, weighted).place == "problem"
    limited = models.zero_one(X, y, subject_to=[models.FalsePositiveRate(at_most=0.5)])
    assert check(content, limited).place == "problem"


def test_ties_are_errors_to_the_checker():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1, -1, 1])
    result = mipclass.solve(models.zero_one(X, y), solver="exact")
    bad = copy.deepcopy(dict(result.certificate.content))
    bad["upper"].update(w=[(1.0).hex()], b=(-1.0).hex())  # the middle point lies on the boundary: 2 errors, not 1
    verdict = mipclass.verify(bad, X, y)
    assert verdict.place == "upper"
    assert "exact loss is 2" in verdict.reason
