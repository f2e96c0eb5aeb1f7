"""Logistic loss: Newton's method for the convex problem, branch and bound for scorecards, cutting planes for the rest."""
