"""Studies that belong to no single paper: general solvers, building and writing models."""
