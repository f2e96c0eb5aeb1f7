"""Kernels compiled beforehand: what `warm` calls leaves nothing to compile for real problems."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mipclass.solving.registry import METHODS as REGISTERED
from mipclass.solving.warm import REHEARSALS
from tests.paths import ROOT

WITHOUT_KERNELS = {"tree", "gilbert", "enumerate"}
"""Methods in plain NumPy."""


def test_every_method_with_kernels_is_rehearsed() -> None:
    assert {solver for group in REHEARSALS.values() for solver, _, _ in group} == set(REGISTERED) - WITHOUT_KERNELS


@pytest.mark.slow
def test_nothing_is_left_to_compile(tmp_path: Path) -> None:
    """With a cache of its own: kernels that others compiled would hide what is missing."""
    code = (
        "from mipclass.solving.warm import REHEARSALS, warm\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "for group in REHEARSALS: warm(group)\n"
        "from benchmarks.studies.general.time_limits import METHODS\n"
        "from mipclass.kernels.decorator import event\n"
        "class Heard(event.Listener):\n"
        "    def on_start(self, found): print('compiled', what, found.data['dispatcher'])\n"
        "    def on_end(self, found): pass\n"
        "event.register('numba:compile', Heard())\n"
        "for what, work in METHODS.items(): work()(1.0)\n"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == ""
