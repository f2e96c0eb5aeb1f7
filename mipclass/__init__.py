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
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# `models/` stands beside this folder in the source tree and inside it once installed. Running from an uninstalled
# checkout, the source tree's root has to be searched as well for `mipclass.models` to be found.
_root = Path(__file__).resolve().parent.parent
if not (Path(__file__).parent / "models").is_dir() and (_root / "models" / "__init__.py").is_file():
    __path__ = [*__path__, str(_root)]

# name -> where it lives; resolved on first access so that `import mipclass` stays light.
_PUBLIC = {
    "OutlierPathSVC": "mipclass.estimators.outlier_path:OutlierPathSVC",
    "PolyhedralClassifier": "mipclass.estimators.polyhedral:PolyhedralClassifier",
    "Program": "mipclass.program:Program",
    "RGDTreeOneClass": "mipclass.estimators.rgd_tree:RGDTreeOneClass",
    "RGDTreeSVC": "mipclass.estimators.rgd_tree:RGDTreeSVC",
    "Result": "mipclass.result:Result",
    "TauFPLClassifier": "mipclass.estimators.tau_fpl:TauFPLClassifier",
    "ZeroOneClassifier": "mipclass.estimators.zero_one:ZeroOneClassifier",
    "project_topk_simplex": "mipclass.projections:project_topk_simplex",
    "read": "mipclass.files:read",
    "solve": "mipclass.driver:solve",
    "explain": "mipclass.infeasibility:explain",
    "load": "mipclass.saving:load",
    "save": "mipclass.saving:save",
    "solvers": "mipclass.driver:solvers",
    "datasets": "mipclass.datasets",
    "models": "mipclass.models",
    "verify": "mipclass.verify",  # a module that can be called
}

__all__ = [
    "OutlierPathSVC",
    "PolyhedralClassifier",
    "Program",
    "RGDTreeOneClass",
    "RGDTreeSVC",
    "Result",
    "TauFPLClassifier",
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
    from .driver import solve, solvers
    from .estimators.outlier_path import OutlierPathSVC
    from .estimators.polyhedral import PolyhedralClassifier
    from .estimators.rgd_tree import RGDTreeOneClass, RGDTreeSVC
    from .estimators.tau_fpl import TauFPLClassifier
    from .files import read
    from .infeasibility import explain
    from .program import Program
    from .projections import project_topk_simplex
    from .result import Result
    from .saving import load, save
    from .verify import verify


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'mipclass' has no attribute {name!r}; it has {', '.join(sorted(_PUBLIC))}")
    module, _, attribute = _PUBLIC[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
