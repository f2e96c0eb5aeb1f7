"""The benchmark harness: cells survive a kill, peers alternate, medians and memory are right, sections are replaced."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.harness import Case, Cell, Results, Study, measure, product, store, table
from benchmarks.harness.store import CellStore
from tests.paths import ROOT

CALLS: list[tuple[str, int]] = []


def ours(n: int) -> dict[str, Any]:
    CALLS.append(("ours", n))
    return {"loss": np.int64(n), "seconds": 2.0 * n, "vector": np.arange(3)}


def peer(n: int) -> dict[str, Any]:
    CALLS.append(("peer", n))
    return {"loss": n + 1, "seconds": 4.0 * n}


def broken(n: int) -> dict[str, Any]:
    raise RuntimeError(f"cannot do {n}")


def cases(full: bool) -> list[Case]:
    sizes = [1, 2, 3] if full else [1, 2]
    functions = {"ours": ours, "peer": peer}
    return [Case(label, f, {"n": n}) for n in sizes for label, f in functions.items()]


def make(tmp_path: Path, **changes: Any) -> Study:
    settings: dict[str, Any] = {
        "name": "demo",
        "title": "A demonstration",
        "cases": cases,
        "report": lambda results: results.compare(baseline="peer"),
        "repeats": 2,
        "cache": tmp_path / "cache",
        "results_file": tmp_path / "RESULTS.md",
    }
    return Study(**{**settings, **changes})


@pytest.fixture(autouse=True)
def _no_calls_yet() -> None:
    CALLS.clear()


def test_peers_alternate_and_cached_cells_are_not_run_again(tmp_path: Path) -> None:
    study = make(tmp_path)
    results = study.run(cases(False))
    one_round = [("ours", 1), ("peer", 1), ("ours", 2), ("peer", 2)]
    assert one_round * 2 == CALLS
    assert results.where("ours", n=2).median("seconds") == 4.0
    CALLS.clear()
    again = study.run(cases(True))
    assert CALLS == [("ours", 3), ("peer", 3)] * 2, "only the new cells run"
    assert again.where("ours").all("loss") == [1, 2, 3, 1, 2, 3]
    assert again.where("ours", n=1).all("vector")[0] == [0, 1, 2]


def test_runs_share_a_file_of_cells_and_pass_over_an_unfinished_line(tmp_path: Path) -> None:
    file, (first, second) = tmp_path / "cells.jsonl", [Case("it", dict, {"n": n}) for n in range(2)]
    one, other = CellStore(file), CellStore(file)
    one.save(Cell(first, 0, {"value": 1}), {}, "abc")
    assert other.load(first, 0) is not None
    with file.open("a") as killed:
        killed.write('{"key": "abc", "meas')
    other.save(Cell(second, 0, {"value": 2}), {}, "abc")
    assert [one.load(case, 0).measured["value"] for case in (first, second)] == [1, 2]
    other.forget(first, 0)
    assert one.load(first, 0) is None
    one.save(Cell(first, 0, {"value": 3}), {}, "abc")
    assert CellStore(file).load(first, 0).measured == {"value": 3}


def test_cells_of_full_runs_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIPCLASS_BENCH_CACHE", raising=False)
    kept, other = (Study("it", "It", cases, str, kept=kept) for kept in (True, False))
    assert kept._cells(full=True) == ROOT / "benchmarks" / "cells" / "it.jsonl"
    assert kept._cells(full=False) == other._cells(full=True) == ROOT / "benchmarks" / ".cache" / "it.jsonl"


def test_fresh_forgets_and_fresh_cells_equal_cached_ones(tmp_path: Path) -> None:
    study = make(tmp_path)
    first = study.run(cases(False))
    cached = study.run(cases(False))
    assert [c.measured for c in first.cells] == [c.measured for c in cached.cells]
    CALLS.clear()
    study.run(cases(False), fresh=True)
    assert len(CALLS) == 8


def test_median_over_repetitions() -> None:
    case = Case("ours", ours, {"n": 1})
    results = Results([Cell(case, k, {"seconds": s}) for k, s in enumerate([5.0, 1.0, 2.0])])
    assert results.median("seconds") == 2.0
    assert results.median("unknown") is None


def test_a_ratio_is_taken_within_a_repetition() -> None:
    mine, other = Case("ours", ours, {"n": 1}), Case("theirs", ours, {"n": 1})
    times = [(3.0, 1.0), (8.0, 2.0), (30.0, 10.0)]  # ratios 3, 4, 3; the ratio of the medians is 4
    cells = [
        Cell(case, k, {"seconds": s})
        for k, pair in enumerate(times)
        for case, s in zip((mine, other), pair, strict=True)
    ]
    alone = Cell(other, 3, {"seconds": 1.0})
    assert Results([*cells, alone]).ratio("ours", "theirs") == 3.0
    assert Results([alone]).ratio("ours", "theirs") is None


def test_a_failed_case_is_shown_ends_with_code_one_and_is_tried_again(tmp_path: Path) -> None:
    def with_broken(full: bool) -> list[Case]:
        return [Case("ours", ours, {"n": 1}), Case("broken", broken, {"n": 1})]

    study = make(tmp_path, cases=with_broken, repeats=1)
    with pytest.raises(SystemExit) as ended:
        study.main([])
    assert ended.value.code == 1
    text = (tmp_path / "RESULTS.md").read_text()
    assert "failed: broken(n=1): RuntimeError: cannot do 1" in text
    assert "| 1 | 2 | failed |" in text
    CALLS.clear()
    results = study.run(with_broken(False))
    assert CALLS == []
    assert len(results.errors()) == 1


def test_a_run_without_a_package_of_the_study_keeps_the_section(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path).main([])
    before = (tmp_path / "RESULTS.md").read_text()
    study = make(tmp_path, packages=("numpy", "no-such-peer"), title="Another title")
    study.main([])
    assert (tmp_path / "RESULTS.md").read_text() == before
    assert not study.last.written
    assert "keeps its section: not installed: no-such-peer." in capsys.readouterr().err


def test_the_same_case_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lists a case twice"):
        make(tmp_path).run([Case("ours", ours, {"n": 1}), Case("ours", ours, {"n": 1})])


def test_sections_are_replaced_in_place_and_full_outlives_quick(tmp_path: Path) -> None:
    study, other = make(tmp_path), make(tmp_path, name="other", title="Another", cache=tmp_path / "other")
    study.main([])
    other.main([])
    assert "| 3 |" not in study.results_file.read_text()
    study.main(["--full"])
    text = study.results_file.read_text()
    assert text.count("begin demo") == text.count("end demo") == text.count("begin other") == 1
    assert text.index("A demonstration") < text.index("Another")
    assert "| 3 | 6 (0.5x) | 12 |" in text
    assert f"numpy {np.__version__}" in text
    study.main(["--quick"])
    assert study.results_file.read_text() == text
    study.main(["--full", "--only", "n=1"])
    assert study.results_file.read_text() == text, "a partial run does not write"


def test_a_run_within_a_time_writes_what_it_has_and_the_next_goes_on(tmp_path: Path) -> None:
    study = make(tmp_path)
    study.run(cases(False)[:1])
    study.main(["--within", "0"])
    wanted = study.last.cells
    assert study.last.computed == 0
    assert study.last.left == wanted - study.last.cached > 0
    assert f"{study.last.left} of {wanted} cells are left to a later run." in study.results_file.read_text()
    study.main(["--within", "1000"])
    assert study.last.left == 0
    assert "left to a later run" not in study.results_file.read_text()


def test_cells_of_an_earlier_source_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(tmp_path)
    study.run(cases(False)[:2])
    monkeypatch.setattr("benchmarks.harness.store.fingerprint", lambda families: "another")
    section = study.section(study.run(cases(False)), full=False)
    assert "(4 of 8 cells with an earlier state of the source)" in section
    assert len(study.run(cases(False)).cells) == 8


def test_a_change_of_another_family_of_methods_or_of_the_command_line_makes_no_cell_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = tmp_path / "mipclass" / "methods"
    for file in ("base.py", "exact/box.py", "tau_fpl/newton.py", "../app/cli.py"):
        (methods / file).parent.mkdir(parents=True, exist_ok=True)
        (methods / file).write_text(file)
    monkeypatch.setattr(store, "BENCHMARKS", tmp_path / "benchmarks")
    fingerprint = store.fingerprint.__wrapped__
    before = [fingerprint(families) for families in ((), ("exact",), ("tau_fpl",))]
    (methods / "exact" / "box.py").write_text("changed")
    after = [fingerprint(families) for families in ((), ("exact",), ("tau_fpl",))]
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, False, True]
    (methods / ".." / "app" / "cli.py").write_text("changed")
    assert fingerprint(("tau_fpl",)) == after[2]
    (methods / "base.py").write_text("changed")
    assert fingerprint(("tau_fpl",)) != after[2]


def test_only_what_the_source_means_makes_cells_old() -> None:
    source = 'LIMIT = 3\n"""Most of them."""\n\n\ndef f(x):\n    """Twice x."""\n    return 2 * x\n'
    same = '"""A module."""\nLIMIT = (\n    3  # at most\n)\ndef f(x):\n    return 2*x'
    meant = store.meaning(ast.parse(source))
    assert meant == store.meaning(ast.parse(same))
    for other in (source.replace("3", "4"), source.replace("2 * x", "x * 2"), source.replace("return", "yield")):
        assert meant != store.meaning(ast.parse(other))


def test_a_case_ages_with_the_families_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(tmp_path)
    own = Case("own", ours, {"n": 1}, families=("exact",))
    monkeypatch.setattr("benchmarks.harness.store.fingerprint", lambda families: f"first {families}")
    study.run([*cases(False), own])
    monkeypatch.setattr(
        "benchmarks.harness.store.fingerprint",
        lambda families: "changed" if families == ("exact",) else f"first {families}",
    )
    results = study.run([*cases(False), own])
    assert f"(2 of {len(results.cells)} cells with an earlier state of the source)" in study.section(
        results, full=False
    )


def test_peak_memory_is_the_growth_of_the_call() -> None:
    hold = np.ones(4_000_000)  # 32 MB that were there before

    def two_arrays() -> float:
        one = np.ones(8_000_000)
        two = one + 1.0
        return float(two.sum())

    _, small = measure(lambda: None)
    value, large = measure(two_arrays)
    assert value == 16_000_000
    if large["peak_mb"] is None:
        pytest.skip("this system does not report a resettable peak of resident memory")
    assert small["peak_mb"] < 10
    assert 100 < large["peak_mb"] < 200  # two arrays of 61 MB
    assert hold.sum() == 4_000_000


def test_parallel_gives_the_same_cells(tmp_path: Path) -> None:
    serial = make(tmp_path).run(cases(False))
    parallel = make(tmp_path, cache=tmp_path / "parallel").run(cases(False), jobs=2)
    assert [c.measured["loss"] for c in serial.cells] == [c.measured["loss"] for c in parallel.cells]


def test_table_and_product() -> None:
    assert table(["a", "b"], [[1, None], [0.123456, "x"]]) == "| a | b |\n| --- | --- |\n| 1 | - |\n| 0.1235 | x |"
    assert list(product(n=[1, 2], s=["a"])) == [{"n": 1, "s": "a"}, {"n": 2, "s": "a"}]


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    script = tmp_path / "slow_study.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import sys, time
            sys.path.insert(0, {str(ROOT)!r})
            from pathlib import Path
            from benchmarks.harness import Case, Study

            def cell(n):
                time.sleep(0.05 if n < 2 else float(sys.argv[1]))
                with open({str(tmp_path / "log")!r}, "a") as log:
                    log.write(f"{{n}}\\n")
                return {{"n": n}}

            study = Study("slow", "Slow", lambda full: [Case("it", cell, {{"n": n}}) for n in range(4)],
                          lambda results: results.compare("n"), cache=Path({str(tmp_path / "cache")!r}),
                          results_file=Path({str(tmp_path / "RESULTS.md")!r}))
            study.main([])
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(script), "60"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    cache, deadline = tmp_path / "cache", time.monotonic() + 30
    while not cache.exists() or len(cache.read_text().splitlines()) < 2:
        assert time.monotonic() < deadline, "the first two cells should take a moment"
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "RESULTS.md").exists()
    subprocess.run([sys.executable, str(script), "0"], check=True, capture_output=True)
    assert (tmp_path / "log").read_text().split() == ["0", "1", "2", "3"], "finished cells were not run again"
    stored = [json.loads(line) for line in cache.read_text().splitlines()]
    assert sorted(record["measured"]["n"] for record in stored) == [0, 1, 2, 3]
    assert "python" in stored[0]["versions"]
