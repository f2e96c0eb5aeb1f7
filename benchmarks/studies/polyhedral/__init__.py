"""Astorino & Gaudioso (2002), polyhedral separation: tables and speed."""
