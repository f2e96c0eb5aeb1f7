"""The 0-1 loss under the side constraints that `mipclass compare` is asked for: each alone, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass

from ..modelling.algebra import Constraint
from .commands import constraints_for


@dataclass(frozen=True)
class Composition:
    """A name for the table, the constraints, and the options that make `mipclass fit` take them."""

    name: str
    constraints: tuple[Constraint, ...]
    options: str


def compositions_for(fpr: float | None, max_features: int | None, integer: bool) -> list[Composition]:
    """What --fpr, --max-features and --integer ask for, one by one and, if there are several, together."""
    asked: list[tuple[str, str, tuple[float | None, int | None, bool]]] = []
    if fpr is not None:
        asked.append((f"FPR <= {fpr:g}", f"--fpr {fpr:g}", (fpr, None, False)))
    if max_features is not None:
        many = "1 feature" if max_features == 1 else f"{max_features} features"
        asked.append((many, f"--max-features {max_features}", (None, max_features, False)))
    if integer:
        asked.append(("whole weights", "--integer", (None, None, True)))
    if len(asked) > 1:
        names, options, _ = zip(*asked, strict=True)
        asked.append((", ".join(names), " ".join(options), (fpr, max_features, integer)))
    return [
        Composition(f"0-1 loss, {name}", tuple(constraints_for(*values)), options) for name, options, values in asked
    ]
