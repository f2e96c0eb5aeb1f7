"""LP and MPS writers and readers."""
