"""Suzumura et al. (2014), robust SVM by the outlier path: tables and speed."""
