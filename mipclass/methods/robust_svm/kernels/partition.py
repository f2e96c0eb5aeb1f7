"""The states of the points of a robust SVM, and the arrays that hold a solution and its levels.

With margins m = Qa, inlier level p_i (about 1) and cut-off q_i (about s), every point has one of these states:

    RIGHT   a = 0,        m >= p          EDGE   m = p, 0 <= a <= C
    LEFT    a = C, q <= m <= p            OUT    a = C theta, m <= q
    TIE_IN  m = q, a >= C (inlier)        TIE_OUT  m = q, a <= C theta (outlier)        MOVING   a is driven by a leg
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import Array

States = NDArray[np.int8]

RIGHT, EDGE, LEFT, OUT, TIE_IN, TIE_OUT, MOVING = 0, 1, 2, 3, 4, 5, 6


class DualSolution(NamedTuple):
    """Multipliers a, margins m = Qa and the state of every point; kernels change all three in place."""

    a: Array
    m: Array
    state: States


class Levels(NamedTuple):
    """The levels p and q of the margins, and the multipliers C of an inlier and C theta of an outlier left of them."""

    p: Array
    q: Array
    C: Array
    out_level: Array
