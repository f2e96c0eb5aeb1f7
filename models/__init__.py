"""What is solved: rules, losses, penalties, constraints, and one file for each paper's model."""
