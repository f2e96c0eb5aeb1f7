"""The papers' tables and figures, and comparisons with peers: `harness` measures, `peers` are compared, `studies` compare."""
