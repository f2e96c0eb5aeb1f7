"""Compiled loops of the outlier path and of the SVM it starts from."""
