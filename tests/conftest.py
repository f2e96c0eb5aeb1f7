"""What every test needs: one thread per numerical library, pictures that no screen shows, and property tests without a clock."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("mipclass", deadline=None)
settings.load_profile("mipclass")

# The libraries read these when they are first imported, which is after this file. One thread each: tests run side by side.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ["MPLBACKEND"] = "Agg"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of methods come first: on a fresh machine the workers then compile different families of kernels, and no long file comes last."""
    items.sort(key=lambda item: "methods" not in item.path.parts)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Figures that a test leaves open would pile up over the session."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where MIPCLASS_DATA names no folder of data sets."""
    monkeypatch.delenv("MIPCLASS_DATA", raising=False)
