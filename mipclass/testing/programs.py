"""Small programs of every kind, seeded, whose optima `truth` can compute; and one that is hard."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..modelling.builder import Builder
from ..modelling.program import Program


def random_lp(seed: int) -> Program:
    """Three columns, rows of every sort, feasible by construction at an interior point; boxed, hence bounded."""
    rng = np.random.default_rng(seed)
    inside = rng.uniform(-1, 1, 3)
    A = rng.integers(-4, 5, (5, 3)).astype(float)
    at = A @ inside
    return Program(
        c=rng.integers(-5, 6, 3).astype(float),
        A=sp.csr_array(A),
        row_lower=np.array([at[0], -np.inf, at[2] - 1, at[3] - 0.5, -np.inf]),
        row_upper=np.array([at[0], at[1] + 1, np.inf, at[3] + 0.5, np.inf]),
        lower=np.full(3, -2.0),
        upper=np.array([2.0, 3.0, 2.0]),
        integer=np.zeros(3, dtype=bool),
        constant=float(rng.integers(-3, 4)),
        name=f"random LP {seed}",
    )


def random_box_qp(seed: int) -> Program:
    """Three columns, a full Hessian with off-diagonal entries of both signs, one column without an upper bound."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(3, 3))
    return Program(
        c=rng.normal(size=3) * 3,
        A=sp.csr_array((0, 3)),
        row_lower=np.zeros(0),
        row_upper=np.zeros(0),
        lower=np.array([-1.0, 0.0, -2.0]),
        upper=np.array([1.0, np.inf, 0.5]),
        integer=np.zeros(3, dtype=bool),
        Q=sp.csc_array(half @ half.T + 0.1 * np.eye(3)),
        constant=1.5,
        name=f"random QP {seed}",
    )


def random_integer_program(seed: int, *, quadratic: bool) -> Program:
    """Four integer columns, some negative, three rows, small enough to enumerate."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(4, 4))
    A = rng.integers(-3, 4, (3, 4)).astype(float)
    at = A @ rng.integers(0, 2, 4)  # a feasible point
    return Program(
        c=rng.integers(-5, 6, 4).astype(float) + (rng.normal(size=4) if quadratic else 0.0),
        A=sp.csr_array(A),
        row_lower=np.array([at[0] - 2, -np.inf, at[2]]),
        row_upper=np.array([at[0] + 1, at[1] + 1, at[2]]),
        lower=np.array([-2.0, -1.0, 0.0, 0.0]),
        upper=np.array([2.0, 2.0, 1.0, 3.0]),
        integer=np.ones(4, dtype=bool),
        Q=sp.csc_array(half @ half.T) if quadratic else None,
        constant=2.0,
        name=f"random {'MIQP' if quadratic else 'MIP'} {seed}",
    )


def line_rule(x: Array, y: Array, *, on_at: int) -> Program:
    """Fewest errors of sign(w x + b) with -1 <= w <= 1: error or margin, by indicators that switch on at 0 or at 1."""
    build = Builder("rule on a line")
    w = build.variables("w", lower=-1, upper=1)
    b = build.variables("b", lower=-20, upper=20)
    z = build.binaries("z", len(x))
    build.subject_to("margin", (y * x) * w + y * b >= 0.01, when=(z, on_at))
    build.minimize(z.sum() if on_at == 0 else len(x) - z.sum())
    return build.build()


def hard_mip(seed: int = 0) -> Program:
    """Market split: split 30 customers so that four products come out even; hard far beyond its size, always feasible."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 100, (4, 30)).astype(float)
    build = Builder("market split")
    chosen = build.binaries("chosen", 30)
    over, under = (build.variables(name, 4, lower=0, upper=3000) for name in ("over", "under"))
    build.subject_to("even", demand @ chosen + under - over == np.floor(demand.sum(axis=1) / 2))
    build.minimize(over.sum() + under.sum())
    return build.build()


def bare(n: int, **parts: Any) -> Program:
    """A program of n free columns without rows or costs, but for what is given."""
    plain: dict[str, Any] = {
        "c": np.zeros(n),
        "A": sp.csr_array((0, n)),
        "row_lower": np.zeros(0),
        "row_upper": np.zeros(0),
        "lower": np.full(n, -np.inf),
        "upper": np.full(n, np.inf),
        "integer": np.zeros(n, dtype=bool),
    }
    return Program(**plain | parts)
