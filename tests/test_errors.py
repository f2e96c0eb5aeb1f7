"""Errors are importable from the top; warnings point at the line of the caller, however deep inside the package they are issued."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import pkgutil
import warnings

import numpy as np

import mipclass
from mipclass import models, solve
from mipclass.errors import MipclassError, MipclassWarning, ReadError
from tests.paths import ROOT


def test_a_warning_names_the_file_of_the_caller():
    X, y = np.array([[-1.0], [1.0], [0.0], [0.0]]), np.array([0, 0, 1, 1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MipclassWarning)
        for solver in ("auto", "lbfgs"):
            assert solve(models.tau_fpl(X, y, tau=0.9, R=1.0), solver).extra["collapsed"]
    assert [warning.filename for warning in caught if warning.category is MipclassWarning] == [__file__] * 2


def _children(kind: type) -> set[type]:
    return {kind}.union(*(_children(child) for child in kind.__subclasses__()))


def test_every_error_of_the_package_is_importable_from_the_top() -> None:
    for module in pkgutil.walk_packages(mipclass.__path__, "mipclass."):
        if "kernel" not in module.name and not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # a module that needs an optional solver
                importlib.import_module(module.name)
    found = {kind for kind in _children(MipclassError) if kind.__module__.startswith("mipclass.")}
    assert {kind.__name__ for kind in found} >= {"ReadError", "HighsError", "OptionError"}
    for kind in found | {MipclassWarning}:
        assert getattr(mipclass, kind.__name__) is kind
        assert kind.__name__ in mipclass.__all__
        assert f"`mipclass.{kind.__name__}`" in (ROOT / "docs" / "api.md").read_text()


def test_a_read_error_knows_its_line_also_after_pickling() -> None:
    error = pickle.loads(pickle.dumps(ReadError("no number", 7)))
    assert (str(error), error.line) == ("line 7: no number", 7)
    assert ReadError("no file").line is None
