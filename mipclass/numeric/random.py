"""The random generator splitmix64 for compiled loops.

Its state is an array of one word, so that a search can be stopped and resumed with exactly the same random numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.decorator import njit
from .row_hash import GOLDEN_GAMMA, mix

State = NDArray[np.uint64]


def random_state(seed: int) -> State:
    """The initial state of a generator with this seed."""
    return np.array([seed], dtype=np.uint64)


@njit(cache=True, inline="always")
def next_word(state: State) -> np.uint64:
    """The next 64 random bits."""
    state[0] += GOLDEN_GAMMA
    return mix(state[0])


@njit(cache=True)
def uniform(state: State) -> float:
    """A uniform number in (0, 1): the middle of one of 2^53 equal intervals."""
    return (float(next_word(state) >> np.uint64(11)) + 0.5) / 9007199254740992.0  # 2^53


@njit(cache=True)
def below(state: State, n: int) -> int:
    """A uniform integer in 0, ..., n - 1."""
    return min(int(uniform(state) * n), n - 1)


@njit(cache=True)
def normal(state: State) -> float:
    """A standard normal number, by the method of Box and Muller."""
    return np.sqrt(-2.0 * np.log(uniform(state))) * np.cos(2.0 * np.pi * uniform(state))
