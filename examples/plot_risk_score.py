"""A risk score for breast cancer: four lines of whole points, proven to have the least logistic loss of all such cards."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd
from sklearn.datasets import load_breast_cancer

from mipclass import RiskScoreClassifier
from mipclass.plots import ScoreCardDisplay
from mipclass.plots.style import styled

COLUMNS = ["worst radius", "worst texture", "worst concave points", "mean texture", "worst smoothness"]


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    data = load_breast_cancer(as_frame=True)
    X: pd.DataFrame = data.data[COLUMNS]
    is_malignant = 1 - data.target
    card = RiskScoreClassifier(max_features=4, points=3, thresholds=2, time_limit=60.0).fit(X, is_malignant)
    print(card.card_)
    print(f"logistic loss {card.loss_:.3f}, bound {card.bound_:.3f} ({card.result_.claim})")
    display = ScoreCardDisplay(card.card(positive="malignant")).plot()
    display.figure_.suptitle(f"Risk of malignancy: {card.result_.claim} least logistic loss, {card.loss_:.1f}")
    if path is not None:
        display.figure_.savefig(path)
    return display.figure_


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "risk_score.png")
