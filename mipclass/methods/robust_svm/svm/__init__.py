"""The plain SVM at the start of an outlier path: coordinate descent, interior point, working sets, and the exact end by a homotopy."""
