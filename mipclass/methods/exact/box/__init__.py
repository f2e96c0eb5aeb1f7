"""Branch and bound over boxes of rules."""
