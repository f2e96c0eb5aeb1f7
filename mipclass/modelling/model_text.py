"""A Model in words, in LaTeX and as an HTML table with MathML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ..views.html import facts
from ..views.mathml import mathml

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
    """The lines of `plain_text` as a table of two columns, with the formulas typeset in MathML."""
    positive = escape(str(model.classes[1]))
    score = _typeset(f"f(x) = {model.rule.latex()}", f"score = {model.rule.formula()}")
    lines = [
        ("minimise", _typeset(model.objective.latex(), model.objective.formula())),
        ("with", f"{score}, positive class <b>{positive}</b> when {_typeset('f(x) > 0', 'score > 0')}"),
    ]
    for k, constraint in enumerate(model.constraints):
        lines.append(("subject to" if k == 0 else "", _typeset(constraint.latex(), constraint.formula())))
    lines.append(("data", plain_text(model).splitlines()[-1][LEAD:]))
    return facts(lines)


def _typeset(latex: str, formula: str) -> str:
    """The formula in MathML, or in plain text where its LaTeX is beyond `mathml`."""
    return mathml(latex) or escape(formula)
