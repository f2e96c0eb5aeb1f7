"""The errors and warnings of the package. Each error is a MipclassError and a ValueError, and can be caught as either."""

from __future__ import annotations


class MipclassError(Exception):
    """Base of every error that this package raises on purpose."""


class InvalidInputError(MipclassError, ValueError):
    """Data or a parameter is not acceptable; the message says what was given, what is allowed and what to do."""


class UnsupportedProgramError(MipclassError, ValueError):
    """The chosen solver can never solve a problem of this kind; the message names solvers that can."""


class SolverNotFoundError(MipclassError, ValueError):
    """The chosen solver is unknown, or known but not installed."""


class OptionError(MipclassError, ValueError):
    """A solver option is unknown or has a value outside its range."""


class ReadError(MipclassError, ValueError):
    """A file does not have the format that its name or header states."""


class MipclassWarning(UserWarning):
    """A result is returned, but with a limitation that the user should know."""
