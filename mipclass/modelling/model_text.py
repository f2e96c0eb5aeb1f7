"""A Model in words, in LaTeX and as an HTML table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Model

LEAD = 12
"""Columns of text before the formulas: the width of "subject to" and two spaces."""


def plain_text(model: Model) -> str:
    """One line each for the objective, the rule, every constraint and the size of the data."""
    lines = [
        ("minimise", model.objective.formula()),
        ("with", f"score = {model.rule.formula()}, positive class {model.classes[1]} when score > 0"),
    ]
    lines += [("subject to" if k == 0 else "", c.formula()) for k, c in enumerate(model.constraints)]
    n_positive = int(model.data.positive.sum())
    lines.append(("data", f"{model.data.n} points ({n_positive} positive) x {model.data.d} features"))
    return "\n".join(f"{lead:<{LEAD}}{words}" for lead, words in lines)


def latex(model: Model) -> str:
    """An `aligned` block with the objective, the rule and the constraints."""
    lines = [rf"\min\quad & {model.objective.latex()}", rf"\text{{with}}\quad & f(x) = {model.rule.latex()}"]
    for k, constraint in enumerate(model.constraints):
        lead = r"\text{s.t.}" if k == 0 else ""
        lines.append(rf"{lead}\quad & {constraint.latex()}")
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def html(model: Model) -> str:
    """The lines of `plain_text` as a table of two columns."""
    lines = plain_text(model).splitlines()
    cells = (f"<tr><td>{escape(line[:LEAD].strip())}</td><td>{escape(line[LEAD:])}</td></tr>" for line in lines)
    return f"<table>{''.join(cells)}</table>"
