"""The command line as a person meets it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mipclass.solving.warm import REHEARSALS
from tests.app.conftest import Call
from tests.paths import ROOT


def test_demo_proves_and_writes(tmp_path: Path) -> None:
    """In a process of its own, as a person starts it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mipclass", "demo", "--no-warm"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "optimal (proven)" in done.stdout
    assert "objective 5, bound 5" in done.stdout
    assert "5 of 100 points wrong" in done.stdout
    assert "Subject To" in (tmp_path / "demo.lp").read_text()
    rows = (tmp_path / "demo.csv").read_text().splitlines()
    assert (len(rows), rows[0].split(",")[-1], rows[-1].split(",")[-1]) == (101, "species", "virginica")


def test_demo_compiles_the_kernels_of_all_methods(mipclass: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def compiled(groups: list[str], jobs: int) -> float:
        asked.extend(groups)
        return 1.0

    monkeypatch.setattr("mipclass.app.warm_command.compile_groups", compiled)
    done = mipclass("demo")
    assert done.returncode == 0
    assert asked == list(REHEARSALS)
    assert "compiled in 1 s" in done.stdout


def test_demo_may_be_interrupted_while_it_compiles(mipclass: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(groups: list[str], jobs: int) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr("mipclass.app.warm_command.compile_groups", interrupted)
    done = mipclass("demo")
    assert done.returncode == 0
    assert "first called" in done.stdout


def test_export_then_solve(mipclass: Call, table: Path, tmp_path: Path) -> None:
    done = mipclass("export", table, "--target", "state", "--fpr", 0.1, "--to", "model.lp")
    assert done.returncode == 0, done.stderr
    assert "w_age" in (tmp_path / "model.lp").read_text()
    solved = mipclass("solve", "model.lp", "--solver", "highs", "--json")
    assert solved.returncode == 0, solved.stderr
    answer = json.loads(solved.stdout)
    assert answer["status"] == "optimal"
    assert answer["bound"] == answer["objective"]


def test_solvers_lists_promises(mipclass: Call) -> None:
    done = mipclass("solvers", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["highs"]["installed"]
    assert "LP" in rows["highs"]["features"]


def test_exit_codes(mipclass: Call, table: Path, tmp_path: Path) -> None:
    (tmp_path / "no.lp").write_text("Minimize\n obj: x\nSubject To\n r: x >= 2\nBounds\n 0 <= x <= 1\nEnd\n")
    assert mipclass("solve", "no.lp").returncode == 4
    assert mipclass("solve").returncode == 2
    missing = mipclass("solve", "nowhere.lp")
    assert missing.returncode == 1
    assert len(missing.stderr.strip().splitlines()) == 1
    exported = mipclass("export", table, "--target", "state", "--to", "hard.lp")
    assert exported.returncode == 0
    unproven = mipclass("solve", "hard.lp", "--time-limit", "0.0001", "--require-proof")
    assert unproven.returncode == 3


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("a,b\n1,2\n", "c", "no column 'c'; it has a, b"),
        ("a,y\n1,x\n,z\n", "y", "line 3: column 'a' is missing"),
        ("a,y\nfoo,x\n1,z\n", "y", "'foo', which is not a finite number"),
        ("a,y\nnan,x\n1,z\n", "y", "not a finite number"),
        ("a,y\n1,x\n2,x\n", "y", "exactly two labels; got 1"),
        ("", "y", "empty"),
        ("a,y\n", "y", "no rows"),
        ("1,2\n3,4\n", "y", "no header"),
        ("a,a,y\n1,2,x\n", "y", "more than once"),
        ("a,y\n1,x,9\n", "y", "3 values for 2 columns"),
        ("y\nx\n", "y", "no column besides the target"),
    ],
)
def test_malformed_tables_get_one_line(mipclass: Call, tmp_path: Path, text: str, target: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    done = mipclass("export", path, "--target", target, "--to", "out.lp")
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out.lp").exists()


@pytest.mark.parametrize("prefix", ["", "\ufeff"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_spreadsheets_are_read(prefix: str, separator: str, tmp_path: Path) -> None:
    from mipclass.app.tables import read_table

    path = tmp_path / "ok.csv"
    path.write_text(prefix + "age;y\n1.5;0\n2;1\n".replace(";", separator), encoding="utf-8")
    table = read_table(path, "y")
    assert table.feature_names == ("age",)
    assert table.X.tolist() == [[1.5], [2.0]]
    assert table.y.tolist() == [0, 1]


@pytest.mark.parametrize("model", ["zero-one", "polyhedral", "robust-svm", "outlier-svm", "tau-fpl"])
@pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
def test_fit_then_predict(mipclass: Call, table: Path, tmp_path: Path, model: str) -> None:
    done = mipclass("fit", table, "--target", "state", "--model", model, "--out", "model.json")
    assert done.returncode == 0, done.stderr
    assert "rows wrong" in done.stdout
    told = int(re.search(r"training +(\d+) of 30", done.stdout).group(1))
    predicted = mipclass("predict", "model.json", table).stdout.split()
    actual = [line.split(",")[-1] for line in table.read_text().splitlines()[1:]]
    assert sum(a != b for a, b in zip(predicted, actual, strict=True)) == told
    shuffled = tmp_path / "shuffled.csv"
    rows = [line.split(",") for line in table.read_text().splitlines()]
    shuffled.write_text("\n".join(f"{dose},{age}" for age, dose, _ in rows) + "\n")
    assert mipclass("predict", "model.json", shuffled).stdout.split() == predicted
    scored = mipclass("predict", "model.json", table, "--scores").stdout.splitlines()
    assert all((float(line.split(",")[1]) > 0) == line.startswith("well") for line in scored)


def test_fit_to_proof_as_json(mipclass: Call, table: Path) -> None:
    done = mipclass("fit", table, "--target", "state", "--fpr", 0.1, "--solver", "highs", "--require-proof", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["claim"] == "proven"
    assert answer["training_errors"] == answer["objective"] == answer["bound"]
    assert set(answer["rule"]) == {"age", "dose", "(offset)"}


def test_limits_never_contradict_and_missing_proofs_are_told(mipclass: Call, tmp_path: Path) -> None:
    path = tmp_path / "xor.csv"
    path.write_text("a,b,y\n0,0,n\n1,1,n\n0,1,p\n1,0,p\n")
    done = mipclass("fit", path, "--target", "y", "--solver", "highs", "--max-features", 0, "--fpr", 0)
    assert done.returncode == 0  # calling everything negative keeps both limits
    unproven = mipclass("fit", path, "--target", "y", "--solver", "local", "--require-proof")
    assert unproven.returncode == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "forest"], "--model must be one of zero-one"),
        (["--model", "polyhedral", "--fpr", "0.1"], "takes no"),
        (["--model", "tau-fpl", "--solver", "highs"], "own algorithm"),
        (["--fpr", "7"], "in [0, 1]"),
    ],
)
def test_options_that_do_not_fit(mipclass: Call, table: Path, arguments: list[str], message: str) -> None:
    done = mipclass("fit", table, "--target", "state", *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_predict_says_what_is_missing(mipclass: Call, table: Path, tmp_path: Path) -> None:
    assert mipclass("fit", table, "--target", "state", "--out", "model.json").returncode == 0
    (tmp_path / "few.csv").write_text("age\n1.0\n")
    done = mipclass("predict", "model.json", tmp_path / "few.csv")
    assert (done.returncode, "lack the column 'dose'" in done.stderr) == (1, True)
    (tmp_path / "broken.json").write_text("{")
    assert "not JSON" in mipclass("predict", tmp_path / "broken.json", table).stderr


def test_nothing_is_written_where_nothing_can_be(mipclass: Call, table: Path) -> None:
    done = mipclass("fit", table, "--target", "state", "--out", "nowhere/model.json")
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1


def test_fit_certify_verify(mipclass: Call, table: Path, tmp_path: Path) -> None:
    done = mipclass("fit", table, "--target", "state", "--out", "model.json", "--certificate", "proof.json")
    assert done.returncode == 0, done.stderr
    assert "certified yes" in done.stdout
    checked = mipclass("verify", "proof.json", table, "--target", "state")
    assert checked.returncode == 0, checked.stderr
    assert "the rule is optimal" in checked.stdout
    assert "rows        none" in checked.stdout
    other = tmp_path / "other.csv"
    lines = table.read_text().splitlines()
    first = lines[1].split(",")
    lines[1] = f"{float(first[0]) + 1:.4f},{first[1]},{first[2]}"
    other.write_text("\n".join(lines) + "\n")
    rejected = mipclass("verify", "proof.json", other, "--target", "state")
    assert rejected.returncode == 1
    assert "rejected" in rejected.stdout
    (tmp_path / "junk.json").write_text("{}")
    assert mipclass("verify", "junk.json", table, "--target", "state").returncode == 1


def test_a_certificate_is_held_against_a_problem(mipclass: Call, table: Path) -> None:
    """Two problems on the same data: each certificate holds for its own and is rejected for the other."""
    for name, limit in (("plain", ()), ("limited", ("--fpr", 0))):
        fit = (
            "fit",
            table,
            "--target",
            "state",
            *limit,
            "--out",
            f"{name}.json",
            "--certificate",
            f"{name}_proof.json",
        )
        assert mipclass(*fit).returncode == 0
    for proof, asked, code in (
        ("limited_proof.json", (), 0),
        ("limited_proof.json", ("--for", "limited.json"), 0),
        ("limited_proof.json", ("--for", "zero-one", "--fpr", 0), 0),
        ("limited_proof.json", ("--for", "zero-one"), 1),
        ("plain_proof.json", ("--for", "limited.json"), 1),
        ("plain_proof.json", ("--fpr", 0), 1),
    ):
        done = mipclass("verify", proof, table, "--target", "state", *asked, "--json")
        assert done.returncode == code, done.stderr
        said = json.loads(done.stdout)
        assert said["accepted"] == (code == 0)
        assert len(said["problem"]["limits"]) == (proof == "limited_proof.json")
        assert ("its limits on errors are others" in said["reason"]) == (code == 1)
    refused = mipclass("verify", "plain_proof.json", table, "--target", "state", "--for", "plain_proof.json")
    assert refused.returncode == 1
    assert "not written by mipclass.save" in refused.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("wide.csv", "a,t\n" + "1" * 200_000 + ",y\n2,n\n", "not a table of separated values"),
        ("empty.svm", "", "is empty"),
        ("holes.svm", "1 1:nan\n-1 1:2\n", "NaN or infinite"),
        ("one.svm", "1 1:3\n1 1:2\n", "exactly two labels"),
    ],
)
def test_malformed_files_of_other_kinds(mipclass: Call, tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    done = mipclass("fit", name, *(["--target", "t"] if name.endswith("csv") else []))
    assert done.returncode == 1
    assert re.search(message, done.stderr)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["fit", "--out", "nowhere/model.json"], "there is no folder 'nowhere'"),
        (["fit", "--out", "model.pkl"], "must end in .json"),
        (["compare", "--report", "nowhere/page.html"], "there is no folder 'nowhere'"),
        (["export", "--to", "."], "is a folder"),
    ],
)
def test_unwritable_paths_are_refused_before_the_work(
    mipclass: Call, table: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], message: str
) -> None:
    monkeypatch.setattr("mipclass.app.tables.read_table", None)  # no data is even read
    done = mipclass(command[0], table, "--target", "state", *command[1:])
    assert done.returncode == 1
    assert message in done.stderr


def test_json_everywhere(mipclass: Call, table: Path, tmp_path: Path) -> None:
    assert json.loads(mipclass("demo", "--json").stdout)["claim"] == "proven"
    exported = json.loads(mipclass("export", table, "--target", "state", "--to", "m.lp", "--json").stdout)
    assert (exported["kind"], exported["rows"], exported["integers"]) == ("MIP", 32, 30)
    mipclass("fit", table, "--target", "state", "--model", "tau-fpl", "--fpr", "0.5", "--out", "m.json")
    predicted = json.loads(mipclass("predict", "m.json", table, "--json").stdout)
    assert len(predicted["labels"]) == len(predicted["scores"]) == 30
    assert "zero_one_tables" in json.loads(mipclass("reproduce", "--list", "--json").stdout)


def test_a_report_without_matplotlib_is_refused_before_the_work(
    mipclass: Call, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mipclass.app.cli.find_spec", lambda name: None)
    done = mipclass("compare", table, "--target", "state", "--report", "r.html")
    assert done.returncode == 1
    assert "mipclass[plot]" in done.stderr


def test_the_positive_class_can_be_named(mipclass: Call, table: Path, tmp_path: Path) -> None:
    """`ill` instead of `well`: scores turn round, a limit on false positives is one on `well`, labels keep their names."""
    fit = ["fit", table, "--target", "state", "--positive", "ill", "--fpr", 0, "--out", "m.json"]
    done = mipclass(*fit, "--certificate", "proof.json", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["positive"] == "ill"
    truth = [line.split(",")[-1] for line in table.read_text().splitlines()[1:]]
    scored = [line.split(",") for line in mipclass("predict", "m.json", table, "--scores").stdout.splitlines()]
    assert all((float(score) > 0) == (label == "ill") for label, score in scored)
    assert not any(label == "ill" and true == "well" for (label, _), true in zip(scored, truth, strict=True))
    assert mipclass("verify", "proof.json", table, "--target", "state", "--positive", "ill").returncode == 0
    assert mipclass("verify", "proof.json", table, "--target", "state").returncode == 1
    exported = mipclass("export", table, "--target", "state", "--positive", "ill", "--fpr", 0, "--to", "m.lp")
    assert exported.returncode == 0
    objective = json.loads(mipclass("solve", "m.lp", "--json").stdout)["objective"]
    assert objective == pytest.approx(sum(label != true for (label, _), true in zip(scored, truth, strict=True)))
    unknown = mipclass("fit", table, "--target", "state", "--positive", "sick")
    assert (unknown.returncode, "the labels are ill, well" in unknown.stderr) == (1, True)
    compared = mipclass(
        "compare",
        table,
        "--target",
        "state",
        "--positive",
        "ill",
        "--folds",
        2,
        "--only",
        "linear SVM",
        "--fpr",
        0,
        "--json",
    )
    answer = json.loads(compared.stdout)
    assert answer["positive"] == "ill"
    assert [row["method"] for row in answer["rows"]] == ["linear SVM", "0-1 loss, FPR <= 0"]
    assert answer["rows"][1]["fewest possible"] == f"{objective:g}, proven"


def test_text_columns_become_zeros_and_ones_on_request(mipclass: Call, tmp_path: Path) -> None:
    lines = ["size,colour,y", "1,red,n", "2,red,n", "1,blue,p", "2,blue,p", "3,green,n", "1,green,n"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    refused = mipclass("fit", "t.csv", "--target", "y")
    assert (refused.returncode, "--one-hot" in refused.stderr) == (1, True)
    options = ["--target", "y", "--one-hot"]
    done = mipclass("fit", "t.csv", *options, "--out", "m.json", "--certificate", "c.json", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert set(answer["rule"]) == {"size", "colour=green", "colour=red", "(offset)"}
    assert answer["training_errors"] == 0
    assert mipclass("verify", "c.json", "t.csv", *options).returncode == 0
    (tmp_path / "new.csv").write_text("colour,size\nblue,2\nred,1\n")
    assert mipclass("predict", "m.json", "new.csv").stdout.split() == ["p", "n"]
    (tmp_path / "odd.csv").write_text("colour,size\nviolet,2\n")
    odd = mipclass("predict", "m.json", "odd.csv")
    assert (odd.returncode, "'violet'; the model knows blue, green, red" in odd.stderr) == (1, True)
    (tmp_path / "ids.csv").write_text("id,y\n" + "".join(f"a{k},{k % 2}\n" for k in range(101)))
    assert "101 different texts" in mipclass("fit", "ids.csv", *options).stderr
    (tmp_path / "hole.csv").write_text("a,y\nx,0\n,1\n")
    assert "line 3: column 'a' is missing" in mipclass("fit", "hole.csv", *options).stderr


def test_libsvm_columns_that_a_file_does_not_mention_are_zero(mipclass: Call, tmp_path: Path) -> None:
    (tmp_path / "train.svm").write_text("1 1:2 3:1\n-1 1:1 3:-1\n1 2:1 3:2\n-1 2:3 3:-2\n")
    assert mipclass("fit", "train.svm", "--positive", "-1", "--out", "m.json").returncode == 0
    (tmp_path / "new.svm").write_text("1 1:2\n1 2:1\n")
    (tmp_path / "same.svm").write_text("1 1:2 3:0 9:5\n1 2:1 3:0\n")
    done = mipclass("predict", "m.json", "new.svm", "--scores")
    assert done.returncode == 0, done.stderr
    assert done.stdout == mipclass("predict", "m.json", "same.svm", "--scores").stdout
    assert set(mipclass("predict", "m.json", "train.svm").stdout.split()) == {"1", "-1"}


def test_a_proof_uses_threads_and_is_kept_in_a_folder(mipclass: Call, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "proof"
    arguments = (
        "fit",
        table,
        "--target",
        "state",
        "--solver",
        "exact",
        "--threads",
        2,
        "--checkpoint",
        folder,
        "--json",
    )
    first, again = (mipclass(*arguments) for _ in range(2))
    assert first.returncode == again.returncode == 0
    assert json.loads(first.stdout)["bound"] == json.loads(again.stdout)["bound"]
    assert (folder / "problem.json").is_file()
    other = mipclass(*arguments[:4], "--solver", "exact", "--fpr", 0.2, "--checkpoint", folder)
    assert other.returncode == 1
    assert "belongs to another problem" in other.stderr
    refused = mipclass("fit", table, "--target", "state", "--model", "tau-fpl", "--checkpoint", folder)
    assert refused.returncode == 1
    assert "--checkpoint keeps proofs of --model zero-one" in refused.stderr
    both = mipclass(*arguments, "--dask", "tcp://127.0.0.1:1")
    assert both.returncode == 1
    assert "--threads and --dask exclude each other" in both.stderr
