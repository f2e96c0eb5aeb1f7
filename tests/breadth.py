"""Parameters of which a few run by default, and the others with `pytest -m slow`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def mostly_slow(values: Iterable[Any], fast: Collection[Any]) -> list[Any]:
    """The values as parameters of a test, tuples for several names; those that are not among `fast` have the marker `slow`."""
    values = list(values)
    assert all(value in values for value in fast)
    return [
        value
        if value in fast
        else pytest.param(*(value if isinstance(value, tuple) else [value]), marks=pytest.mark.slow)
        for value in values
    ]
