"""One algorithm a file; each matches the models it was made for and says why when it refuses."""
