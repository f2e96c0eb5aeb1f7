"""The command `warm`: its processes come and go without a word."""

from __future__ import annotations

import warnings

import pytest

from mipclass.app.warm_command import compile_groups


@pytest.mark.slow
def test_a_process_that_grows_is_replaced_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    """joblib ends a process whose memory grows by 300 MB within a second, and warns of it while groups are left."""

    def grow(group: str) -> None:
        import builtins
        import time

        builtins.kept = [*getattr(builtins, "kept", []), b"x" * 400_000_000]  # type: ignore[attr-defined]
        time.sleep(1.2)

    monkeypatch.setattr("mipclass.solving.warm.warm", grow)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compile_groups("abcdefgh", 2)
    assert [str(warning.message) for warning in seen] == []
