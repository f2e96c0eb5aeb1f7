"""One reformulation a file, forward and back together."""
