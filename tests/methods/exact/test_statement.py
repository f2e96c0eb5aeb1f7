"""What the proving methods read in a Model."""

from __future__ import annotations

import numpy as np

from mipclass import models
from mipclass.certificates.certificate import Statement
from mipclass.methods.base import Refusal
from mipclass.methods.exact.statement import statement_of


def test_statement_reads_the_model():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X.sum(axis=1) + rng.normal(0, 1.5, 40) > 0, "yes", "no")
    problem = models.zero_one(X, y, subject_to=[models.FalsePositiveRate(at_most=0.1), models.Monotone({"x0": 1})])
    problem = problem.subject_to(problem.w["x1"] - problem.w["x0"] <= 0)
    statement = statement_of(problem)
    assert not statement.is_plain
    assert [at_most for _, at_most in statement.limits] == [np.floor(0.1 * (y == "no").sum())]
    assert [row.tolist() for row, _ in statement.rows] == [[1, 0, 0], [1, -1, 0]]
    assert Statement(np.ones(3)).is_plain
    refusal = statement_of(models.Model(X, y, minimize=models.Hinge()))
    assert isinstance(refusal, Refusal)
    assert "ZeroOne" in refusal.reason
