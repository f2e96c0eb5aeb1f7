"""slp: polyhedral separation by successive linear programs (Astorino & Gaudioso 2002), as a method of the driver."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...backends.base import Backend
from ...backends.registry import backend_for
from ...errors import InvalidInputError
from ...modelling.problem import Problem
from ...modelling.program import Feature
from ...protocol.options import Option, Options, number, one_of, optional
from ...protocol.result import Outcome, Status, Values
from ...protocol.run import Run
from ..base import Method, Refusal
from .form import PolyhedralForm, match_polyhedral
from .search import Separation, separate, separate_as_printed

_OWN_LPS = ("auto", "highs", "interior-point")
"""Values of the option `lp` that name the method's own solvers of its LPs; any other one names a backend."""


class SuccessiveLP(Method[PolyhedralForm]):
    """AverageViolation, optionally with L1, over a Polyhedron (or the hyperplane of `rlp`), without side constraints.

    One hyperplane is one LP and the answer is proven. More are searched for; the claim is "proven" when f reaches 0,
    "local" when Theorem 4.1's condition was verified over all tied assignments, else "heuristic". The bound is 0, the
    least value that f can have, unless there is one hyperplane or `nodes` asks for a branch and bound, which needs no
    big-M and no box and whose answer is "proven" if it ends within its limits.
    """

    name: ClassVar[str] = "slp"
    promise: ClassVar[str] = "local: local minimum of the error function; proven for one hyperplane or zero error"
    options: ClassVar[Options] = {
        "variant": Option(
            "majorise",
            "'majorise': majorise-minimise with iterated local search; 'paper': Algorithm 4.1, corrected",
            one_of("majorise", "paper"),
        ),
        "rounds": Option(
            None,
            "disturbances of the iterated local search; None is 20, up to 200 on small data, fewer with hundreds of features",
            optional(number(0, integer=True)),
        ),
        "lp": Option(
            "auto",
            "who solves the LPs: 'highs' (warm dual simplex), 'interior-point', 'auto' (by size), or a backend's name",
            lambda value: None if isinstance(value, str) else "a name",
        ),
        "combinations": Option(64, "most tied assignments tried at a stationary point", number(1, integer=True)),
        "nodes": Option(
            0, "most nodes of a branch and bound that proves the optimum after the search", number(0, integer=True)
        ),
        "eps": Option(1e-3, "variant 'paper': eps_A, eps_B and the escape's threshold", number(0)),
        "sigma": Option(1e-3, "variant 'paper': the least predicted decrease that is worth a step", number(0)),
    }

    def match(self, problem: Problem) -> PolyhedralForm | Refusal:
        """The problem as two point sets and h hyperplanes."""
        return match_polyhedral(problem)

    def solve(self, form: PolyhedralForm, run: Run) -> Outcome:
        """Search for hyperplanes of least f; h = 1 is one LP."""
        sets, h, options = form.sets, form.h, run.options
        start = _start(run.warm_start, h, sets.A.shape[1])
        backend = None if options["lp"] in _OWN_LPS else _backend(options["lp"])
        if options["variant"] == "paper":
            found = separate_as_printed(
                sets,
                h,
                run,
                backend or _backend("highs"),
                eps=options["eps"],
                sigma=options["sigma"],
                combinations=options["combinations"],
                start=start,
            )
        else:
            found = separate(
                sets,
                h,
                run,
                rounds=options["rounds"],
                lp=options["lp"],
                backend=backend,
                combinations=options["combinations"],
                nodes=options["nodes"],
                start=start,
            )
        return _outcome(form, found)


def _backend(name: str) -> Backend:
    return backend_for(name, Feature.LP, option="lp")


def _start(warm_start: Values | None, h: int, width: int) -> Array | None:
    """Hyperplanes (v_j, g_j), or the (w, b) of a linear rule, as a first iterate."""
    if warm_start is None:
        return None
    if "v" in warm_start and "g" in warm_start:
        v, g = np.atleast_2d(warm_start["v"]), np.ravel(warm_start["g"])
    elif h == 1 and "w" in warm_start:
        v, g = -np.atleast_2d(warm_start["w"]), np.ravel(warm_start.get("b", np.zeros(1)))
    else:
        return None
    if v.shape != (h, width - 1) or g.shape != (h,):
        raise InvalidInputError(
            f"warm_start has hyperplanes of shape {v.shape} and {g.shape}; this model needs {(h, width - 1)} and {(h,)}."
        )
    return np.ascontiguousarray(np.column_stack([v, g]))


def _outcome(form: PolyhedralForm, found: Separation) -> Outcome:
    words = {
        "proven": "optimal",
        "local": "local minimum (Theorem 4.1 holds)",
        "heuristic": "no better hyperplanes found",
    }
    return Outcome(
        status=found.status,
        claim=found.claim,
        values=form.values(found.planes),
        objective=found.value,
        bound=found.bound,
        nodes=found.nodes,
        iterations=found.lps,
        raw_status=words[found.claim]
        if found.status in (Status.OPTIMAL, Status.ITERATION_LIMIT)
        else str(found.status),
        extra=found.extra,
    )
