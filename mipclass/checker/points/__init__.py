"""The points that a certificate speaks of: exact numbers, decided in float64 wherever rounding leaves no doubt."""
