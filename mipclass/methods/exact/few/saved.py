"""What is known about sets of features on disk: the proofs that are finished, and the incumbent.

From time to time the answers that came since the last time get a file of their own, so that each is written once. A search of the same problem reads
them all, closes the sets that they reach, and goes on with the others. Nothing of it is believed without the checker.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Array
from ....protocol.checkpoint import CheckpointFolder, Pace
from .support import SupportAnswer

INCUMBENT, ANSWERS = "incumbent", "answers"

Incumbent = tuple[int, Array]
"""Set of features as a mask, and (w, b) over them."""


class AnswerSaver:
    """Writes and reads the answers of one search."""

    def __init__(self, checkpoint: CheckpointFolder) -> None:
        self.store = checkpoint.part("sets")
        self._pace = Pace()
        self._new: dict[int, SupportAnswer] = {}
        self._files = 0
        while self.store.has(f"{ANSWERS}-{self._files}"):
            self._files += 1

    def note(self, mask: int, answer: SupportAnswer) -> None:
        """Something new is known about a set."""
        self._new[mask] = answer

    def save_if_due(self, incumbent: Incumbent | None) -> None:
        """Write what is new if the last time is long ago."""
        if self._pace.is_due:
            self.save(incumbent)

    def save(self, incumbent: Incumbent | None) -> None:
        """Write what is new."""
        with self._pace.writing():
            if incumbent is not None:
                self.store.write_json(INCUMBENT, [incumbent[0], _exact(incumbent[1])])
            if self._new:
                content = [[mask, *_content(answer)] for mask, answer in self._new.items()]
                self.store.write_json(f"{ANSWERS}-{self._files}", content)
                self._files += 1
                self._new = {}

    def load(self) -> tuple[dict[int, SupportAnswer], Incumbent | None]:
        """All answers, and the incumbent if there is one."""
        answers: dict[int, SupportAnswer] = {}
        for number in range(self._files):
            answers.update({mask: _answer(content) for mask, *content in self.store.read_json(f"{ANSWERS}-{number}")})
        if not self.store.has(INCUMBENT):
            return answers, None
        mask, rule = self.store.read_json(INCUMBENT)
        return answers, (mask, _floats(rule))


def _exact(rule: Array) -> list[str]:
    return [float(value).hex() for value in rule]


def _floats(texts: list[str]) -> Array:
    return np.array([float.fromhex(text) for text in texts])


def _content(answer: SupportAnswer) -> list[Any]:
    """Without the rule and the effort, which nobody asks for again."""
    return [str(answer.bound), answer.lower, answer.is_impossible]


def _answer(content: list[Any]) -> SupportAnswer:
    bound, lower, is_impossible = content
    return SupportAnswer(Fraction(bound), lower, None, 0, 0, is_impossible)
