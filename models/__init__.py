"""What is solved: rules, losses, penalties, constraints, and one file for each paper's model."""

from ..modelling.algebra import Constraint, Rule, Term
from ..modelling.model import Model
from .coefficient_constraints import Bounds, IntegerCoefficients, MaxFeatures, Monotone
from .false_positive import neyman_pearson, tau_fpl, tau_fpl_dual, tau_fpl_kernel
from .logistic import Logistic, OuterApproximation
from .losses import AverageViolation, Hinge, Sigmoid, Squared, SquaredHinge
from .outlier_svm import HardMargin, outlier_svm
from .penalties import L0, L1, L2
from .polyhedral import polyhedral, rlp
from .ramp import Ramp
from .rate_constraints import Errors, FalseNegativeRate, FalsePositiveRate, Precision, RateParity
from .robust_svm import conditional_dual, conditional_svm, robust_svm
from .rules import Kernel, Linear, Polyhedron
from .svm import hinge_svm
from .topk_projection import capped_simplex_projection, topk_cone_projection, topk_projection
from .topk_ranking import TopKRanking
from .zero_one import zero_one
from .zero_one_loss import ZeroOne

__all__ = [
    "L0",
    "L1",
    "L2",
    "AverageViolation",
    "Bounds",
    "Constraint",
    "Errors",
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
    "OuterApproximation",
    "Polyhedron",
    "Precision",
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
