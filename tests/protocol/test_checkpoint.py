"""Checkpoints: states become rarer where writing takes long, but never rarer than a process may lose."""

from __future__ import annotations

import pytest

from mipclass.protocol import checkpoint
from mipclass.protocol.checkpoint import MOST_SECONDS, SAVE_SECONDS, Pace


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(checkpoint, "time", made)
    return made


@pytest.mark.parametrize(
    ("seconds", "pause"), [(0.0, SAVE_SECONDS), (1.0, 20.0), (3.0, MOST_SECONDS), (2400.0, MOST_SECONDS)]
)
def test_the_next_state_comes_in_time_also_after_a_suspended_one(clock, seconds, pause):
    pace = Pace()
    assert not pace.is_due
    with pace.writing():
        clock.now += seconds
    clock.now += pause - 0.01
    assert not pace.is_due
    clock.now += 0.02
    assert pace.is_due
