"""What every test of the annexes needs: collections of garbage that do not look at what other tests left."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _young_heap() -> Iterator[None]:
    """The benchmark harness collects garbage before every cell, which takes a second when hundreds of tests ran in the process before."""
    gc.freeze()
    yield
    gc.unfreeze()
