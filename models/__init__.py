"""What is solved: rules, losses, penalties, constraints, and one file for each paper's model."""

from ..modelling.model import Constraint, Model, Rule, Term
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
from .losses import AverageViolation, Hinge, Logistic, Ramp, Sigmoid, Squared, SquaredHinge, TopKRanking, ZeroOne
from .outlier_svm import HardMargin, outlier_svm
from .penalties import L0, L1, L2
from .polyhedral import polyhedral, rlp
from .robust_svm import conditional_dual, conditional_svm, robust_svm
from .rules import Kernel, Linear, Polyhedron
from .svm import hinge_svm
from .topk_projection import capped_simplex_projection, topk_cone_projection, topk_projection
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
    "Kernel",
    "Linear",
    "Logistic",
    "MaxFeatures",
    "Model",
    "Monotone",
    "Polyhedron",
    "Ramp",
    "RateParity",
    "Rule",
    "Sigmoid",
    "Squared",
    "SquaredHinge",
    "Term",
    "TopKRanking",
    "ZeroOne",
    "capped_simplex_projection",
    "conditional_dual",
    "conditional_svm",
    "hinge_svm",
    "neyman_pearson",
    "outlier_svm",
    "polyhedral",
    "rlp",
    "robust_svm",
    "tau_fpl",
    "tau_fpl_dual",
    "tau_fpl_kernel",
    "topk_cone_projection",
    "topk_projection",
    "zero_one",
]
