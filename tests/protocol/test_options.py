"""Options and the checks of single values."""

from __future__ import annotations

import numpy as np
import pytest

from mipclass.checks import is_number, is_whole_number
from mipclass.errors import OptionError
from mipclass.protocol.options import Option, number, one_of, optional, resolve_options

DECLARED = {
    "nodes": Option(None, "most nodes", optional(number(1, integer=True))),
    "share": Option(0.5, "a share", number(0, 1)),
    "order": Option("depth", "which first", one_of("depth", "best")),
}


@pytest.mark.parametrize(
    ("value", "whole", "real"),
    [
        (1, True, True),
        (np.int32(1), True, True),
        (1.0, False, True),
        (np.float32(1), False, True),
        (float("nan"), False, True),
        (True, False, False),
        (np.True_, False, False),
        ("1", False, False),
        (1j, False, False),
        (np.complex128(1), False, False),
        (None, False, False),
    ],
)
def test_numbers_are_told_from_truth_values_and_text(value: object, whole: bool, real: bool) -> None:
    assert (is_whole_number(value), is_number(value)) == (whole, real)


def test_defaults_are_overlaid_and_numpy_numbers_become_pythons() -> None:
    got = resolve_options("highs", DECLARED, {"nodes": np.int64(7), "share": 1})
    assert got == {"nodes": 7, "share": 1, "order": "depth"}
    assert type(got["nodes"]) is int


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"nodes": 0}, "must be an integer >= 1; got 0"),
        ({"nodes": True}, "must be an integer >= 1; got True"),
        ({"nodes": 2.0}, "must be an integer >= 1"),
        ({"share": 1.5}, "must be a number >= 0 and <= 1"),
        ({"share": float("nan")}, "must be a number >= 0 and <= 1"),
        ({"order": "breadth"}, "one of 'depth', 'best'"),
        ({"node": 3}, "Did you mean 'nodes'"),
    ],
)
def test_bad_options_are_refused_with_what_is_allowed(given: dict[str, object], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        resolve_options("highs", DECLARED, given)
