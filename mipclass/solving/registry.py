"""Table of strings: which method lives where; and `find`, for methods and backends alike.

Third parties add a method without touching this file, by an entry point in the group `mipclass.methods` whose name is the
solver's name.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..backends.registry import (
    FAMILIES,
    backend_names,
    entry_points_of,
    family_members,
    find_backend,
    is_backend,
    load,
)
from ..errors import SolverNotFoundError

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..methods.base import Method

__all__ = ["FAMILIES", "METHODS", "backend_names", "family_members", "find", "method_names"]

METHODS: dict[str, str] = {
    "exact": "mipclass.methods.exact.exact:Exact",
    "box": "mipclass.methods.exact.box.method:Box",
    "iis": "mipclass.methods.exact.iis.method:IIS",
    "directions": "mipclass.methods.hard_margin.method:Directions",
    "subsystems": "mipclass.methods.hard_margin.method:Subsystems",
    "enumerate": "mipclass.methods.outlier_svm.enumeration:EnumerateSupports",
    "outlier-path": "mipclass.methods.robust_svm.outlier_path:OutlierPathMethod",
    "balls": "mipclass.methods.robust_svm.ball_proof.method:Balls",
    "cccp": "mipclass.methods.robust_svm.cccp:CCCP",
    "gilbert": "mipclass.methods.outlier_svm.gilbert:Gilbert",
    "rgd-tree": "mipclass.methods.outlier_svm.rgd_tree:RGDTree",
    "slp": "mipclass.methods.polyhedral.successive_lp:SuccessiveLP",
    "fista": "mipclass.methods.tau_fpl.fista:Fista",
    "lbfgs": "mipclass.methods.tau_fpl.lbfgs:LBFGS",
    "topk": "mipclass.methods.tau_fpl.topk:TopK",
    "bnb": "mipclass.methods.zero_one.bnb:BranchAndBound",
    "newton": "mipclass.methods.logistic.newton:Newton",
    "lattice": "mipclass.methods.logistic.lattice:Lattice",
    "cutting-plane": "mipclass.methods.logistic.cutting_planes:CuttingPlane",
    "tree": "mipclass.methods.user_tree:TreeSearch",
    "pcs": "mipclass.methods.zero_one.pcs:PrioritisedSearch",
    "csa": "mipclass.methods.zero_one.csa:CombinatorialSwaps",
    "sla": "mipclass.methods.zero_one.sla:SmoothApproximation",
    "local": "mipclass.methods.zero_one.local:LocalSearch",
}


def method_names() -> list[str]:
    """Names of all methods, those of third parties last."""
    return [*METHODS, *entry_points_of("mipclass.methods")]


def find(name: str) -> Backend | Method[Any]:
    """The solver of that name; a clear error when it is unknown or not installed."""
    if not isinstance(name, str):
        raise SolverNotFoundError(f"solver must be a name such as 'highs'; got {type(name).__name__}.")
    if name in METHODS:
        method: Method[Any] = load(METHODS[name])()
        return method
    if is_backend(name):
        return find_backend(name)
    if name in entry_points_of("mipclass.methods"):
        other: Method[Any] = entry_points_of("mipclass.methods")[name].load()()
        return other
    known = [*backend_names(), *(f"{prefix}:NAME" for prefix in FAMILIES), *method_names()]
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise SolverNotFoundError(f"there is no solver {name!r}.{hint} Known: {', '.join(known)}; see mipclass.solvers().")
