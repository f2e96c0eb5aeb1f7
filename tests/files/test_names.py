"""Names and digits in LP and MPS files: legal, unique, the shortest that read back."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import mipclass
from mipclass.files.digits import signed, texts
from mipclass.files.names import KEYWORDS, legal_names
from mipclass.modelling.blocks import Block
from mipclass.modelling.builder import Builder

FORMATS = ["lp", "mps"]


LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def check_legal(names: list[str]) -> None:
    assert len(set(names)) == len(names)
    for name in names:
        assert LEGAL.fullmatch(name), name
        assert len(name) <= 96
        assert not re.match(r"[eE]\d", name)
        assert name.lower() not in KEYWORDS


def test_nasty_names() -> None:
    labels = ("age", "1st", "e5", "a b", "a_b", "a-b", "größe", "年", "", "x[3]", "x" * 300, "x" * 301, "'; DROP")
    names = legal_names([Block("w", 0, (len(labels),), (labels,))])
    check_legal(names)
    assert names[:6] == ["w_age", "w_1st", "w_e5", "w_a_b", "w_a_b_2", "w_a_b_3"]
    scalars = ["e1", "E22", "free", "Inf", "st", "3x", ".5", "max", "end", "e", "nan", "", "x", "x", "obj"]
    blocks = [Block(name, k, ()) for k, name in enumerate(scalars)]
    check_legal(legal_names(blocks))
    assert legal_names(blocks)[0] == "_e1"


def test_a_twin_never_takes_a_name_that_another_asked_for() -> None:
    labels = ("a b", "a_b", "a_b_2", "a.b", "a b")
    names = legal_names([Block("w", 0, (5,), (labels,))])
    assert names == ["w_a_b", "w_a_b_3", "w_a_b_2", "w_a.b", "w_a_b_4"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=120), st.lists(st.text(max_size=120), max_size=4)), max_size=5))
def test_names_are_always_legal_and_unique(described: list[tuple[str, list[str]]]) -> None:
    blocks, start = [], 0
    for name, labels in described:
        shape, axes = ((len(labels),), (tuple(labels),)) if labels else ((), ())
        blocks.append(Block(name, start, shape, axes))
        start += blocks[-1].size
    names = legal_names(blocks, taken={"obj"})
    check_legal(names)
    assert "obj" not in names
    assert len(names) == start


def test_a_column_that_poses_as_the_constant_is_left_alone(tmp_path: Path) -> None:
    build = Builder()
    x = build.variables("objective_constant", lower=1, upper=1)
    build.subject_to("row", x >= 0)
    build.minimize(3 * x + 4)
    for ending in FORMATS:
        build.build().write(tmp_path / f"x.{ending}")
        assert mipclass.read(tmp_path / f"x.{ending}") == build.build()


@settings(max_examples=300)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_digits_round_trip_and_are_the_shortest(value: float) -> None:
    (text,) = texts(np.array([value]))
    assert float(text) == np.clip(value, -1e30, 1e30)
    assert len(text) <= max(len(repr(value)), len("-1e+30"))
    assert float(signed(np.array([value]))[0]) == float(text)


def test_repeated_numbers_are_written_once_and_alike() -> None:
    values = np.tile([0.1, -2.0, 1e-7, np.inf], 500)
    assert texts(values) == ["0.1", "-2", "1e-07", "1e+30"] * 500
