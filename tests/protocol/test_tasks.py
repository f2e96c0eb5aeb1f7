"""Tasks under way: an answer that was not taken counts as under way, and those that are recalled are answered or named."""

from __future__ import annotations

import threading

import pytest

from mipclass.protocol.crew import ThreadCrew
from mipclass.protocol.tasks import TasksUnderWay


def twice(shared: int, number: int) -> int:
    return 2 * number + shared


def test_answers_that_were_not_taken_yet_count_as_under_way():
    crew = ThreadCrew(2)
    tasks: TasksUnderWay[str] = TasksUnderWay(crew, crew.share(1))
    for number, key in enumerate("ab"):
        tasks.submit(key, twice, number)
    found = {}
    while tasks:
        for key, answer in tasks.answers():
            assert key not in tasks.keys
            assert sorted([*found, key, *tasks.keys]) == ["a", "b"]
            found[key] = answer
    assert found == {"a": 1, "b": 3}


def test_recalled_tasks_are_answered_or_named():
    crew, told = ThreadCrew(1), threading.Event()
    tasks: TasksUnderWay[str] = TasksUnderWay(crew, crew.share(0))

    def wait_for_the_caller(shared: int) -> str:
        assert told.wait(10)
        return "ended"

    for key in "abc":
        tasks.submit(key, wait_for_the_caller)
    threading.Timer(0.2, told.set).start()
    named = tasks.recall()
    answered = dict(tasks.answers())
    assert set(answered.values()) <= {"ended"}
    assert sorted([*named, *answered]) == ["a", "b", "c"]
    assert not tasks


def test_an_error_of_a_task_is_raised():
    crew = ThreadCrew(1)
    tasks: TasksUnderWay[int] = TasksUnderWay(crew, crew.share(None))
    tasks.submit(0, twice, 1)
    with pytest.raises(TypeError):
        list(tasks.answers())
