"""Generic branch and bound driven by rules (bound, propagate, branch, separate, incumbent)."""
