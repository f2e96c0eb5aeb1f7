"""Comparisons measure what they say, and the page shows the numbers of the run in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mipclass import solve
from mipclass.app.compare import Comparison, compare, contenders
from mipclass.app.compositions import compositions_for
from mipclass.app.recommendation import recommend
from mipclass.app.report import cells, render
from mipclass.errors import InvalidInputError
from mipclass.models import zero_one

pytestmark = pytest.mark.filterwarnings("ignore::mipclass.errors.MipclassWarning")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")


def iris() -> tuple[np.ndarray, np.ndarray, list[str]]:
    data = load_iris()
    two = data.target > 0
    return data.data[two][::2], data.target_names[data.target[two]][::2], data.feature_names


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    X, y, names = iris()
    only = ["0-1 loss", "outlier path", "RGD-tree", "logistic regression"]
    return compare(X, y, feature_names=names, folds=2, only=only, time_limit=5)


def test_test_errors_are_those_of_nested_cross_validation(comparison: Comparison) -> None:
    X, y, _ = iris()
    errors = []
    for train, test in StratifiedKFold(2, shuffle=True, random_state=0).split(X, y):
        inner = StratifiedKFold(3, shuffle=True, random_state=0)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            {"logisticregression__C": [0.01, 0.1, 1.0, 10.0, 100.0]},
            cv=inner,
        )
        errors.append(np.mean(search.fit(X[train], y[train]).predict(X[test]) != y[test]))
    row = next(row for row in comparison.rows if row.name == "logistic regression")
    assert np.allclose(row.test_errors, errors)


def test_training_errors_respect_the_bound(comparison: Comparison) -> None:
    assert comparison.bound.claim == "proven"
    for row in comparison.rows:
        assert row.training_errors == np.sum(row.model.predict(comparison.X) != comparison.y)
        assert row.training_errors >= comparison.bound.bound


def test_page_is_self_contained(comparison: Comparison) -> None:
    page = render(comparison, "Iris <&>")
    assert "Iris &lt;&amp;&gt;" in page
    assert not re.search(r"(src|href)=[\"']https?:", page)
    for row in comparison.rows:
        assert cells(row)[2] in page


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine (Debian: apt-get install chromium)")
def test_page_renders_without_console_errors(comparison: Comparison, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render(comparison, "Iris"))
    quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-sync",
    ]
    command = [str(BROWSER), *quiet, f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr"]
    command += ["--window-size=1100,2600", f"--screenshot={tmp_path / 'page.png'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr
    for row in comparison.rows:
        assert cells(row)[2] in done.stdout
    assert done.stdout.count("<svg") >= 4


def test_a_failing_method_is_a_row_and_not_the_end() -> None:
    X, y, _ = iris()
    found = compare(X[:, :1] * 0, y, folds=2, only=["logistic regression", "0-1 loss"], time_limit=5)
    assert len(found.rows) == 2


@pytest.mark.slow
def test_compositions_are_rows_with_bounds_of_their_own() -> None:
    X, y, names = iris()
    asked = compositions_for(0.0, 1, True)
    found = compare(X, y, feature_names=names, folds=2, only=["logistic regression"], compositions=asked, time_limit=60)
    rows = {row.name: row for row in found.rows}
    assert list(rows) == [
        "logistic regression",
        "0-1 loss, FPR <= 0",
        "0-1 loss, 1 feature",
        "0-1 loss, whole weights",
        "0-1 loss, FPR <= 0, 1 feature, whole weights",
    ]
    for composition in asked:
        row = rows[composition.name]
        alone = solve(zero_one(X, y, subject_to=composition.constraints), "exact")
        assert row.training_errors == alone.objective == alone.bound
        assert row.fewest == f"{alone.bound:g}, proven"
        assert cells(row)[-1] == row.fewest
    assert rows["logistic regression"].fewest == ""
    together = rows[asked[-1].name]
    w = np.ravel(together.model.steps[-1][1].coef_)
    assert np.count_nonzero(w) == 1
    assert (w == np.round(w)).all()  # in the units of the data, not of standardised columns
    assert "whole weights" in render(found, "Iris")


def test_the_recommendation_may_name_a_composition() -> None:
    X, y, names = iris()
    asked = compositions_for(None, 1, True)
    found = compare(X, y, feature_names=names, folds=2, only=[], compositions=asked, time_limit=60)
    advice = recommend(found)
    assert advice is not None
    options = next(c.options for c in asked if c.name == advice.row.name)
    assert advice.command("iris.csv") == f"mipclass fit iris.csv --model zero-one {options} --out model.json"
    assert f"proven to be the fewest that a rule with {options} can make" in advice.text


def test_bad_calls() -> None:
    X, y, _ = iris()
    with pytest.raises(InvalidInputError, match="no method 'forest'; there are 0-1 loss"):
        compare(X, y, only=["forest"])
    with pytest.raises(InvalidInputError, match="folds must be between 2 and 25"):
        compare(X, y, folds=26)
    assert set(contenders(0.1)) >= {"0-1 loss", "polyhedral, h = 2", "RBF SVM"}
