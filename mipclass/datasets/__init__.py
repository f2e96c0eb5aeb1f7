"""The data sets of the papers (load), their synthetic problems and their label noise."""

from .loaders import FACTS, Dataset, Facts, available, load, names
from .synthetic import (
    OutlierProblem,
    Split,
    add_range_noise,
    astorino_gaudioso,
    ding_xu,
    flip_labels,
    nguyen_sanner,
    split_with_flips,
)

__all__ = [
    "FACTS",
    "Dataset",
    "Facts",
    "OutlierProblem",
    "Split",
    "add_range_noise",
    "astorino_gaudioso",
    "available",
    "ding_xu",
    "flip_labels",
    "load",
    "names",
    "nguyen_sanner",
    "split_with_flips",
]
