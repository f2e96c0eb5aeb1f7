"""The Outlier Path for robust SVM (Suzumura et al. 2014) and the concave-convex procedure."""
