"""Exact training with the hard-margin loss: |w|^2 against the number of points below their margin, proven over boxes of directions."""
