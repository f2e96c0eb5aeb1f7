r"""From the LaTeX of formulas to MathML, which browsers typeset without a script.

The part of LaTeX that formulas of models use: letters, numbers, operators, sub- and superscripts, groups, \text, \mathrm, sums,
norms, Greek letters and named functions. What else there is makes `mathml` return None, and the caller shows plain text.
"""

from __future__ import annotations

import re
from html import escape

SYMBOLS = {
    "le": ("mo", "≤"),
    "ge": ("mo", "≥"),
    "cdot": ("mo", "⋅"),
    "in": ("mo", "∈"),
    "lVert": ("mo", "‖"),
    "rVert": ("mo", "‖"),
    "log": ("mi", "log"),
    "exp": ("mi", "exp"),
    "max": ("mo", "max"),
    "min": ("mo", "min"),
    "theta": ("mi", "θ"),
    "lambda": ("mi", "λ"),
    "mu": ("mi", "μ"),
    "tau": ("mi", "τ"),
    "ell": ("mi", "ℓ"),
    "sum": ("mo", "∑"),
}
"""Command -> element and character."""
SPACES = {",": "0.17em", ";": "0.28em", " ": "0.28em", "quad": "1em"}
"""Command -> width of the space that it makes."""
OPENING, LARGE = ("", "(", "[", "=", ",", ";", "<", ">"), ("∑", ">min<", ">max<")
"""What a minus sign may follow as a sign of a number, and what has its scripts below and above."""
_TOKEN = re.compile(r"\\([A-Za-z]+|.)|(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(\s+)|(.)", re.DOTALL)
_GROUP = re.compile(r"\{((?:[^{}\\]|\\.)*)\}", re.DOTALL)


class _UnknownError(Exception):
    """A command or a structure that is not among those above."""


def mathml(latex: str) -> str | None:
    """The formula as a `math` element in display style; None when it holds LaTeX that is not known here."""
    try:
        inner, end = _row(latex, 0)
    except _UnknownError:
        return None
    return f'<math display="inline" displaystyle="true">{inner}</math>' if end == len(latex) else None


def _row(latex: str, at: int) -> tuple[str, int]:
    """The elements up to the end or a closing brace, and the place where that is."""
    parts: list[str] = []
    while at < len(latex) and latex[at] != "}":
        is_sign = latex[at] == "-" and latex[:at].rstrip()[-1:] in OPENING
        base, at = _element(latex, at)
        base = base.replace("<mo", '<mo form="prefix"', 1) if is_sign else base
        under, over = "", ""
        while at < len(latex) and latex[at] in "_^":
            mark = latex[at]
            script, at = _element(latex, at + 1)
            if (under if mark == "_" else over) or not script:
                raise _UnknownError
            under, over = (script, over) if mark == "_" else (under, script)
        if base or under or over:
            parts.append(_scripted(base, under, over))
    return f"<mrow>{''.join(parts)}</mrow>", at


def _element(latex: str, at: int) -> tuple[str, int]:
    """One atom or group, and the place after it; nothing for white space."""
    if latex[at : at + 1] == "{":
        inner, end = _row(latex, at + 1)
        if latex[end : end + 1] != "}":
            raise _UnknownError
        return inner, end + 1
    found = _TOKEN.match(latex, at)
    if found is None:
        raise _UnknownError
    command, number, space, other = found.groups()
    if command in ("text", "mathrm"):
        words = _GROUP.match(latex, found.end())
        if words is None:
            raise _UnknownError
        plain = re.sub(r"\\(.)", r"\1", words[1])
        return f"<mtext>{escape(plain)}</mtext>", words.end()
    if command in SPACES:
        return f'<mspace width="{SPACES[command]}"></mspace>', found.end()
    if command is not None:
        if command not in SYMBOLS:
            raise _UnknownError
        element, character = SYMBOLS[command]
        if command in ("lVert", "rVert"):
            return f'<mo stretchy="false">{character}</mo>', found.end()
        return f"<{element}>{character}</{element}>", found.end()
    if number is not None:
        return f"<mn>{number}</mn>", found.end()
    if space is not None:
        return "", found.end()
    if other.isalpha():
        return f"<mi>{escape(other)}</mi>", found.end()
    if other in "()[]|":
        return f'<mo stretchy="false">{other}</mo>', found.end()
    return f"<mo>{'−' if other == '-' else escape(other)}</mo>", found.end()


def _scripted(base: str, under: str, over: str) -> str:
    """The base with its scripts; those of a sum stand below and above it."""
    below, above, both = (
        ("munder", "mover", "munderover") if any(mark in base for mark in LARGE) else ("msub", "msup", "msubsup")
    )
    base = base or "<mrow></mrow>"
    if under and over:
        return f"<{both}>{base}{under}{over}</{both}>"
    if under:
        return f"<{below}>{base}{under}</{below}>"
    return f"<{above}>{base}{over}</{above}>" if over else base
