"""Displays in the manner of scikit-learn: `from_estimator(...)`, `plot(ax=...)`, then `ax_` and `figure_`; one per file.

matplotlib is imported when something is drawn. Nothing here calls `show`.
"""

from .decision_region import DecisionRegionDisplay
from .gap_trace import GapTraceDisplay
from .np_roc import NPRocDisplay
from .outlier_path import OutlierPathDisplay
from .rgd_tree import RGDTreeDisplay
from .score_card import ScoreCardDisplay
from .search_tree import SearchTreeDisplay

__all__ = [
    "DecisionRegionDisplay",
    "GapTraceDisplay",
    "NPRocDisplay",
    "OutlierPathDisplay",
    "RGDTreeDisplay",
    "ScoreCardDisplay",
    "SearchTreeDisplay",
]
