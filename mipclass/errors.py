"""Errors and warnings: each is ours and a builtin, so that both styles of `except` work."""

from __future__ import annotations


class MipclassError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidInputError(MipclassError, ValueError):
    """Data or a parameter is not acceptable; the message says what, got, allowed and what to do."""


class UnsupportedProgramError(MipclassError, ValueError):
    """The chosen solver can never solve a problem of this kind; the message names solvers that can."""


class SolverNotFoundError(MipclassError, ValueError):
    """The chosen solver is unknown, or known but not installed."""


class OptionError(MipclassError, ValueError):
    """A solver option is unknown or has a value outside its range."""


class ReadError(MipclassError, ValueError):
    """A file is not what its name or header promises."""


class MipclassWarning(UserWarning):
    """Something the user should know about a result that is nevertheless returned."""
