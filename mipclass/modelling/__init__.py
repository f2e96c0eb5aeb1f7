"""From X, y to a Program and back: data, points, expressions, the algebra of terms and constraints, Model."""
