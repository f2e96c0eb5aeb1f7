"""The errors and warnings of the package. Each error is a MipclassError and a ValueError, and can be caught as either."""

from __future__ import annotations

import sys
import warnings


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
    """A file does not have the format that its name or header states; `line` is the line at fault where one is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class MipclassWarning(UserWarning):
    """A result is returned, but with a limitation that the user should know."""


def warn(message: str) -> None:
    """Issue a MipclassWarning at the caller's own line: the innermost frame outside this package."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, MipclassWarning, stacklevel=level)
