"""The records: shipped certificates hold, and the command re-makes a record and notices one that differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import mipclass
from benchmarks import records
from tests.paths import ROOT

CERTIFICATES = sorted((ROOT / "docs" / "certificates").glob("*.json"))


@pytest.mark.parametrize("path", CERTIFICATES, ids=lambda path: path.stem)
def test_shipped_certificate_holds(path: Path) -> None:
    record = next(record for record in records.RECORDS if record.data == path.stem)
    try:
        X, y = records.load(record.data, download=False)
    except (FileNotFoundError, mipclass.InvalidInputError) as missing:
        pytest.skip(f"the data set is not here: {missing}")
    verdict = mipclass.verify(path, X, y)
    assert verdict.optimal
    assert verdict.upper == record.errors


def test_a_record_is_remade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert records.main(["iris", "--certificates", str(tmp_path)]) == 0
    assert "agrees" in capsys.readouterr().out
    assert (tmp_path / "iris.json").is_file()


def test_a_wrong_record_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(records, "RECORDS", (replace(records.RECORDS[0], errors=0),))
    assert records.main([]) == 1
    assert "DIFFERS" in capsys.readouterr().out
