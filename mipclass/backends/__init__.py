"""One solver a file; features declared; status by a literal table."""
