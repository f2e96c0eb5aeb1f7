"""Tests of the numerical building blocks that families share."""
