"""SVM with outliers: Gilbert's algorithm and the RGD-tree (Ding & Xu 2015)."""
