"""To and from Pyomo and CVXPY."""
