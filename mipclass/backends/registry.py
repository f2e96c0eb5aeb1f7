"""Tables of strings: which backend name lives where. Nothing is imported until it is asked for.

Third parties add a backend without touching this file, by an entry point in the group `mipclass.backends` whose name is the
solver's name.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import OptionError, SolverNotFoundError
from ..modelling.program import Feature

if TYPE_CHECKING:
    from .base import Backend, Family

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


@cache
def entry_points_of(group: str) -> dict[str, EntryPoint]:
    """Entry points that installed packages offer in a group, by name."""
    return {entry.name: entry for entry in entry_points(group=group)}


def load(where: str) -> Any:
    """The object at "package.module:name"."""
    module, _, attribute = where.partition(":")
    return getattr(import_module(module), attribute)


def backend_names() -> list[str]:
    """Names of all single backends; members of families are listed by `family_members`."""
    return [*BACKENDS, *entry_points_of("mipclass.backends")]


def family_members(family: str) -> list[str]:
    """cvxpy:CLARABEL, cvxpy:SCS, ... for the solvers that the family finds installed."""
    found: Family = load(FAMILIES[family])()
    return [f"{family}:{member}" for member in found.members()] if found.is_installed() else []


def is_backend(name: str) -> bool:
    """Whether the name is a backend's, installed or not."""
    family, colon, _ = name.partition(":")
    return name in BACKENDS or bool(colon and family in FAMILIES) or name in entry_points_of("mipclass.backends")


def find_backend(name: str) -> Backend:
    """The backend of that name; a clear error when it is unknown or not installed."""
    if name in BACKENDS:
        backend: Backend = load(BACKENDS[name])()
        return _installed(name, backend)
    family, colon, member = name.partition(":")
    if colon and family in FAMILIES:
        package: Family = load(FAMILIES[family])()
        return _installed(name, package).member(member)
    if name in entry_points_of("mipclass.backends"):
        other: Backend = entry_points_of("mipclass.backends")[name].load()()
        return other
    raise SolverNotFoundError(f"there is no backend {name!r}. Known: {', '.join(_known())}; see mipclass.solvers().")


def backend_for(name: str, needs: Feature, *, option: str) -> Backend:
    """The backend that an option of a method names for the LPs or QPs which the method itself poses."""
    if not is_backend(name):
        raise OptionError(
            f"option {option!r} must name a backend for {needs}s; there is no solver {name!r} of that kind. "
            f"Known: {', '.join(_known())}."
        )
    backend = find_backend(name)
    if needs not in backend.features:
        raise OptionError(
            f"option {option!r} must name a backend for {needs}s; got {name!r}, which takes {', '.join(sorted(backend.features))}."
        )
    return backend


def _known() -> list[str]:
    return [*backend_names(), *(f"{prefix}:NAME" for prefix in FAMILIES)]


def _installed(name: str, backend: T) -> T:
    if backend.is_installed():
        return backend
    how = f"pip install 'mipclass[{backend.extra}]'" if backend.extra else f"pip install {backend.distribution}"
    ready = ", ".join(other for other in BACKENDS if load(BACKENDS[other]).is_installed())
    raise SolverNotFoundError(f"solver {name!r} is not installed; {how}. Installed now: {ready}.")
