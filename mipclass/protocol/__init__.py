"""What a caller, a problem and a solver exchange: options, the run with its limits, outcome and result."""
