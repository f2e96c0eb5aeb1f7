"""The wait for the compiler: on no solve's clock, and announced once when it is long."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from mipclass.kernels import waiting
from mipclass.kernels.waiting import Wait, compiling
from mipclass.protocol.run import Run


def test_a_run_s_clock_stands_still_while_kernels_are_compiled() -> None:
    run = Run(time_limit=0.2)
    with compiling():
        time.sleep(0.3)
        assert run.seconds() < 0.1
    assert run.stop() is None
    time.sleep(0.25)
    assert run.stop() is not None


def test_nested_compilations_are_counted_once() -> None:
    wait = Wait()
    wait.begin()
    wait.begin()
    time.sleep(0.05)
    wait.end()
    wait.end()
    once = wait.seconds()
    assert 0.05 <= once < 0.1
    time.sleep(0.02)
    assert wait.seconds() == once


def test_a_long_wait_is_announced_once(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "ANNOUNCED_AFTER", 0.05)
    wait = Wait()
    for _ in range(3):
        wait.begin()
        time.sleep(0.04)
        wait.end()
    time.sleep(0.05)
    assert capfd.readouterr().err.count("compiling, once") == 1


def test_numba_s_compilations_are_heard_and_its_cache_is_not() -> None:
    code = (
        "import time, numpy as np\n"
        "from mipclass.kernels.decorator import njit\n"
        "from mipclass.kernels.waiting import WAIT\n"
        "@njit()\n"
        "def twice(x):\n"
        "    return 2.0 * x\n"
        "twice(1.0); first = WAIT.seconds(); assert first > 0.0\n"
        "twice(2.0); assert WAIT.seconds() == first\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
