"""The command line, called in this process, and a small table to call it with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mipclass.app.cli import main


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Done]


@pytest.fixture
def mipclass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line's entry point, called in this process (a new one costs seconds of imports)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["mipclass", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return Done(int(stopped.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, "ill", "well")
    lines = ["age,dose,state"] + [f"{a:.4f},{b:.4f},{label}" for (a, b), label in zip(X, y, strict=True)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
