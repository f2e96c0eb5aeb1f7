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
from .false_positive import neyman_pearson, tau_fpl, tau_fpl_dual, tau_fpl_kernel
from .losses import AverageViolation, Hinge, Logistic, Sigmoid, Squared, SquaredHinge, TopKRanking, ZeroOne
from .outlier_svm import HardMargin, outlier_svm
from .penalties import L0, L1, L2
from .polyhedral import polyhedral, rlp
from .rules import Linear, Polyhedron
from .svm import hinge_svm
from .topk_projection import topk_projection
from .zero_one import zero_one

__all__ = [
    "L0",
    "L1",
    "L2",
    "AverageViolation",
    "Bounds",
    "Constraint",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "HardMargin",
    "Hinge",
    "IntegerCoefficients",
    "Linear",
    "Logistic",
    "MaxFeatures",
    "Model",
    "Monotone",
    "Polyhedron",
    "RateParity",
    "Rule",
    "Sigmoid",
    "Squared",
    "SquaredHinge",
    "Term",
    "TopKRanking",
    "ZeroOne",
    "hinge_svm",
    "neyman_pearson",
    "outlier_svm",
    "polyhedral",
    "rlp",
    "tau_fpl",
    "tau_fpl_dual",
    "tau_fpl_kernel",
    "topk_projection",
    "zero_one",
]
