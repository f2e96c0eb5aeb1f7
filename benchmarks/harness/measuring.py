"""Measuring one call: wall-clock and CPU seconds, and the growth of resident memory (Linux only)."""

from __future__ import annotations

import ctypes
import gc
import json
import re
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .case import Case, Cell, plain

_warmed: set[tuple[str, str]] = set()
"""The warm-ups that this process has done, as (module, name): studies that run in one process all call theirs `warmup`."""


def run_cell(case: Case, repetition: int, threads: int = 1, warmup: Callable[[], Any] | None = None) -> Cell:
    """Call the case's function once and measure it. Never raises: the error belongs to the cell."""
    try:
        with threadpool_limits(threads):
            if warmup is not None and (warmup.__module__, warmup.__qualname__) not in _warmed:
                warmup()
                _warmed.add((warmup.__module__, warmup.__qualname__))
            returned, measured = measure(case.function, **case.parameters)
    except Exception:  # a failed case is a finding; KeyboardInterrupt still ends the run
        return Cell(case, repetition, {}, traceback.format_exc())
    measured.update(returned if isinstance(returned, Mapping) else {"value": returned})
    # Through JSON and back, so that a fresh cell and a cached one look the same.
    return Cell(case, repetition, json.loads(json.dumps(measured, default=plain)))


def measure(function: Callable[..., Any], *arguments: Any, **parameters: Any) -> tuple[Any, dict[str, Any]]:
    """The function's answer and {"seconds", "cpu_seconds", "peak_mb"} of the call."""
    start_mb = _reset_peak_memory()
    start, start_cpu = time.perf_counter(), time.process_time()
    returned = function(*arguments, **parameters)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    peak = _memory_mb("VmHWM")
    growth = None if start_mb is None or peak is None else max(0.0, peak - start_mb)
    return returned, {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": growth}


def _reset_peak_memory() -> float | None:
    """Set Linux's high-water mark of this process to its present level; that level in MB, or None on other systems.

    Memory that earlier cells freed goes back to the system first; a call that reused it would seem to need none.
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError, TypeError):  # another system
        return None
    return _memory_mb("VmRSS")


def _memory_mb(entry: str) -> float | None:
    """An entry of /proc/self/status in MB, such as VmRSS (resident now) or VmHWM (its peak)."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(rf"^{entry}:\s+(\d+) kB", status, re.M)
    return int(found.group(1)) / 1024 if found else None
