"""The certificate of a widest margin: a rule, and weights of points of the two hulls that prove no margin is wider.

The file format is described in docs/certificates.md; `mipclass.checker.margin` checks it in exact arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...certificates.certificate import FORMAT, VERSION, Certificate, MarginStatement, data_digest, dense, floats
from ...protocol.result import Values
from .form import OutlierForm
from .walks import Nearest

ROOM = Fraction(1, 10**9)
"""Relative slack of both claims: their exact values lie within rounding (about 1e-15) of the computed ones."""


def margin_certificate(form: OutlierForm, found: Nearest, values: Values) -> Certificate:
    """The rule, and the weights of the two hulls' nearest points, with the bound and the objective in exact numbers."""
    model = form.model
    weights = np.zeros(model.data.n)
    weights[form.rows1] = found.alpha
    if form.has_offset:
        weights[form.rows2] = found.beta
    used = np.flatnonzero(weights)
    bound, reached = (Fraction(form.objective(width)) for width in (found.distance, found.width))
    positive = "larger" if model.data.positive_is_larger else "smaller"
    return Certificate(
        {
            "format": FORMAT,
            "version": VERSION,
            "data": {**data_digest(dense(model.X), model.y_pm1), "positive": positive},
            "problem": MarginStatement(float(form.coefficient), form.has_offset).content(),
            "upper": {
                "w": floats(values["w"]),
                "b": float(values["b"]).hex(),
                "loss": str(reached * (1 + ROOM)),
            },
            "lower": {
                "kind": "hulls",
                "points": used.tolist(),
                "weights": floats(weights[used]),
                "bound": str(bound * (1 - ROOM)),
            },
        }
    )
