"""Tests; the folders mirror mipclass/."""
