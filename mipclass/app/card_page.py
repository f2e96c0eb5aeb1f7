"""A fitted scorecard as one self-contained HTML page: the card, its picture, what is proven of it."""

from __future__ import annotations

from html import escape

from ..errors import InvalidInputError
from ..plots.score_card import ScoreCardDisplay
from .fitted_table import FittedTable
from .report import page, picture


def card_page(fitted: FittedTable, source: str) -> str:
    """The page's HTML; InvalidInputError when the classifier is no scorecard."""
    card = fitted.card()
    if card is None:
        raise InvalidInputError(
            "--report writes a scorecard; use --model risk-score, or --model zero-one with --integer."
        )
    result = fitted.estimator.result_
    bound = "no bound" if result.bound is None else f"no card within the limits has less than {result.bound:.6g}"
    proof = f"Objective {result.objective:.6g} ({result.claim}); {bound}."
    drawn = picture(
        ScoreCardDisplay(card).plot().figure_, "Points of each line; probability and observed fraction of each total."
    )
    return page(
        f"Scorecard for {fitted.target}", f"<p>Fitted to {escape(source)}. {escape(proof)}</p>{card.html()}{drawn}"
    )
