"""Ding & Xu (2015), SVM with outliers by the RGD-tree: tables and speed."""
