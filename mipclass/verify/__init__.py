"""The independent checker of certificates; it imports nothing of the search."""
