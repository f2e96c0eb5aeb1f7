"""What the options --threads and --dask mean: joblib's configuration while a command is at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import InvalidInputError
from .options import Workers


@contextmanager
def at_work(workers: Workers) -> Iterator[None]:
    """Proofs inside use the workers that the options name."""
    if workers.dask is None and workers.threads == 1:
        yield
        return
    import joblib

    if workers.dask is None:
        with joblib.parallel_config("threading", n_jobs=workers.threads):
            yield
        return
    if workers.threads > 1:
        raise InvalidInputError("--threads and --dask exclude each other; leave --threads out to use the cluster.")
    try:
        from distributed import Client
    except ImportError as err:
        raise InvalidInputError("--dask needs dask.distributed: pip install 'mipclass[dask]'.") from err
    try:
        client = Client(workers.dask)
    except (OSError, ValueError) as err:
        raise InvalidInputError(
            f"there is no Dask scheduler at {workers.dask!r} ({err}); start one with `dask scheduler` and give its address."
        ) from err
    with client, joblib.parallel_config("dask"):
        yield
