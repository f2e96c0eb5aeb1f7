"""The figures of Astorino & Gaudioso (2002), tables 1 and 2, as printed."""

from __future__ import annotations

# Table 1: testing correctness quoted from the paper (training correctness and LPs of its own method).
PAPER_TEST = {
    "WBCD": {"RLP": 97.21, "HMM": 97.36, "PMM": 96.47, "SVM": 97.20, "GTO": 95.70, "GTO/SVM": 96.60, "2-poly": 96.92},
    "Heart": {"RLP": 83.51, "HMM": 82.84, "PMM": 82.16, "SVM": 81.50, "GTO": 82.50, "GTO/SVM": 82.50, "2-poly": 83.77},
    "Liver": {"RLP": 66.93, "HMM": 66.64, "PMM": 68.37, "SVM": 60.60, "GTO": 68.10, "GTO/SVM": 68.70, "2-poly": 69.95},
    "Diabetes": {
        "RLP": 76.00,
        "HMM": 75.89,
        "PMM": 76.67,
        "SVM": 77.60,
        "GTO": 76.80,
        "GTO/SVM": 76.80,
        "2-poly": 75.53,
    },
    "Votes": {"RLP": 95.63, "HMM": 95.62, "PMM": 94.01, "SVM": 92.60, "GTO": 92.40, "GTO/SVM": 94.00, "2-poly": 94.43},
    "WBCP": {"RLP": 57.76, "2-poly": 61.35},
}
PAPER_TRAIN = {"WBCD": 98.40, "Heart": 88.33, "Liver": 74.66, "Diabetes": 76.48, "Votes": 98.37, "WBCP": 81.69}
# RLP's training correctness, quoted by the paper from others (WBCP: its own linear separation).
PAPER_TRAIN_RLP = {"WBCD": 97.73, "Heart": 84.47, "Liver": 68.99, "Diabetes": 76.77, "Votes": 97.45, "WBCP": 70.57}
PAPER_LPS = {"WBCD": 26, "Heart": 10, "Liver": 11, "Diabetes": 23, "Votes": 16, "WBCP": 23}
PAPER_KIDNEY = {"linear": (64.8, 60.6), "4-polyhedral": (73.6, 71.8)}
