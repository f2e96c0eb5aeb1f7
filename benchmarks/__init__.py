"""One script for each table or figure of the papers and for each comparison with a peer, all on `harness`."""
