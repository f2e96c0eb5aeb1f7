"""Proofs by boxes with several workers: processor and wall seconds, efficiency, and what a killed run costs.

Ways        one thread; "beside another": one thread, while another process proves the same, which shows what two cores that share caches and memory
            have to give; two threads; two processes of loky; a local Dask cluster of two processes, set up as the page "Scale out" advises
            (CLUSTER_SETTINGS); "worker lost": the same cluster, one of whose
            processes is killed with SIGKILL some seconds after the beginning; "resumed": one thread with a checkpoint, killed with SIGKILL after
            twice that time, then resumed. Several workers, of whatever kind, come with threads=2, so that the caller checks with two threads.
Efficiency  wall(1) / (2 wall(2)): what a user waits for, also with wall(beside another) in the place of wall(1); and cpu(1) / cpu(2): work that
            is not done twice, whatever else the machine does. cpu is the time of the calling process, with its threads and the check of the
            certificate, and of the tasks elsewhere. The scheduler of the Dask cluster is in the calling process and shares the two cores.
Simulation  the log of tasks (processor seconds, who handed the box over, the pass) scheduled on 8, 64 and 512 workers, a task as soon as its
            box is known and a worker is free, pass after pass: sum of seconds / (workers * makespan). The budgets are those of two workers;
            more workers get smaller tasks, so this is a lower estimate for short proofs.
Done again  "resumed": processor seconds of both processes, less those of one thread that was not killed; the killed one's include the time it takes to
            import and to load kernels. "worker lost": tasks that were begun, less those that were finished.

pima is proven to a fixed gap, heart_statlog to one and, in four ways, to the end. It has 13 features and is proven by branch and cut, the others by
boxes.
Run: python -m benchmarks.studies.zero_one.parallel_proofs     MIPCLASS_DATA must name the folder of the data sets (docs/datasets.md).
"""

from __future__ import annotations

import heapq
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import joblib

from benchmarks.harness import Case, Results, Study, table
from mipclass import datasets, models, solve
from mipclass.protocol.crew import DaskCrew
from mipclass.protocol.tasks import without_answer

WAYS = ("1 thread", "beside another", "2 threads", "loky", "dask", "worker lost", "resumed")
MANY = (8, 64, 512)
"""Workers of the simulation."""


ONCE = ("worker lost", "resumed")
"""Ways that are tried once."""


class Proof(NamedTuple):
    """How a data set is proven: to which relative gap, within which limit, after how many seconds one thread is killed, how often, and in which ways."""

    name: str
    gap: float
    limit: float
    killed_after: float
    times: int
    ways: tuple[str, ...] = WAYS


RUNS = (
    Proof("liver_bupa", 0.0, 120.0, 3.0, 5),
    Proof("ice_ai4i", 0.0, 600.0, 20.0, 3),
    Proof("pima", 0.1, 900.0, 60.0, 1),
    Proof("heart_statlog", 0.125, 900.0, 60.0, 3),
    Proof("heart_statlog", 0.0, 1800.0, 60.0, 1, ("1 thread", "2 threads", "loky", "dask")),
)

QUICK_SECONDS = 60.0
"""Time limit of a quick run."""

CLUSTER_SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.nanny.pre-spawn-environ": {"MALLOC_TRIM_THRESHOLD_": 2**30},
}
"""A cluster without its profiler and with fewer looks at itself: an idle one of two workers takes 3 % of a core, and 16 % with the defaults. By default its
workers also give memory back at once and need it again in the next task."""

WARM_SECONDS = 5.0
"""Seconds of each proof before anything is measured: kernels are compiled, and processes then find them."""

BESIDE = """
import json, sys
from benchmarks.studies.zero_one.parallel_proofs import measured
while True:
    print("begun", flush=True)
    measured(*json.loads(sys.argv[1]))
"""

RESUMED = """
import json, sys
from benchmarks.studies.zero_one.parallel_proofs import measured
print(json.dumps(measured(*json.loads(sys.argv[1]))))
"""


def simulated(tasks: Sequence[Sequence[float]], workers: int) -> float:
    """The efficiency of so many workers on a log of tasks (`TaskRecord`)."""
    total = makespan = 0.0
    for target in dict.fromkeys(task[0] for task in tasks):
        here = [task for task in tasks if task[0] == target]
        known = {task[1] for task in here}
        children: dict[float, list[Sequence[float]]] = {}
        for task in here:
            children.setdefault(task[2] if task[2] in known else -1, []).append(task)
        ready = [(0.0, -task[3], task[1], task[3]) for task in children.get(-1, [])]
        heapq.heapify(ready)
        free = [0.0] * workers
        end = 0.0
        while ready:
            since, _, number, seconds = heapq.heappop(ready)
            done = max(since, heapq.heappop(free)) + seconds
            heapq.heappush(free, done)
            end = max(end, done)
            total += seconds
            for child in children.get(number, []):
                heapq.heappush(ready, (done, -child[3], child[1], child[3]))
        makespan += end
    return total / (workers * makespan) if makespan else 1.0


@contextmanager
def company_of(arguments: Sequence[Any]) -> Iterator[None]:
    """Another process proves the same meanwhile, again and again."""
    process = subprocess.Popen([sys.executable, "-c", BESIDE, json.dumps(arguments)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def workers_of(way: str, killed_after: float) -> Iterator[None]:
    """joblib as the way asks for."""
    if way == "loky":
        with joblib.parallel_config("loky", n_jobs=2):
            yield
    elif way in ("dask", "worker lost"):
        import dask
        from distributed import Client, LocalCluster

        with (
            dask.config.set(CLUSTER_SETTINGS),
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
            joblib.parallel_config("dask"),
        ):
            victim = min(client.run(os.getpid).values())
            timer = threading.Timer(killed_after, os.kill, (victim, signal.SIGKILL))
            if way == "worker lost":
                timer.start()
            try:
                yield
            finally:
                timer.cancel()
    else:
        yield


def _noted(shared: Any, path: str, function: Any, *arguments: Any) -> Any:
    """Carry out a task after a line has been written for it."""
    with Path(path).open("a") as file:
        file.write(f"{os.getpid()}\n")
    return function(shared, *arguments)


@contextmanager
def tasks_begun() -> Iterator[Callable[[], int]]:
    """Count the tasks that workers of a Dask cluster begin, without those that only set them up."""
    submit = DaskCrew.submit
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "begun"
        path.touch()

        def noting(self: DaskCrew, function: Any, token: Any, *arguments: Any) -> Any:
            if function is without_answer:
                return submit(self, function, token, *arguments)
            return submit(self, _noted, token, str(path), function, *arguments)

        with patch.object(DaskCrew, "submit", noting):
            yield lambda: len(path.read_text().split())


def measured(
    name: str, way: str, gap: float, limit: float, killed_after: float, folder: str | None = None
) -> dict[str, Any]:
    """One proof."""
    X, y = datasets.load(name)
    options = {} if folder is None else {"checkpoint": folder}
    with workers_of(way, killed_after), tasks_begun() as begun:
        started, cpu = time.perf_counter(), time.process_time()
        threads = 1 if way == "1 thread" else 2
        result = solve(models.zero_one(X, y), "exact", gap=gap, time_limit=limit, threads=threads, options=options)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        began = begun()
    tasks = [list(task) for task in result.extra.get("tasks", ())]
    by_boxes = result.extra.get("proof_by") == "box"
    elsewhere = [task for task in tasks if not task[5]]
    if way in ("loky", "dask", "worker lost") or not by_boxes:
        cpu += float(sum(task[3] for task in elsewhere))
    return {
        "objective": result.objective,
        "bound": result.bound,
        "nodes": result.nodes,
        "certified": result.certified,
        "status": str(result.status),
        "proof_by": result.extra.get("proof_by"),
        "wall": wall,
        "cpu": cpu,
        "tasks": len(tasks),
        "begun": began,
        "finished": len(elsewhere),
        "longest_task": max((task[3] for task in tasks), default=0.0),
        **({f"simulated_{count}": simulated(tasks, count) for count in MANY} if way == "2 threads" and tasks else {}),
    }


def prove(name: str, way: str, gap: float, limit: float, killed_after: float, again: int = 0) -> dict[str, Any]:
    """One proof, killed and resumed if the way is that.

    again : how often all ways were tried before; they take turns, because the machine's speed changes within minutes.
    """
    alone = [name, "1 thread", gap, limit, killed_after]
    if way == "beside another":
        with company_of(alone):
            return measured(*alone)
    if way != "resumed":
        return measured(name, way, gap, limit, killed_after)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "proof"
        given = json.dumps([*alone, str(place)])
        process = subprocess.Popen([sys.executable, "-c", RESUMED, given], stdout=subprocess.DEVNULL)
        while not place.exists():
            if process.poll() is not None:
                raise RuntimeError(f"the proof ended with code {process.returncode} before it could be killed")
            time.sleep(0.05)
        time.sleep(killed_after)
        os.kill(process.pid, signal.SIGKILL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        again = measured(*alone, str(place))
        return {**again, "killed": process.returncode < 0, "cpu_before": used.ru_utime + used.ru_stime}


def warmup() -> None:
    """Compile and import everything that is timed."""
    for name in dict.fromkeys(run.name for run in RUNS):
        X, y = datasets.load(name)
        solve(models.zero_one(X, y), "exact", time_limit=WARM_SECONDS, threads=2)


def cases(full: bool) -> Iterator[Case]:
    """The cases of a quick or a full run."""
    for run in RUNS if full else RUNS[:1]:
        for again in range(run.times if full else 1):
            for way in run.ways if again == 0 else [way for way in run.ways if way not in ONCE]:
                # Two workers are done in half of the time.
                after = run.killed_after / 2 if way == "worker lost" else run.killed_after
                how = {"gap": run.gap, "limit": run.limit if full else QUICK_SECONDS, "killed_after": after}
                turn = {"again": again} if again else {}
                yield Case(way, prove, {"name": run.name, "way": way, **how, **turn})


Turns = dict[int, dict[str, Any]]
"""What was measured in each turn of a way."""


def report(results: Results) -> str:
    """The section's markdown."""
    rows: list[list[Any]] = []
    killed: list[list[Any]] = []
    for run in RUNS:
        name = run.name
        here = {way: turns for way in WAYS if (turns := _turns(results.where(way, name=name, gap=run.gap)))}
        one, beside = here.get("1 thread", {}), here.get("beside another", {})
        for way, turns in here.items():
            got = _middle(turns)
            shown = [got["objective"], got["bound"], "yes" if got["certified"] else "no"]
            if way in ONCE:
                killed.append([name, way, *shown, *_done_again(way, got, _middle(one) if one else None)])
                continue
            ratios: list[float | None] = [None, None, None]
            if got["tasks"]:
                ratios = [_ratio(one, turns, "wall", 2), _ratio(beside, turns, "wall", 2), _ratio(one, turns, "cpu")]
            many = [got.get(f"simulated_{count}") for count in MANY]
            effort = [got["proof_by"], got["nodes"], got["wall"], got["cpu"]]
            rows.append([name, way, *shown, *effort, *ratios, got["tasks"], got["longest_task"], *many])
    header = ["data", "way", "loss", "bound", "certified", "proof by", "nodes", "wall", "cpu", "efficiency (wall)"]
    header += ["of beside another", "work (cpu)", "tasks", "longest task", *(f"simulated, {count}" for count in MANY)]
    times = ", ".join(f"{run.name}: {run.times}" for run in RUNS if run.times > 1)
    return "\n\n".join(
        [
            f"Short proofs were made several times, all ways in turn ({times}); the row has the run of the median wall time. The speed of the machine changes "
            "within minutes, so an efficiency compares runs of the same turn that reach the same bound, and is the median over the turns.",
            table(header, rows),
            "Killed on the way:",
            table(["data", "way", "loss", "bound", "certified", "cpu before", "cpu after", "done again"], killed),
        ]
    )


def _turns(results: Results) -> Turns:
    """The runs of one way that did not fail."""
    return {cell.case.parameters.get("again", 0): cell.measured for cell in results.cells if cell.error is None}


def _middle(turns: Turns) -> dict[str, Any]:
    """What was measured in the run with the median wall time."""
    return sorted(turns.values(), key=lambda got: got["wall"])[(len(turns) - 1) // 2]


def _ratio(reference: Turns, turns: Turns, measure: str, workers: int = 1) -> float | None:
    """The median over the turns of reference / (workers * turn), where both reach the same bound."""
    found = [
        reference[turn][measure] / (workers * got[measure])
        for turn, got in turns.items()
        if turn in reference and reference[turn]["bound"] == got["bound"]
    ]
    return statistics.median(found) if found else None


def _done_again(way: str, got: dict[str, Any], one: dict[str, Any] | None) -> list[Any]:
    """Processor seconds before and after the kill, and what was done twice."""
    if way == "worker lost":
        return [None, got["cpu"], f"{got['begun'] - got['finished']} of {got['finished']} tasks"]
    again = None if one is None else f"{got['cpu_before'] + got['cpu'] - one['cpu']:.1f} s"
    return [got["cpu_before"], got["cpu"], again if got["killed"] else "not killed: done before"]


study = Study(
    "parallel_proofs",
    "Proofs with several workers",
    cases,
    report,
    warmup=warmup,
    packages=("distributed",),
    kept=True,
    families=("exact", "zero_one"),
)

if __name__ == "__main__":
    study.main()
