"""scikit-learn estimators, one file each."""
