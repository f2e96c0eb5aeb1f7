"""Questions about problems and answers: why infeasible, how wide, which threshold, which metric."""
