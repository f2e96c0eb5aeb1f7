"""From the command line's words to estimators and declared models."""

from __future__ import annotations

from typing import Any

from .. import models
from ..errors import InvalidInputError
from .options import DEFAULT_SECONDS, SideConstraints
from .tables import Table

DECLARED = (
    "zero-one",
    "risk-score",
    "logistic",
    "hinge",
    "hinge-l1",
    "polyhedral",
    "robust-svm",
    "outlier-svm",
    "tau-fpl",
)
ESTIMATED = ("zero-one", "risk-score", "polyhedral", "robust-svm", "outlier-svm", "tau-fpl")


def constraints_for(fpr: float | None, max_features: int | None, integer: bool) -> list[models.Constraint]:
    """The side constraints that --fpr, --max-features and --integer ask for."""
    constraints: list[models.Constraint] = []
    if fpr is not None:
        constraints.append(models.FalsePositiveRate(at_most=fpr))
    if max_features is not None:
        constraints.append(models.MaxFeatures(max_features))
    if integer:
        constraints.append(models.IntegerCoefficients())
    return constraints


def _one_of(model: str, known: tuple[str, ...]) -> None:
    if model not in known:
        raise InvalidInputError(f"--model must be one of {', '.join(known)}; got {model!r}.")


def _check_points(model: str, limits: SideConstraints) -> None:
    if limits.points is not None and model != "risk-score":
        raise InvalidInputError(f"--model {model} takes no --points; --model risk-score does.")


def _unknown_limits(model: str) -> InvalidInputError:
    taken = "--max-features or --integer" if model == "tau-fpl" else "--max-features, --integer or --fpr"
    return InvalidInputError(f"--model {model} takes no {taken}; --model zero-one takes all three.")


def _most_features(limits: SideConstraints) -> int:
    """Features of a risk score."""
    return 5 if limits.max_features is None else limits.max_features


def _most_points(limits: SideConstraints) -> int:
    """Points of a condition of a risk score."""
    return 5 if limits.points is None else limits.points


def estimator_for(model: str, solver: str, time_limit: float | None, limits: SideConstraints, progress: bool) -> Any:
    """The estimator behind `mipclass fit`; options that a model does not know are refused."""
    from ..estimators.outlier_path import OutlierPathSVC
    from ..estimators.polyhedral import PolyhedralClassifier
    from ..estimators.rgd_tree import RGDTreeSVC
    from ..estimators.tau_fpl import TauFPLClassifier
    from ..estimators.zero_one import ZeroOneClassifier

    _one_of(model, ESTIMATED)
    fpr, max_features, integer = limits.fpr, limits.max_features, limits.integer
    if model == "risk-score":
        return _risk_score(solver, time_limit, limits, progress)
    _check_points(model, limits)
    if model == "zero-one":
        constraints = constraints_for(fpr, max_features, integer)
        if solver == "auto" and time_limit is None:
            time_limit = DEFAULT_SECONDS
        return ZeroOneClassifier(solver, subject_to=constraints, time_limit=time_limit, progress=progress)
    if max_features is not None or integer or (fpr is not None and model != "tau-fpl"):
        raise _unknown_limits(model)
    if solver != "auto" and model != "polyhedral":
        raise InvalidInputError(f"--model {model} has its own algorithm; leave --solver at auto.")
    if model == "polyhedral":
        return PolyhedralClassifier(solver=solver, time_limit=time_limit, progress=progress)
    if model == "tau-fpl":
        return TauFPLClassifier(tau=0.05 if fpr is None else fpr, time_limit=time_limit, progress=progress)
    if model == "outlier-svm":
        return RGDTreeSVC(time_limit=time_limit, progress=progress)
    return OutlierPathSVC(time_limit=time_limit, progress=progress)


def _risk_score(solver: str, time_limit: float | None, limits: SideConstraints, progress: bool) -> Any:
    """A risk score; its points are whole numbers anyway, so --integer changes nothing."""
    from ..estimators.risk_score import RiskScoreClassifier

    return RiskScoreClassifier(
        _most_features(limits),
        _most_points(limits),
        subject_to=constraints_for(limits.fpr, None, False),
        solver=solver,
        time_limit=DEFAULT_SECONDS if time_limit is None else time_limit,
        progress=progress,
    )


def declared(table: Table, model: str, limits: SideConstraints, C: float) -> models.Model:
    """The Model that the options describe, in the units of the file; options that a model does not know are refused."""
    _one_of(model, DECLARED)
    if table.y is None:
        raise InvalidInputError("name the label column with --target.")
    _check_points(model, limits)
    fpr, max_features, integer = limits.fpr, limits.max_features, limits.integer
    constraints = constraints_for(fpr, max_features, integer)
    if model == "risk-score":
        whole: list[models.Constraint] = [models.IntegerCoefficients(_most_points(limits), intercept=True)]
        constraints = whole + constraints_for(fpr, _most_features(limits), False)
    if model in ("zero-one", "hinge", "hinge-l1", "logistic", "risk-score"):
        objectives = {
            "risk-score": 1.0 * models.Logistic(),
            "logistic": 0.5 * models.L2() + C * models.Logistic(),
            "zero-one": 1.0 * models.ZeroOne(),
            "hinge": 0.5 * models.L2() + C * models.Hinge(),
            "hinge-l1": models.L1() + C * models.Hinge(),
        }
        return models.Model(
            table.X, table.y, minimize=objectives[model], subject_to=constraints, feature_names=table.feature_names
        )
    if max_features is not None or integer or (fpr is not None and model != "tau-fpl"):
        raise _unknown_limits(model)
    if model == "polyhedral":
        return models.polyhedral(table.X, table.y, 2, feature_names=table.feature_names)
    if model == "robust-svm":
        return models.robust_svm(table.X, table.y, C=C, theta=0.0, s=0.0, feature_names=table.feature_names)
    if model == "outlier-svm":
        return models.outlier_svm(table.X, table.y, 0.1, feature_names=table.feature_names)
    return models.tau_fpl(table.X, table.y, 0.05 if fpr is None else fpr, feature_names=table.feature_names)


def asked_about(table: Table, model: str | None, limits: SideConstraints) -> models.Model | None:
    """The problem that `mipclass verify --for` names: a declared model, or that of a saved classifier; None when none is asked for."""
    from ..estimators.zero_one import ZeroOneClassifier
    from .fitted_table import FittedTable
    from .saving import load

    if model is None and limits == SideConstraints():
        return None
    if model is None or not model.endswith(".json"):
        return declared(table, model or "zero-one", limits, C=1.0)
    if limits != SideConstraints():
        raise InvalidInputError(
            "--for with a saved model takes no --fpr, --max-features, --integer or --points: the file has them."
        )
    fitted = load(model)
    if not isinstance(fitted, FittedTable) or not isinstance(fitted.estimator, ZeroOneClassifier):
        raise InvalidInputError(
            f"{model} holds no 0-1 classifier; --for takes what `mipclass fit --model zero-one --out` saved."
        )
    return fitted.estimator.declare(table.X, table.y)
