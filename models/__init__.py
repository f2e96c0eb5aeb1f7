"""What is solved: rules, losses, penalties, constraints, and one file for each paper's model."""

from ..model import Constraint, Model, Rule, Term
from .constraints import (
    Bounds,
    FalseNegativeRate,
    FalsePositiveRate,
    IntegerCoefficients,
    MaxFeatures,
    Monotone,
    RateParity,
)
from .losses import Hinge, Logistic, Sigmoid, Squared, SquaredHinge, ZeroOne
from .penalties import L0, L1, L2
from .rules import Linear
from .svm import hinge_svm
from .zero_one import zero_one

__all__ = [
    "L0",
    "L1",
    "L2",
    "Bounds",
    "Constraint",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "Hinge",
    "IntegerCoefficients",
    "Linear",
    "Logistic",
    "MaxFeatures",
    "Model",
    "Monotone",
    "RateParity",
    "Rule",
    "Sigmoid",
    "Squared",
    "SquaredHinge",
    "Term",
    "ZeroOne",
    "hinge_svm",
    "zero_one",
]
