"""The course of a solve as an inline SVG picture: incumbent and bound over time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 440, 150
"""Size of the picture in CSS pixels."""
LEFT, RIGHT, TOP, BOTTOM = 62, 92, 10, 30
"""Room around the curves for the numbers, and on the right for the names of the curves."""
INCUMBENT, BOUND = "#1f5f9e", "#b3541e"
"""Colours of the two curves."""
NAME_HEIGHT = 13.0
"""Least distance in pixels between the names of the two curves."""

Point = tuple[float, float | None, float | None]


def has_news(trace: Sequence[Point]) -> bool:
    """Whether objective or bound moved while the solve went on: a picture of one level would tell nothing."""
    return any(
        len({point[k] for point in trace if point[k] is not None and abs(float(point[k] or 0.0)) != float("inf")}) > 1
        for k in (1, 2)
    )


def trace_picture(trace: Sequence[Point]) -> str:
    """(seconds, objective, bound) as an `svg` element; empty when there is no news."""
    if not has_news(trace):
        return ""
    curves = {name: _finite(trace, k) for name, k in (("incumbent", 1), ("bound", 2))}
    heights = [height for curve in curves.values() for _, height in curve]
    end, low, high = max(point[0] for point in trace), min(heights), max(heights)

    def place(seconds: float, height: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * seconds / (end or 1.0)
        y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (height - low) / ((high - low) or 1.0)
        return x, y

    parts = [_axes(low, high, end)]
    ends = {name: place(*curve[-1])[1] for name, curve in curves.items() if curve}
    if len(ends) == 2 and abs(ends["incumbent"] - ends["bound"]) < NAME_HEIGHT:
        middle = 0.5 * (ends["incumbent"] + ends["bound"])
        ends = {"incumbent": middle - NAME_HEIGHT / 2, "bound": middle + NAME_HEIGHT / 2}
    for name, curve in curves.items():
        if curve:
            colour, dashes = (INCUMBENT, "") if name == "incumbent" else (BOUND, ' stroke-dasharray="5 3"')
            steps = _steps([place(*point) for point in [*curve, (end, curve[-1][1])]])
            parts.append(f'<path d="{steps}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes}/>')
            parts.append(f'<text x="{WIDTH - RIGHT + 6}" y="{ends[name] + 4:.1f}" fill="{colour}">{name}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'style="max-width:100%;height:auto" font-family="sans-serif" font-size="11" fill="currentColor" role="img" '
        f'aria-label="incumbent and bound over seconds">{"".join(parts)}</svg>'
    )


def _finite(trace: Sequence[Point], k: int) -> list[tuple[float, float]]:
    """(seconds, value) where the value is there and finite."""
    return [(p[0], float(p[k] or 0.0)) for p in trace if p[k] is not None and abs(float(p[k] or 0.0)) != float("inf")]


def _steps(points: Sequence[tuple[float, float]]) -> str:
    """A path that keeps each level until the next point."""
    first, *others = points
    return f"M{first[0]:.1f} {first[1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in others)


def _axes(low: float, high: float, end: float) -> str:
    """The two axes with the numbers at their ends."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    line = f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="currentColor" opacity=".45"/>'
    labels = [
        (LEFT - 6, TOP + 6, "end", f"{high:.3g}"),
        (LEFT - 6, bottom, "end", f"{low:.3g}"),
        (LEFT, bottom + 14, "middle", "0"),
        (right, bottom + 14, "middle", f"{end:.3g} s"),
        ((LEFT + right) / 2, bottom + 26, "middle", "seconds"),
    ]
    words = "".join(f'<text x="{x:g}" y="{y:g}" text-anchor="{a}">{escape(t)}</text>' for x, y, a, t in labels)
    objective = (
        f'<text transform="translate(12 {(TOP + bottom) / 2:g}) rotate(-90)" text-anchor="middle">objective</text>'
    )
    return line + words + objective
