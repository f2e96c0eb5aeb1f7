"""One call for every problem and every solver: driver, policy behind "auto", table of solvers."""
