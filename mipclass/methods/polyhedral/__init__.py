"""Polyhedral separation by successive linear programs (Astorino & Gaudioso 2002)."""
