"""Nguyen & Sanner (2013), direct 0-1 loss: tables and figures, speed, proofs."""
