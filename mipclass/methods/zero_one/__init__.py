"""Direct 0-1 loss (Nguyen & Sanner 2013): branch and bound, point-based and smooth searches."""
