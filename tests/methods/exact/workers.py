"""A cluster of two workers, and a pool that loses one, for the tests of proofs by several workers, which wait until these are set up."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any

import joblib
import pytest

from mipclass.methods.exact.box import piece_pass
from mipclass.protocol.crew import LokyCrew
from mipclass.protocol.tasks import SettingUp, without_answer


@contextmanager
def dask_cluster() -> Iterator[None]:
    """joblib's backend is a Dask cluster of two workers; skips the test without Dask."""
    distributed = pytest.importorskip("distributed", reason="pip install 'mipclass[dask]'")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        yield


def kill_first_worker(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """From now on the first task of a pool of processes, once it is set up, kills its worker; the list has an entry once that was tried."""
    submit, killed = LokyCrew.submit, []

    def deadly(self: LokyCrew, function: Any, token: Any, *arguments: Any) -> Any:
        if not killed and function is not without_answer:
            killed.append(True)
            return submit(self, _kill, token)
        return submit(self, function, token, *arguments)

    monkeypatch.setattr(LokyCrew, "submit", deadly)
    return killed


def wait_for_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a caller does nothing by itself while its workers are being set up, so that even tiny problems have tasks for them."""
    monkeypatch.setattr(SettingUp, "is_over", property(lambda self: bool(wait(self._tasks))))


def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on workers get pieces of a few boxes, from the first box of a proof to the last."""
    for seconds in ("ALONE_SECONDS", "WORTH_SECONDS", "LEAST_SECONDS", "LEAST_OF_THREADS"):
        monkeypatch.setattr(piece_pass, seconds, 0.0)
    wait_for_workers(monkeypatch)


def _kill(shared: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
