"""Branch and bound over yes/no decisions with exchangeable rules: `Rules` says how, `search` runs it."""

from .rules import FREE, Incumbent, Rules
from .search import Explored, search

__all__ = ["FREE", "Explored", "Incumbent", "Rules", "search"]
