"""The first hour of a new user: the calls and commands that come first, and what they have to say.

Each either does the natural thing or says what to write instead; the numbers are counted again from the data.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import mipclass
from mipclass import models
from mipclass.app.cli import main
from mipclass.app.compare import Comparison, Row, compare
from mipclass.app.fitted_table import FittedTable
from mipclass.app.recommendation import recommend
from mipclass.app.report import render
from mipclass.app.saving import load
from mipclass.errors import InvalidInputError

NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@dataclass
class Done:
    code: int
    out: str
    err: str


Call = Callable[..., Done]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line, called in this process, in a folder that holds the demo's data."""
    monkeypatch.chdir(tmp_path)
    X, y = flowers()
    rows = [",".join([*map(str, x), label]) for x, label in zip(X.tolist(), y, strict=True)]
    Path("demo.csv").write_text("\n".join([",".join([*NAMES, "species"]), *rows, ""]))
    tagged = [f"{k},flower {k},{row}" for k, row in enumerate(rows, start=1)]
    Path("tagged.csv").write_text("\n".join(["id,name," + ",".join([*NAMES, "species"]), *tagged, ""]))

    def call(line: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["mipclass", *line.split()])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return Done(int(stopped.value.code or 0), captured.out, captured.err)

    return call


def flowers() -> tuple[np.ndarray, np.ndarray]:
    iris = load_iris()
    two = iris.target > 0
    return iris.data[two], iris.target_names[iris.target[two]]


def problem() -> models.Model:
    X, y = flowers()
    return models.Model(X, y, minimize=models.ZeroOne(), feature_names=NAMES)


# -- composing and reading answers ---------------------------------------------------------------------------------------


def test_a_constraint_that_is_added_holds() -> None:
    task = problem()
    task.subject_to(task.w["petal_width"] == 0)
    result = mipclass.solve(task, "highs")
    assert result.values["w"][3] == 0
    X, y = flowers()
    assert result.objective == int((result.predict(X) != y).sum()) > 1
    assert "petal_width" not in result.rule
    assert result.classifier().score(X, y) == 1 - result.objective / 100


def test_answers_are_shown_in_notebooks() -> None:
    task = problem().subject_to(models.FalsePositiveRate(at_most=0.02), models.MaxFeatures(2))
    assert "<math" in task._repr_html_()
    shown = mipclass.solve(task, "highs")._repr_html_()
    for part in ("virginica if", "objective", "bound", "gap", "scope"):
        assert part in shown
    assert str(mipclass.solvers()).splitlines()[0].startswith("solver")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mipclass.solve(problem(), warm_start={"coef": [1, 2, 3, 4]}), "holds 'coef'.*it has w, b"),
        (lambda: problem().subject_to(problem().w > 0), "Write `>=`"),
        (lambda: models.ZeroOne() - models.L1(), "cannot be subtracted"),
        (lambda: models.ZeroOne() + models.L1() and problem().w["petal"], "no entry named 'petal'"),
    ],
)
def test_calls_that_cannot_work_say_what_to_write(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        call()


def test_what_cannot_be_is_explained() -> None:
    X, y = flowers()
    limits = [models.IntegerCoefficients(5), models.FalsePositiveRate(0.0), models.FalseNegativeRate(0.0)]
    task = models.Model(X, y, minimize=models.ZeroOne(), subject_to=limits)
    result = mipclass.solve(task, "highs")
    assert (result.status, "mipclass.explain(problem)" in str(result)) == ("infeasible", True)
    with pytest.raises(InvalidInputError, match=r"explain\(classifier.declare\(X, y\)\)"):
        mipclass.ZeroOneClassifier("highs", subject_to=limits).fit(X, y)


# -- the command line ----------------------------------------------------------------------------------------------------


def test_the_version(typed: Call) -> None:
    assert typed("--version").out == f"mipclass {mipclass.__version__}\n"


def test_a_missing_target_is_asked_for_by_name(typed: Call) -> None:
    for command in ("fit demo.csv", "compare demo.csv", "export demo.csv --to m.lp"):
        done = typed(command)
        assert (done.code, "Columns with exactly two values: species; e.g. --target species" in done.err) == (1, True)
    Path("three.csv").write_text("a,b\n1,x\n2,y\n3,z\n")
    assert "no column holds exactly two values" in typed("fit three.csv").err


def test_identifiers_and_names_are_left_out(typed: Call) -> None:
    refused = typed("fit tagged.csv --target species")
    assert "--ignore name" in refused.err
    assert "no column 'nam' to ignore; it has id, name" in typed("fit tagged.csv --target species --ignore nam").err
    done = typed("fit tagged.csv --target species --ignore id --ignore name --max-features 1 --out m.json")
    assert done.code == 0, done.err
    assert "virginica if petal_width > 1.75, else versicolor" in done.out
    assert re.search(r"true versicolor +49 +1\ntrue virginica +5 +45\n", done.out)
    assert "mipclass predict m.json NEW.csv" in done.out
    assert "mipclass compare tagged.csv --target species --ignore id --ignore name" in done.out
    assert "nothing below 6 is possible" in done.out


def test_predict_needs_the_columns_of_the_rule_alone(typed: Call) -> None:
    assert typed("fit demo.csv --target species --max-features 1 --out m.json").code == 0
    fitted = load("m.json")
    assert isinstance(fitted, FittedTable)
    assert fitted.used_columns() == ("petal_width",)
    X, _ = flowers()
    Path("new.csv").write_text("who,petal_width\n" + "".join(f"nobody,{x}\n" for x in X[:, 3]))
    said = typed("predict m.json new.csv").out.split()
    assert said == np.where(X[:, 3] > 1.75, "virginica", "versicolor").tolist()
    Path("other.csv").write_text("who,petal\nme,1\n")
    assert "lack the column 'petal_width', which the model uses" in typed("predict m.json other.csv").err


def test_no_features_says_which_class_is_always_predicted(typed: Call) -> None:
    done = typed("fit demo.csv --target species --max-features 0 --out m.json")
    assert re.search(r"rule +always (versicolor|virginica)", done.out)
    Path("empty.csv").write_text("who\nme\nyou\n")
    assert len(set(typed("predict m.json empty.csv").out.split())) == 1


def test_accuracy_on_held_out_rows_is_measured_on_request(typed: Call) -> None:
    done = typed("fit demo.csv --target species --model robust-svm --folds 5 --json")
    answer = json.loads(done.out)
    assert len(answer["held_out_accuracy"]) == 5
    assert 0.85 <= np.mean(answer["held_out_accuracy"]) <= 1
    assert np.sum(answer["confusion"]) == 100
    assert answer["training_errors"] == answer["confusion"][0][1] + answer["confusion"][1][0]
    told = typed("fit demo.csv --target species --model robust-svm --folds 5").out
    assert f"{np.mean(answer['held_out_accuracy']):.1%} right" in told
    assert "between 2 and 50" in typed("fit demo.csv --target species --model robust-svm --folds 51").err


def test_polyhedral_rules_are_printed(typed: Call) -> None:
    done = typed("fit demo.csv --target species --model polyhedral")
    rule = re.search(r"rule +(\w+) if (.*), else", done.out)
    assert rule is not None
    X, y = flowers()
    inside = np.ones(len(y), dtype=bool)
    for face in rule[2].split(" and "):
        left, sign, limit = re.fullmatch(r"(.*) ([<>]) (\S+)", face).groups()
        terms = re.findall(r"(-? ?)([\d.e-]*) ?(\w+_\w+)", left)
        total = sum((-1 if "-" in s else 1) * float(a or 1) * X[:, NAMES.index(name)] for s, a, name in terms)
        inside &= total > float(limit) if sign == ">" else total < float(limit)
    assert np.array_equal(np.where(inside, rule[1], "?") == y, inside)  # all training points are right, as printed
    assert inside.sum() == (y == rule[1]).sum()


def test_files_of_others_show_what_is_not_zero(typed: Call) -> None:
    assert "there is no file 'nofile.lp'" in typed("solve nofile.lp").err
    Path("other.lp").write_text(
        "Maximize\n obj: 3 steel + 2 copper_wire + tin\nSubject To\n c1: steel + copper_wire + tin <= 4\n c2: steel <= 3\nEnd\n"
    )
    done = typed("solve other.lp")
    assert re.search(r"2 of 3 columns are not zero +value\nsteel +3\ncopper_wire +1\n$", done.out)


def test_infeasible_files_point_to_explain(typed: Call) -> None:
    Path("no.lp").write_text("Minimize\n obj: x\nSubject To\n r: x >= 2\nBounds\n 0 <= x <= 1\nEnd\n")
    done = typed("solve no.lp")
    assert (done.code, "mipclass.explain" in done.out) == (4, True)
    assert re.search(r"cannot hold together:\n( +- .*\n)* +- .*\br\b", done.out)


# -- comparing -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    X, y = flowers()
    only = ["0-1 loss", "logistic regression", "linear SVM"]
    return compare(X[::2], y[::2], feature_names=NAMES, folds=2, only=only, time_limit=5)


def test_a_comparison_ends_with_a_recommendation(comparison: Comparison) -> None:
    advice = recommend(comparison)
    assert advice is not None
    best = min(row.test_error for row in comparison.rows)
    assert advice.row.test_error <= best + max(row.spread for row in comparison.rows)
    assert advice.text.startswith(f"use {advice.row.name}: {advice.row.test_error:.1%} test error")
    page = render(comparison, "flowers", "demo.csv --target species")
    assert page.index("class='advice'") < page.index("<table")
    assert "predicted wrongly" in page


def test_the_command_of_a_recommendation_names_its_model() -> None:
    nothing = np.zeros(2)
    for name, said in (
        ("0-1 loss", "--model zero-one --out"),
        ("outlier path", "--model robust-svm --out"),
        ("tau-FPL, tau = 0.05", "--model tau-fpl --fpr 0.05 --out"),
    ):
        row = Row(name, True, 1, nothing, nothing, 1.0, (), None)
        found = Comparison(
            (row,), mipclass.solve(problem(), "local"), *flowers(), np.array(["a", "b"]), tuple(NAMES), 2
        )
        advice = recommend(found)
        assert advice is not None
        assert said in advice.command("demo.csv --target species")


def test_of_equally_frequent_choices_the_first_is_named() -> None:
    nothing = np.zeros(4)
    row = Row("linear SVM", False, 1, nothing, nothing, 1.0, ("C = 10", "C = 1", "C = 1", "C = 10"), None)
    assert row.most_often_chosen == "C = 10"  # whatever the seed of hashes
