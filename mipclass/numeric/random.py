"""A tiny seeded generator for compiled loops: its state is an array, so a search can stop and go on bit for bit."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

State = NDArray[np.uint64]


def random_state(seed: int) -> State:
    """State (one word) of a splitmix64 generator."""
    return np.array([seed], dtype=np.uint64)


@njit(cache=True, inline="always")
def next_word(state: State) -> np.uint64:
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def uniform(state: State) -> float:
    """A number in (0, 1)."""
    return (float(next_word(state) >> np.uint64(11)) + 0.5) / 9007199254740992.0


@njit(cache=True)
def below(state: State, n: int) -> int:
    """An integer in 0..n-1."""
    return min(int(uniform(state) * n), n - 1)


@njit(cache=True)
def normal(state: State) -> float:
    """A standard normal number (Box and Muller)."""
    return np.sqrt(-2.0 * np.log(uniform(state))) * np.cos(2.0 * np.pi * uniform(state))
