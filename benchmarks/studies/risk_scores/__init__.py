"""Risk scores: whole points with the logistic loss, and logistic regression."""
