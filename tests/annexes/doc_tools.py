"""Scripts of docs/ as modules."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from tests.paths import ROOT


def tool(path: str) -> ModuleType:
    """The script at docs/`path`, imported."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), ROOT / "docs" / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
