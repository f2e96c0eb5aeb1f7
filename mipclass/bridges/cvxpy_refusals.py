"""What a Program cannot hold of a cvxpy Problem, found before CVXPY rewrites it, with the name of the atom at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import InvalidInputError, UnsupportedProgramError

CONES = ("PSD", "NSD", "hermitian", "complex", "imag")
"""Attributes of a variable that need a cone or complex numbers."""
REDUCED = ("symmetric", "diag", "sparsity")
"""Attributes of a variable that leave it fewer free entries than its shape has."""
LINEAR_CONSTRAINTS = ("Equality", "Zero", "Inequality", "NonPos", "NonNeg", "FiniteSet")
"""Classes of cvxpy constraints that can become rows; FiniteSet does with the help of binaries."""
CLOSED = ("PartialProblem", "SuppFuncAtom", "indicator", "perspective")
"""Classes of atoms that hold problems, constraints or variables of their own, which cannot be exchanged for others."""
SHOWN = 80
"""Most characters of an expression that a message quotes."""


def check(problem: Any) -> None:
    """Refuse a problem without variables or values of parameters, and one that is not linear, quadratic or mixed-integer."""
    import cvxpy

    if not isinstance(problem, cvxpy.Problem):
        raise InvalidInputError(
            f"a cvxpy Problem is needed; got a {type(problem).__name__}. Wrap it: cvxpy.Problem(cvxpy.Minimize(...))."
        )
    if not problem.variables():
        raise InvalidInputError("the cvxpy problem has no variables; there is nothing to solve.")
    for parameter in problem.parameters():
        if parameter.value is None:
            raise InvalidInputError(f"cvxpy parameter {parameter.name()!r} has no value; set it before solving.")
    for variable in problem.variables():
        _check_attributes(variable)
    _check_tree(problem)
    if not problem.is_dcp():
        raise UnsupportedProgramError(
            f"the cvxpy problem is not convex in cvxpy's sense (problem.is_dcp() is False): {_not_convex(problem)}. "
            f"Rewrite it, or solve it with cvxpy itself."
        )
    for constraint in problem.constraints:
        if type(constraint).__name__ not in LINEAR_CONSTRAINTS:
            raise UnsupportedProgramError(beyond_qp(problem))


def nodes(problem: Any) -> Iterator[Any]:
    """Every expression of the objective and the constraints, leaves included; the same one more than once where it is used so."""
    todo = [argument for part in (problem.objective, *problem.constraints) for argument in part.args]
    while todo:
        node = todo.pop()
        yield node
        todo += node.args


def _check_tree(problem: Any) -> None:
    """Refuse atoms that hold problems of their own, two variables of one identity, and complex numbers beside variables."""
    import cvxpy

    by_id: dict[int, Any] = {}
    for node in nodes(problem):
        if type(node).__name__ in CLOSED:
            raise UnsupportedProgramError(
                f"the cvxpy problem holds the atom {type(node).__name__}, whose own constraints and variables are out of reach; state "
                f"them in the problem itself, or solve it with cvxpy itself."
            )
        if isinstance(node, cvxpy.Variable) and by_id.setdefault(node.id, node) is not node:
            raise UnsupportedProgramError(
                f"two cvxpy variables share the id {node.id} ({node.name()!r}); use one of them throughout the problem."
            )
        if isinstance(node, cvxpy.Expression) and node.is_complex() and not node.is_constant():
            raise UnsupportedProgramError(
                f"the cvxpy problem holds the complex expression {_short(node)}; a Program holds real numbers. "
                f"Write real and imaginary parts out, or solve the problem with cvxpy itself."
            )


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
    culprits = ", ".join(dict.fromkeys(names or _cone_atoms(problem))) or "a part that cvxpy rewrites with cones"
    return (
        f"the cvxpy problem is not a linear, quadratic or mixed-integer program (problem.is_qp() is False) because of {culprits}: "
        f"it needs cones that a Program does not have. Solve it with cvxpy itself."
    )


def _cone_atoms(problem: Any) -> list[str]:
    """Names of the atoms that CVXPY's own tables list with a cone."""
    from cvxpy import atoms

    tables = (getattr(atoms, name, ()) for name in dir(atoms) if name.endswith("_ATOMS") and not name.startswith("GP_"))
    listed = {atom for table in tables for atom in table}
    return sorted(atom.__name__ for atom in set(problem.atoms()) if atom in listed)


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
