"""tau-FPL: ranking with limited false positives and its top-k simplex projection (Zhang et al. 2018)."""
