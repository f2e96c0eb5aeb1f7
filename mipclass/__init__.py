"""Binary classification as mathematical programming.

Declare a problem (a loss, a penalty, side constraints), solve it with any capable solver or with the algorithm made for
it, and get a classifier with a bound that can be checked::

    import mipclass
    from mipclass import models

    problem = models.Model(X, y, minimize=models.ZeroOne(), subject_to=[models.FalsePositiveRate(at_most=0.05)])
    result = mipclass.solve(problem)

Importing this package loads no solver, no numba and no matplotlib; each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .estimators import ESTIMATORS
from .modelling.conversions import provide
from .version import VERSION as __version__

for _method, _where in {
    "write": "mipclass.files:write",
    "to_pyomo": "mipclass.bridges.pyomo:to_pyomo",
    "from_pyomo": "mipclass.bridges.pyomo:from_pyomo",
    "to_cvxpy": "mipclass.bridges.cvxpy:to_cvxpy",
    "from_cvxpy": "mipclass.bridges.cvxpy:from_cvxpy",
    "classifier": "mipclass.estimators.rule_classifier:RuleClassifier",
}.items():
    provide(_method, _where)

# name -> where it lives; resolved on first access so that `import mipclass` stays light.
_PUBLIC = {
    **ESTIMATORS,
    "Program": "mipclass.modelling.program:Program",
    "Result": "mipclass.protocol.result:Result",
    "project_topk_simplex": "mipclass.methods.tau_fpl.projections:project_topk_simplex",
    "read": "mipclass.files:read",
    "solve": "mipclass.solving.driver:solve",
    "explain": "mipclass.analysis.explain:explain",
    "load": "mipclass.app.saving:load",
    "save": "mipclass.app.saving:save",
    "solvers": "mipclass.solving.capabilities:solvers",
    "datasets": "mipclass.datasets",
    "models": "mipclass.models",
    "verify": "mipclass.checker:verify",
    "HighsError": "mipclass.backends.highs_object:HighsError",
    "InvalidInputError": "mipclass.errors:InvalidInputError",
    "MipclassError": "mipclass.errors:MipclassError",
    "MipclassWarning": "mipclass.errors:MipclassWarning",
    "OptionError": "mipclass.errors:OptionError",
    "ReadError": "mipclass.errors:ReadError",
    "SolverNotFoundError": "mipclass.errors:SolverNotFoundError",
    "UnsupportedProgramError": "mipclass.errors:UnsupportedProgramError",
}

__all__ = [
    "HighsError",
    "InvalidInputError",
    "MipclassError",
    "MipclassWarning",
    "OptionError",
    "OutlierPathSVC",
    "PolyhedralClassifier",
    "Program",
    "RGDTreeOneClass",
    "RGDTreeSVC",
    "ReadError",
    "Result",
    "RiskScoreClassifier",
    "SolverNotFoundError",
    "TauFPLClassifier",
    "UnsupportedProgramError",
    "ZeroOneClassifier",
    "__version__",
    "datasets",
    "explain",
    "load",
    "models",
    "project_topk_simplex",
    "read",
    "save",
    "solve",
    "solvers",
    "verify",
]

if TYPE_CHECKING:
    from . import datasets, models
    from .analysis.explain import explain
    from .app.saving import load, save
    from .backends.highs_object import HighsError
    from .checker import verify
    from .errors import (
        InvalidInputError,
        MipclassError,
        MipclassWarning,
        OptionError,
        ReadError,
        SolverNotFoundError,
        UnsupportedProgramError,
    )
    from .estimators.outlier_path import OutlierPathSVC
    from .estimators.polyhedral import PolyhedralClassifier
    from .estimators.rgd_tree import RGDTreeOneClass, RGDTreeSVC
    from .estimators.risk_score import RiskScoreClassifier
    from .estimators.tau_fpl import TauFPLClassifier
    from .estimators.zero_one import ZeroOneClassifier
    from .files import read
    from .methods.tau_fpl.projections import project_topk_simplex
    from .modelling.program import Program
    from .protocol.result import Result
    from .solving.capabilities import solvers
    from .solving.driver import solve


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'mipclass' has no attribute {name!r}; it has {', '.join(sorted(_PUBLIC))}")
    module, _, attribute = _PUBLIC[name].partition(":")
    try:
        found = import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != "mipclass.models":
            raise
        raise ImportError(
            "mipclass.models is not installed: this is a checkout, whose folder models/ becomes mipclass.models on "
            "installation. Install the checkout with: pip install -e ."
        ) from missing
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
