"""The studies by paper, and the one table of their names: `mipclass reproduce NAME` runs the module that stands here.

A module of a study ends in `study = Study(NAME, ...)`; `python -m benchmarks.studies.zero_one.tables` runs it too. A new
study needs a line here; a test compares the table with the modules.
"""

from __future__ import annotations

from typing import NamedTuple


class StudyEntry(NamedTuple):
    """Where a study lives, and what it reproduces in one line; listing the studies imports none of them."""

    module: str
    reproduces: str


STUDIES = {
    "compositions": StudyEntry(
        "benchmarks.studies.zero_one.compositions",
        "Proofs of compositions: the 0-1 loss with limits on errors, signs, few features and whole weights, `exact` beside HiGHS and SCIP.",
    ),
    "general_solvers": StudyEntry(
        "benchmarks.studies.general.solvers",
        "General solvers through mipclass against calling them by hand or through CVXPY: dense QPs and convex MIQPs.",
    ),
    "growth": StudyEntry(
        "benchmarks.studies.general.growth",
        "Growth with points and features: every estimator with its defaults beside the peer that a user would take; CPU seconds, memory, loss.",
    ),
    "hard_margin": StudyEntry(
        "benchmarks.studies.hard_margin.proofs",
        "Proven hard-margin loss on published instances (Santana et al., 2025): ours, HiGHS and SCIP in the same time; gaps of heuristics.",
    ),
    "large_n": StudyEntry(
        "benchmarks.studies.zero_one.large_n",
        "Proofs by boxes of many points: processor seconds, boxes and memory against the number of points.",
    ),
    "long_proofs": StudyEntry(
        "benchmarks.studies.zero_one.long_proofs",
        "Proofs too long for one machine: the bound after two CPU hours, killed once, and the time that would close them.",
    ),
    "model_building": StudyEntry(
        "benchmarks.studies.general.model_building",
        "Building one model and loading it into HiGHS, and writing it to a file: mipclass against what one could use instead.",
    ),
    "outlier_path_growth": StudyEntry(
        "benchmarks.studies.outlier_path.growth",
        "Growth of whole outlier paths with n, in seconds and memory, beside CCCP, scikit-learn's SVMs and a whole OutlierPathSVC fit.",
    ),
    "outlier_path_speed": StudyEntry(
        "benchmarks.studies.outlier_path.speed",
        "Whole outlier paths against CCCP on a grid of ten candidates and against re-solving every QP with OSQP.",
    ),
    "outlier_path_tables": StudyEntry(
        "benchmarks.studies.outlier_path.tables",
        "Tables 2 and 3 (test errors, linear and RBF) and Figure 5 (time against the number of candidates) of Suzumura et al. (2014).",
    ),
    "outside": StudyEntry(
        "benchmarks.studies.general.outside",
        "Files that nobody here wrote: each LP and QP of a folder by every solver, counted as solved, honest failure or wrong claim.",
    ),
    "parallel_proofs": StudyEntry(
        "benchmarks.studies.zero_one.parallel_proofs",
        "Proofs by boxes with several workers: processor and wall seconds, efficiency, and what a killed run costs.",
    ),
    "polyhedral_speed": StudyEntry(
        "benchmarks.studies.polyhedral.speed",
        "Speed of the successive LPs: LPs per descent, warm against rebuilt LPs, whole fits, growth with N, exact against slp.",
    ),
    "polyhedral_tables": StudyEntry(
        "benchmarks.studies.polyhedral.tables",
        "Tables 1 and 2 of Astorino & Gaudioso (2002): ten-fold cross-validation on six sets, leave-one-out on a small one.",
    ),
    "rgd_defaults": StudyEntry(
        "benchmarks.studies.rgd_tree.defaults",
        "RGDTreeSVC with its defaults next to LinearSVC on twenty sets, clean and with 10 % of the training labels flipped.",
    ),
    "rgd_speed": StudyEntry(
        "benchmarks.studies.rgd_tree.speed",
        "Time and memory of one RGD-tree (height 5, 5 nodes per level) in n and d, next to scikit-learn's LinearSVC.",
    ),
    "rgd_tables": StudyEntry(
        "benchmarks.studies.rgd_tree.tables",
        "Ding & Xu (2015): Figure 4 a-c on synthetic data, Table 1 on benchmark sets, Definition 3 on exact optima.",
    ),
    "risk_scores": StudyEntry(
        "benchmarks.studies.risk_scores.scores",
        "Risk scores: logistic loss, proof and seconds of `lattice` next to FasterRisk, and logistic regression next to scikit-learn.",
    ),
    "tau_fpl_coverage": StudyEntry(
        "benchmarks.studies.tau_fpl.coverage",
        "How often each threshold of TauFPLClassifier lets the true false-positive rate exceed tau.",
    ),
    "tau_fpl_scaling": StudyEntry(
        "benchmarks.studies.tau_fpl.scaling",
        "Figure 2 of Zhang et al. (2018): training time against the number of rows, on sparse data.",
    ),
    "tau_fpl_speed": StudyEntry(
        "benchmarks.studies.tau_fpl.speed",
        "Speed of tau-FPL: the projection against selection, sorting and other projections, training against LinearSVC.",
    ),
    "tau_fpl_tables": StudyEntry(
        "benchmarks.studies.tau_fpl.tables",
        "Tables 2 and 3 of Zhang et al. (2018): ranking and classification under a tolerated false-positive rate.",
    ),
    "time_limits": StudyEntry(
        "benchmarks.studies.general.time_limits",
        "Time limits asked and taken: every method, backend and estimator on data where it does not finish.",
    ),
    "zero_one_exact": StudyEntry(
        "benchmarks.studies.zero_one.exact",
        "Proven 0-1 loss: box, iis and exact against general MIP solvers, on the same data with the same time.",
    ),
    "zero_one_speed": StudyEntry(
        "benchmarks.studies.zero_one.speed",
        "Speed of the 0-1 loss methods against peers, in one run.",
    ),
    "zero_one_tables": StudyEntry(
        "benchmarks.studies.zero_one.tables",
        "Tables 1-4 and figures 1 and 5 of Nguyen & Sanner (2013), the paper's figures beside ours; figures 2 and 4 as pictures.",
    ),
}
"""Name on the command line, in the cache and in RESULTS.md -> where the study lives and what it reproduces."""
