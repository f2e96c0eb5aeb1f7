"""The hard-margin loss, proven, on published instances."""
