"""The command line and what it reads and writes: tables, saved models, comparisons, reports, reproduction."""
