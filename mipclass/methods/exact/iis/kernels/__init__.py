"""Compiled loops of the search over infeasible subsystems."""
