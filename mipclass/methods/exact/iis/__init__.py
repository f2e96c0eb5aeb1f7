"""Branch and cut over irreducible infeasible subsystems (IIS) of points."""
