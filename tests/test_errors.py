"""Warnings point at the line of the caller, however deep inside the package they are issued."""

from __future__ import annotations

import warnings

import numpy as np

from mipclass import models, solve
from mipclass.errors import MipclassWarning


def test_a_warning_names_the_file_of_the_caller():
    X, y = np.array([[-1.0], [1.0], [0.0], [0.0]]), np.array([0, 0, 1, 1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MipclassWarning)
        for solver in ("auto", "lbfgs"):
            assert solve(models.tau_fpl(X, y, tau=0.9, R=1.0), solver).extra["collapsed"]
    assert [warning.filename for warning in caught if warning.category is MipclassWarning] == [__file__] * 2
