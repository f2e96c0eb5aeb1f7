"""Figure 2 of Zhang et al. (2018): training time against the number of rows, on sparse data.

    python -m benchmarks.studies.tau_fpl.scaling [--full]

The paper up-samples real-sim (72309 x 20958, 51 entries per row) 1 to 32 times, to 2.3 million rows. real-sim itself is not
shipped, so rows of its shape are made up; everything else is as in the paper. Each fit stops at a relative duality gap of
1e-3 (the paper stops when the dual objective changes little).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import Case, Results, Study, measure
from benchmarks.studies.tau_fpl.speed import fit_facts, training_facts

SPARSE = (72_309, 20_958)


@cache
def sparse_rows() -> tuple[sp.csr_array, np.ndarray]:
    """Rows like real-sim's: non-negative, unit length, frequent and rare columns; 22238 positives.

    A row draws about 51 columns: three quarters from a common distribution, the rest from its own class's.
    """
    rng = np.random.default_rng(1)
    n, d = SPARSE
    y = np.repeat([1.0, -1.0], [22_238, n - 22_238])
    rng.shuffle(y)
    counts = np.maximum(1, rng.poisson(51.3, n))
    rank = np.minimum((d * rng.random(counts.sum()) ** 4.0).astype(np.int32), d - 1)
    own = rng.random(counts.sum()) < 0.25
    orders = {1.0: rng.permutation(d).astype(np.int32), -1.0: rng.permutation(d).astype(np.int32)}
    label = np.repeat(y, counts)
    columns = np.where(own, np.where(label > 0, orders[1.0][rank], orders[-1.0][rank]), rank)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    X = sp.csr_array((rng.gamma(2.0, 1.0, counts.sum()), columns, starts), shape=(n, d))
    X.sum_duplicates()
    return sp.csr_array(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1)).reshape(-1, 1))), y


def train_sparse(ratio: int, tau: float, R: float) -> dict[str, Any]:
    """One fit on the sparse rows repeated `ratio` times."""
    from mipclass import models, solve

    base, labels = sparse_rows()
    X, y = sp.csr_array(sp.vstack([base] * ratio)), np.tile(labels, ratio)
    result, measured = measure(lambda: solve(models.tau_fpl(X, y, tau, R), "lbfgs", gap=1e-3))
    data_mb = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    return {"rows": X.shape[0], "data_mb": data_mb, **fit_facts(result, measured)}


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for ratio in (1, 2, 4, 8, 16, 32) if full else (1, 2):
        for tau in (0.001, 0.01, 0.1) if full else (0.1,):
            yield Case("lbfgs", train_sparse, {"ratio": ratio, "tau": tau, "R": 1e-2})


def report(results: Results) -> str:
    """The section's markdown."""
    return training_facts(results, "tau")


def warmup() -> None:
    """Compile and import everything that is timed."""
    from mipclass import models, solve

    X, y = sparse_rows()
    solve(models.tau_fpl(X[:5000], y[:5000], 0.1, 1e-2), "lbfgs")


study = Study("tau_fpl_scaling", "tau-FPL: training time against n on sparse rows", cases, report, warmup=warmup)

if __name__ == "__main__":
    study.main()
