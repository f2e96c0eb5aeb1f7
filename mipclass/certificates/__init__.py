"""What a proof looks like on disk."""
