"""Risk scores on the command line: from a file to a card, probabilities and an exported model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.app.conftest import Call


def test_a_risk_score_from_file_to_probabilities(mipclass: Call, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    age, smoker = np.round(rng.uniform(20, 80, 200), 1), rng.integers(0, 2, 200)
    ill = np.where(rng.logistic(size=200) < 1.5 * (age > 55) + smoker - 1.0, "ill", "well")
    rows = [f"{a},{s},{label}" for a, s, label in zip(age, smoker, ill, strict=True)]
    (tmp_path / "patients.csv").write_text("\n".join(["age,smoker,y", *rows, ""]))
    words = ["fit", "patients.csv", "--target", "y", "--positive", "ill", "--model", "risk-score"]
    limits = ["--max-features", "2", "--points", "3"]
    done = mipclass(*words, *limits, "--out", "card.json", "--report", "card.html", "--require-proof")
    assert done.returncode == 0, done.stderr
    assert "proven" in done.stdout
    assert "age >= " in done.stdout
    assert "probability of ill = " in done.stdout
    page = (tmp_path / "card.html").read_text()
    assert "<svg" in page
    assert "age &gt;= " in page
    predicted = mipclass("predict", "card.json", "patients.csv").stdout.splitlines()
    assert predicted[0] == "total,probability,label"
    assert len(predicted) == 201
    for line in predicted[1:]:
        total, probability, label = line.split(",")
        assert float(total) == int(float(total))
        assert (float(probability) > 0.5) == (label == "ill")
    machine = json.loads(mipclass(*words, *limits, "--json").stdout)
    assert set(machine["rule"]) >= {"(offset)"}
    assert all(
        weight == int(weight) and abs(weight) <= 3 for name, weight in machine["rule"].items() if name != "(offset)"
    )
    refused = mipclass("fit", "patients.csv", "--target", "y", "--points", "3")
    assert refused.returncode == 1
    assert "risk-score" in refused.stderr
    plain = mipclass("fit", "patients.csv", "--target", "y", "--report", "no.html", "--time-limit", "5")
    assert plain.returncode == 1
    assert "scorecard" in plain.stderr


def test_an_exported_risk_score_is_an_outer_approximation(mipclass: Call, tmp_path: Path) -> None:
    rows = [f"{k % 2},{k % 3},{int(k % 4 > 1)}" for k in range(24)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows, ""]))
    done = mipclass("export", "t.csv", "--target", "y", "--model", "risk-score", "--to", "t.lp")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "t.lp").read_text()
    assert "outer_approximation" in text.splitlines()[0]
    assert text.count(" tangent") > 3


def test_export_takes_the_points_of_a_risk_score_and_refuses_limits_that_a_model_does_not_have(
    mipclass: Call, tmp_path: Path
) -> None:
    rows = [f"{k % 2},{k % 3},{int(k % 4 > 1)}" for k in range(24)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows, ""]))
    written = mipclass("export", "t.csv", "--target", "y", "--model", "risk-score", "--points", "3", "--to", "t.lp")
    assert written.returncode == 0, written.stderr
    bounds = [line for line in (tmp_path / "t.lp").read_text().splitlines() if "w_a" in line and "<=" in line]
    assert any("-3" in line and "3" in line.split("<=")[-1] for line in bounds)
    for model, option in (("zero-one", "--points"), ("tau-fpl", "--max-features"), ("polyhedral", "--points")):
        refused = mipclass("export", "t.csv", "--target", "y", "--model", model, option, "3", "--to", "no.lp")
        assert refused.returncode == 1
        assert f"takes no {option}" in refused.stderr
        assert not (tmp_path / "no.lp").exists()
