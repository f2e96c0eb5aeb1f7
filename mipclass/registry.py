"""Tables of strings: which solver name lives where. Nothing is imported until it is asked for.

Third parties add a backend or a method without touching this file, by an entry point in the group
`mipclass.backends` or `mipclass.methods` whose name is the solver's name.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import SolverNotFoundError

if TYPE_CHECKING:
    from .backends.base import Backend, Family
    from .methods.base import Method

T = TypeVar("T", bound="Backend | Family")

BACKENDS: dict[str, str] = {
    "highs": "mipclass.backends.highs:HighsBackend",
    "osqp": "mipclass.backends.osqp:OsqpBackend",
    "piqp": "mipclass.backends.piqp:PiqpBackend",
    "scip": "mipclass.backends.scip:ScipBackend",
}

FAMILIES: dict[str, str] = {
    "cvxpy": "mipclass.backends.cvxpy:CvxpyFamily",
    "pyomo": "mipclass.backends.pyomo:PyomoFamily",
}
"""prefix -> Family whose member is named after the colon, e.g. "cvxpy" for cvxpy:CLARABEL."""

METHODS: dict[str, str] = {
    "exact": "mipclass.methods.exact:Exact",
    "box": "mipclass.methods.box:Box",
    "iis": "mipclass.methods.iis:IIS",
    "enumerate": "mipclass.methods.enumerate_supports:EnumerateSupports",
    "outlier-path": "mipclass.methods.outlier_path:OutlierPathMethod",
    "cccp": "mipclass.methods.cccp:CCCP",
    "gilbert": "mipclass.methods.gilbert:Gilbert",
    "rgd-tree": "mipclass.methods.rgd_tree:RGDTree",
    "slp": "mipclass.methods.successive_lp:SuccessiveLP",
    "fista": "mipclass.methods.tau_fpl:Fista",
    "lbfgs": "mipclass.methods.tau_fpl:LBFGS",
    "topk": "mipclass.methods.topk:TopK",
    "bnb": "mipclass.methods.bnb:BranchAndBound",
    "tree": "mipclass.methods.tree:TreeSearch",
    "pcs": "mipclass.methods.pcs:PrioritisedSearch",
    "csa": "mipclass.methods.csa:CombinatorialSwaps",
    "sla": "mipclass.methods.sla:SmoothApproximation",
    "local": "mipclass.methods.local:LocalSearch",
}

AUTO_METHODS = ("exact", "slp", "outlier-path", "gilbert", "rgd-tree", "lbfgs", "fista", "topk")
"""Methods that solver="auto" prefers, in this order, for the models that they accept."""


@cache
def _third_party(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=group)}


def _load(where: str) -> Any:
    module, _, attribute = where.partition(":")
    return getattr(import_module(module), attribute)


def backend_names() -> list[str]:
    return [*BACKENDS, *_third_party("mipclass.backends")]


def family_members(family: str) -> list[str]:
    """cvxpy:CLARABEL, cvxpy:SCS, ... for the solvers that the family finds installed."""
    found: Family = _load(FAMILIES[family])()
    return [f"{family}:{member}" for member in found.members()] if found.is_installed() else []


def method_names() -> list[str]:
    return [*METHODS, *_third_party("mipclass.methods")]


def find(name: str) -> Backend | Method:
    """The solver of that name; a clear error when it is unknown or not installed."""
    if not isinstance(name, str):
        raise SolverNotFoundError(f"solver must be a name such as 'highs'; got {type(name).__name__}.")
    if name in METHODS:
        method: Method = _load(METHODS[name])()
        return method
    if name in BACKENDS:
        backend: Backend = _load(BACKENDS[name])()
        return _installed(name, backend)
    family, colon, member = name.partition(":")
    if colon and family in FAMILIES:
        package: Family = _load(FAMILIES[family])()
        return _installed(name, package).member(member)
    for group in ("mipclass.backends", "mipclass.methods"):
        if name in _third_party(group):
            other: Backend | Method = _third_party(group)[name].load()()
            return other
    known = [*backend_names(), *(f"{prefix}:NAME" for prefix in FAMILIES), *method_names()]
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise SolverNotFoundError(f"there is no solver {name!r}.{hint} Known: {', '.join(known)}; see mipclass.solvers().")


def _installed(name: str, backend: T) -> T:
    if backend.is_installed():
        return backend
    how = f"pip install 'mipclass[{backend.extra}]'" if backend.extra else f"pip install {backend.distribution}"
    ready = ", ".join(other for other in BACKENDS if _load(BACKENDS[other]).is_installed())
    raise SolverNotFoundError(f"solver {name!r} is not installed; {how}. Installed now: {ready}.")
