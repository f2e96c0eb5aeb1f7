"""What a pass over the sets of features asks for, and which sets it has closed."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from .reach import Reach
from .support import SupportAnswer
from .supports import SupportSets


@dataclass(eq=False)
class Covering:
    """One pass. `reached`: what every rule is to cost, a share of the incumbent's cost, which falls with it; None without an incumbent.
    `used`: the sets whose proofs close all others.     `values`: what each of them says about the whole problem."""

    share: Fraction
    reached: Fraction | None
    used: dict[int, SupportAnswer] = field(default_factory=dict)
    values: list[Fraction] = field(default_factory=list)

    def lower(self, best: Fraction | None) -> None:
        """Ask for no more than the share of this cost."""
        if best is not None and (self.reached is None or self.share * best < self.reached):
            self.reached = self.share * best

    def bound(self) -> Fraction:
        """What the closed sets prove together."""
        return min(self.values if self.reached is None else [*self.values, self.reached])


@dataclass(eq=False)
class Level:
    """The sets of one size in a pass, whose features cost `paid`."""

    covering: Covering
    supports: SupportSets
    reach: Reach
    paid: Fraction

    @property
    def goal(self) -> Fraction | None:
        """What the errors of a rule over such a set are to cost; None asks for the optimum of each set."""
        return None if self.covering.reached is None else self.covering.reached - self.paid

    @property
    def is_paid(self) -> bool:
        """Whether the features alone cost what is asked for."""
        return self.goal is not None and self.goal <= 0

    def close(self, mask: int, found: SupportAnswer) -> None:
        """Close all sets inside the given one, for which enough is proven. A set without rules says as much as is asked for."""
        value, reached = found.bound + self.paid, self.covering.reached
        self.covering.used[mask] = found
        self.covering.values.append(max(value, reached) if found.is_impossible and reached is not None else value)
        self.supports.close(mask)
