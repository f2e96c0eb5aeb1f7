"""Trees of boxes in a certificate: how they are written, and those that come in pieces."""
