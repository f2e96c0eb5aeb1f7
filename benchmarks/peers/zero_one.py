"""Peers of the 0-1 loss methods: the paper's enumeration compiled, and the package e01loss in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
from numba import njit

PIVOT = 1e-12
"""Below this largest pivot of a column a combination of points counts as dependent and is passed over."""


@njit(cache=True)
def lu_enumeration(X: Any, y: Any, most: int) -> tuple[int, int]:
    """Algorithm 2 as printed: A w' = -1 by elimination for each combination, both signs counted; (best loss, combinations).

    Lexicographic order, at most `most` combinations; the D points count as correct.
    """
    n, d = X.shape
    p = np.arange(d)
    A, rhs, w = np.empty((d, d)), np.empty(d), np.empty(d)
    best, done = n, 0
    while done < most:
        for k in range(d):
            rhs[k] = -1.0
            for j in range(d):
                A[k, j] = X[p[k], j]
        if _solve_by_elimination(A, rhs, w):
            wrong = 0
            for i in range(n):
                wrong += _is_wrong(X, y, w, i)
            for k in range(d):  # rounding must not decide about the D points
                wrong -= _is_wrong(X, y, w, p[k])
            best = min(best, wrong, n - d - wrong)
        done += 1
        k = d - 1
        while k >= 0 and p[k] == n - d + k:
            k -= 1
        if k < 0:
            break
        p[k] += 1
        for j in range(k + 1, d):
            p[j] = p[j - 1] + 1
    return best, done


@njit(cache=True)
def _solve_by_elimination(A: Any, rhs: Any, w: Any) -> bool:
    """Solve A w = rhs with row pivoting, overwriting A and rhs; False when A is singular."""
    d = len(rhs)
    for k in range(d):
        top = k
        for r in range(k + 1, d):
            if abs(A[r, k]) > abs(A[top, k]):
                top = r
        if abs(A[top, k]) < PIVOT:
            return False
        for j in range(k, d):
            A[k, j], A[top, j] = A[top, j], A[k, j]
        rhs[k], rhs[top] = rhs[top], rhs[k]
        for r in range(k + 1, d):
            c = A[r, k] / A[k, k]
            for j in range(k, d):
                A[r, j] -= c * A[k, j]
            rhs[r] -= c * rhs[k]
    for k in range(d - 1, -1, -1):
        total = rhs[k]
        for j in range(k + 1, d):
            total -= A[k, j] * w[j]
        w[k] = total / A[k, k]
    return True


@njit(cache=True)
def _is_wrong(X: Any, y: Any, w: Any, i: int) -> bool:
    """Whether w.x_i + 1 has the other sign than y_i."""
    score = 1.0
    for j in range(len(w)):
        score += w[j] * X[i, j]
    return y[i] * score < 0.0


def stacked_enumeration(X: Any, y: Any, most: int, stack: int = 4096) -> tuple[int, int]:
    """The same with LAPACK on stacks of combinations and one matrix product for their scores."""
    n, d = X.shape
    chosen = combinations(range(n), d)
    best, done = n, 0
    while done < most:
        flat = np.fromiter(chain.from_iterable(islice(chosen, stack)), dtype=np.int64)
        if not len(flat):
            break
        p = flat.reshape(-1, d)
        w = np.linalg.solve(X[p], -np.ones((len(p), d, 1)))[:, :, 0]
        wrong = (1.0 + w @ X.T) * y < 0.0
        wrong[np.arange(len(p))[:, None], p] = False
        errors = wrong.sum(axis=1)
        best = min(best, int(np.minimum(errors, n - d - errors).min()))
        done += len(p)
    return best, done


E01LOSS = """
import json, sys, time
import numpy as np
from e01loss.exact_classify01loss import exact_classify01loss_cell
given = json.load(sys.stdin)
X, y = np.array(given["X"]), np.array(given["y"], dtype=float)
start = time.perf_counter()
answer = exact_classify01loss_cell(X, y)
print(json.dumps({"loss": int(answer[1]), "seconds": time.perf_counter() - start}))
"""


def _e01loss_python() -> str:
    return os.environ.get("MIPCLASS_E01LOSS_PYTHON", sys.executable)


def has_e01loss() -> bool:
    """Whether that interpreter finds the package."""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('e01loss') is None)"
    return subprocess.run([_e01loss_python(), "-c", look], capture_output=True, check=False).returncode == 0


def e01loss(X: Any, y: Any) -> dict[str, Any]:
    """Loss and seconds of e01loss 1.0.1 (cell enumeration, He & Little 2023).

    The package is under the GPL, so it is never imported here: it runs in the interpreter that the environment variable
    MIPCLASS_E01LOSS_PYTHON names (a virtual environment with e01loss installed), this one by default.
    """
    given = json.dumps({"X": np.asarray(X).tolist(), "y": np.asarray(y).tolist()})
    run = subprocess.run([_e01loss_python(), "-c", E01LOSS], input=given, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(
            "e01loss could not run; install it (pip install e01loss) and point MIPCLASS_E01LOSS_PYTHON at its interpreter. "
            + run.stderr.strip()[-300:]
        )
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer
