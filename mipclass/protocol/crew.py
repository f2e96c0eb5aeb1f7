"""Workers for the independent tasks of one solve: threads of this process, joblib's loky processes, or a Dask cluster.

A crew takes (function, shared, arguments) and answers with a Future, so that a search can hand out new tasks whenever one is done.
What all tasks of a search share (the data) travels once to each worker: threads see the caller's own object, a loky process reads it
from a file on this machine and keeps it, Dask copies it to its workers.

Which workers: those of `joblib.parallel_config`, if one names more than one job, else `threads` threads, or as many loky processes for tasks
that hold the interpreter's lock for much of their time.
"""

from __future__ import annotations

import gc
import itertools
import pickle
import signal
import tempfile
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import InvalidInputError

KEPT = 2
"""Shared objects that a loky process keeps in memory, the most recent ones: a race or a series of searches uses one or two at a time."""


class Crew(Protocol):
    """Workers that carry out `function(shared, *arguments)`."""

    workers: int
    sees_memory: bool
    """Whether tasks share the caller's memory, so that they can be told to stop and hear of better rules while they run."""

    is_here: bool
    """Whether the workers are cores of this machine, which the caller may use when they rest."""

    def share(self, thing: Any) -> Any:
        """A token for an object that many tasks use, to be passed to `submit`."""
        ...

    def submit(self, function: Callable[..., Any], token: Any, *arguments: Any) -> Future[Any]:
        """Carry out function(the shared object, *arguments) on some worker."""
        ...

    def has_lost(self, error: BaseException) -> bool:
        """Whether a task failed with this error only because its worker was lost; the crew then has a new worker for it."""
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...


class ThreadCrew:
    """Threads of this process: compiled kernels release the interpreter's lock."""

    sees_memory = is_here = True

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="mipclass")

    def share(self, thing: Any) -> Any:
        """The object itself."""
        return thing

    def submit(self, function: Callable[..., Any], token: Any, *arguments: Any) -> Future[Any]:
        """In the next free thread."""
        return self._executor.submit(function, token, *arguments)

    def has_lost(self, error: BaseException) -> bool:
        """Threads are not lost."""
        return False

    def close(self) -> None:
        """Wait for the running tasks, which were told to stop."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class LokyCrew:
    """A pool of joblib's loky processes. A process that dies breaks the pool; a new pool takes over what was under way.

    The pool is not the one that joblib shares between its calls, which joblib must set up itself.
    """

    sees_memory = False
    is_here = True

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._folder = tempfile.TemporaryDirectory(prefix="mipclass-")
        self._numbers = itertools.count()
        self._executor = self._new_pool()

    def _new_pool(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(max_workers=self.workers, initializer=_ignore_interrupts)

    def share(self, thing: Any) -> Any:
        """The path of a file with the object."""
        path = Path(self._folder.name) / f"{next(self._numbers)}.pickle"
        path.write_bytes(pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL))
        return str(path)

    def submit(self, function: Callable[..., Any], token: Any, *arguments: Any) -> Future[Any]:
        """In the next free process."""
        try:
            future: Future[Any] = self._executor.submit(_with_file, function, token, *arguments)
        except BrokenExecutor:
            self._executor = self._new_pool()
            future = self._executor.submit(_with_file, function, token, *arguments)
        return future

    def has_lost(self, error: BaseException) -> bool:
        """A process was killed, or ran out of memory."""
        return isinstance(error, BrokenExecutor)

    def close(self) -> None:
        """End the processes, whatever they are at, and remove the files."""
        self._executor.shutdown(wait=True, kill_workers=True)
        self._folder.cleanup()


def _ignore_interrupts() -> None:
    """In a loky process: Ctrl-C in a terminal reaches all its processes, and is for the caller alone, which ends the others itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


_SHARED: dict[str, Any] = {}
"""In a loky process: path -> the object read from it."""


def _with_file(function: Callable[..., Any], path: str, *arguments: Any) -> Any:
    """In a loky process: function(the object of the file, *arguments)."""
    if path not in _SHARED:
        while len(_SHARED) >= KEPT:
            _SHARED.pop(next(iter(_SHARED)))
        _SHARED[path] = pickle.loads(Path(path).read_bytes())
        answer = function(_SHARED[path], *arguments)
        # loky collects garbage about once a second. What has been imported and compiled by now stays, and need not be looked through each time.
        gc.freeze()
        return answer
    return function(_SHARED[path], *arguments)


@dataclass
class _Scattered:
    """An object, and where the cluster has it."""

    thing: Any
    future: Any


class DaskCrew:
    """The workers of a Dask cluster, through the client that joblib's backend uses. The scheduler repeats the tasks of a lost worker.

    What the tasks share is lost when the workers that hold it are, the first of a cluster that is still starting, say; Dask then cancels the tasks
    that need it. They are submitted once more, with another copy.
    """

    sees_memory = is_here = False

    def __init__(self, client: Any, workers: int) -> None:
        self.workers = workers
        self._client = client
        self._executor = client.get_executor(pure=False)

    def share(self, thing: Any) -> Any:
        """A copy on every worker."""
        return _Scattered(thing, self._client.scatter(thing, broadcast=True, hash=False))

    def submit(self, function: Callable[..., Any], token: Any, *arguments: Any) -> Future[Any]:
        """On the worker that the scheduler chooses."""
        if token.future.status != "finished":
            token.future = self.share(token.thing).future
        future: Future[Any] = self._executor.submit(function, token.future, *arguments)
        return future

    def has_lost(self, error: BaseException) -> bool:
        """Workers died several times under the task, each for its own reason, or the last one that held what tasks share."""
        return isinstance(error, CancelledError) or type(error).__name__ == "KilledWorker"

    def close(self) -> None:
        """Forget the tasks that nobody waits for any more; the cluster stays."""
        self._executor.shutdown(wait=False)


def crew_for(threads: int, in_processes: bool = False) -> Crew | None:
    """The workers that joblib is configured for, else so many threads, or processes; None for one worker."""
    from joblib.parallel import get_active_backend

    backend, n_jobs = get_active_backend()
    wanted = backend.default_n_jobs if n_jobs is None else n_jobs
    configured = 1 if wanted == 1 else int(backend.effective_n_jobs(wanted))
    if configured == 1:
        own = LokyCrew if in_processes else ThreadCrew
        return own(threads) if threads > 1 else None
    kind = type(backend).__name__
    if kind == "ThreadingBackend":
        return ThreadCrew(configured)
    if kind == "LokyBackend":
        return LokyCrew(configured)
    if kind == "DaskDistributedBackend":
        return None if _is_on_a_worker() else DaskCrew(backend.client, configured)
    raise InvalidInputError(
        f"the tasks of a proof run on joblib's backends 'loky', 'threading' and 'dask'; joblib.parallel_config names {kind}. "
        "Name one of the three, or use threads=n without joblib.parallel_config."
    )


def _is_on_a_worker() -> bool:
    """Whether this solve is itself a task of the cluster: it must not wait there for others, which may need its place."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True
