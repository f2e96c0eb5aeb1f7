"""Tasks under way: an answer that was not taken counts as under way, and those that are recalled are answered or named."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from mipclass.protocol.crew import DaskCrew, ThreadCrew
from mipclass.protocol.tasks import SettingUp, TasksUnderWay


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


class SlowCrew:
    """Two workers far away, whose tasks end when the test says so."""

    workers, sees_memory = 2, False

    def __init__(self) -> None:
        self.tasks: list[Future[None]] = []

    def share(self, thing: Any) -> Any:
        return thing

    def submit(self, function: Any, token: Any, *arguments: Any) -> Future[None]:
        self.tasks.append(Future())
        return self.tasks[-1]


@pytest.mark.parametrize("end", ["answer", "lost"])
def test_workers_are_set_up_when_the_first_one_answers_or_is_lost(end):
    crew: Any = SlowCrew()
    setting_up = SettingUp(crew, 1, twice, [(1,), (2,)])
    assert len(crew.tasks) == 2
    assert not setting_up.is_over
    if end == "answer":
        crew.tasks[1].set_result(None)
    else:
        crew.tasks[1].set_exception(RuntimeError("the worker was killed"))
    assert setting_up.is_over


def test_threads_are_set_up_at_once():
    carried_out: list[int] = []
    crew = ThreadCrew(2)
    setting_up = SettingUp(crew, carried_out, list.append, [(1,), (2,)])
    crew.close()
    assert setting_up.is_over
    assert setting_up.token is carried_out
    assert not carried_out


def test_an_error_of_a_task_is_raised():
    crew = ThreadCrew(1)
    tasks: TasksUnderWay[int] = TasksUnderWay(crew, crew.share(None))
    tasks.submit(0, twice, 1)
    with pytest.raises(TypeError):
        list(tasks.answers())


class ClusterThatLosesData:
    """A client of a Dask cluster whose only holder of the shared object dies under the first task: Dask cancels object and task."""

    def __init__(self) -> None:
        self.copies: list[SimpleNamespace] = []

    def scatter(self, thing: int, **how: bool) -> SimpleNamespace:
        self.copies.append(SimpleNamespace(thing=thing, status="finished"))
        return self.copies[-1]

    def get_executor(self, **how: bool) -> ClusterThatLosesData:
        return self

    def submit(self, function: Any, copy: SimpleNamespace, *arguments: int) -> Future[int]:
        future: Future[int] = Future()
        if len(self.copies) == 1:
            copy.status = "cancelled"
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(function(copy.thing, *arguments))
        return future


def test_a_task_whose_shared_object_was_lost_is_carried_out_with_another_copy():
    client = ClusterThatLosesData()
    crew = DaskCrew(client, 2)
    tasks: TasksUnderWay[str] = TasksUnderWay(crew, crew.share(5))
    tasks.submit("a", twice, 2)
    found = dict(tasks.answers())
    assert (found, len(tasks)) == ({}, 1)
    assert dict(tasks.answers()) == {"a": 9}
    assert len(client.copies) == 2
