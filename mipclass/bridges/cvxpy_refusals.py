"""What a Program cannot hold of a cvxpy Problem, found before CVXPY rewrites it, with the name of the atom at fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InvalidInputError, UnsupportedProgramError

CONES = ("PSD", "NSD", "hermitian", "complex", "imag")
"""Attributes of a variable that need a cone or complex numbers."""
REDUCED = ("symmetric", "diag", "sparsity")
"""Attributes of a variable that leave it fewer free entries than its shape has."""
LINEAR_CONSTRAINTS = ("Equality", "Zero", "Inequality", "NonPos", "NonNeg", "FiniteSet")
"""Classes of cvxpy constraints that can become rows; FiniteSet does with the help of binaries."""
SHOWN = 80
"""Most characters of an expression that a message quotes."""


def check(problem: Any) -> None:
    """Refuse a problem without variables or values of parameters, and one that is not linear, quadratic or mixed-integer."""
    if not problem.variables():
        raise InvalidInputError("the cvxpy problem has no variables; there is nothing to solve.")
    for parameter in problem.parameters():
        if parameter.value is None:
            raise InvalidInputError(f"cvxpy parameter {parameter.name()!r} has no value; set it before solving.")
    for variable in problem.variables():
        _check_attributes(variable)
    for leaf in (*problem.parameters(), *problem.constants()):
        if leaf.is_complex():
            raise UnsupportedProgramError(
                f"the cvxpy problem holds the complex constant or parameter {_short(leaf)}; a Program holds real numbers. "
                f"Write real and imaginary parts out, or solve the problem with cvxpy itself."
            )
    if not problem.is_dcp():
        raise UnsupportedProgramError(
            f"the cvxpy problem is not convex in cvxpy's sense (problem.is_dcp() is False): {_not_convex(problem)}. "
            f"Rewrite it, or solve it with cvxpy itself."
        )
    for constraint in problem.constraints:
        if type(constraint).__name__ not in LINEAR_CONSTRAINTS:
            raise UnsupportedProgramError(beyond_qp(problem))


def _check_attributes(variable: Any) -> None:
    said = variable.attributes
    for attribute in CONES:
        if said.get(attribute):
            raise UnsupportedProgramError(
                f"cvxpy variable {variable.name()!r} is {attribute}, which a Program cannot hold; declare it without, "
                f"or solve the problem with cvxpy itself."
            )
    listed = [kind for kind in ("boolean", "integer") if said[kind] and said[kind] is not True]
    reduced = [kind for kind in REDUCED if said.get(kind)]
    if listed and reduced:
        raise UnsupportedProgramError(
            f"cvxpy variable {variable.name()!r} is {reduced[0]} and {listed[0]} in some entries, whose places cvxpy counts in the "
            f"reduced variable; declare the {listed[0]} entries as a variable of their own."
        )


def beyond_qp(problem: Any) -> str:
    """The message for a problem that needs cones, with the names of the constraints and atoms that need them."""
    names = [
        type(constraint).__name__
        for constraint in problem.constraints
        if type(constraint).__name__ not in LINEAR_CONSTRAINTS
    ]
    for constraint in problem.constraints:
        for argument in constraint.args:
            names += _deepest(argument, lambda e: e.is_affine() or e.is_pwl())
    names += _deepest(problem.objective.args[0], lambda e: e.is_affine() or e.is_qpwa())
    culprits = ", ".join(dict.fromkeys(names)) or "an atom that cvxpy rewrites with cones"
    return (
        f"the cvxpy problem is not a linear, quadratic or mixed-integer program (problem.is_qp() is False) because of {culprits}: "
        f"it needs cones that a Program does not have. Solve it with cvxpy itself."
    )


def _not_convex(problem: Any) -> str:
    """What breaks the rules of convexity: atoms where they are to blame, else the whole objective or constraint."""
    for part in (problem.objective, *problem.constraints):
        if part.is_dcp():
            continue
        names = [name for argument in part.args for name in _deepest(argument, lambda e: e.is_dcp())]
        culprit = ", ".join(dict.fromkeys(names)) or f"{type(part).__name__} of {type(part.args[0]).__name__}"
        return f"{culprit} in {_short(part)}"
    return "its parts do not go together"


def _deepest(expression: Any, accepts: Callable[[Any], bool]) -> list[str]:
    """Names of the atoms that are not accepted although all their arguments are."""
    if accepts(expression):
        return []
    below = [name for argument in expression.args for name in _deepest(argument, accepts)]
    return below or [type(expression).__name__]


def _short(part: Any) -> str:
    text = " ".join(str(part).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."
