"""Every example runs, draws something and can save it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.breadth import mostly_slow
from tests.paths import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LONG = (
    "plot_equal_rates",
    "plot_false_positive_limit",
    "plot_gap_trace",
    "plot_go_on_in_cvxpy",
    "plot_go_on_in_pyomo",
    "plot_hard_margin",
    "plot_outlier_path",
    "plot_polyhedral",
    "plot_rgd_width_curve",
    "plot_swap_solvers",
    "plot_tau_fpl",
    "plot_zero_one_tree",
)
"""Examples that take more than a second."""


@pytest.mark.parametrize(
    "script", mostly_slow(EXAMPLES, [path for path in EXAMPLES if path.stem not in LONG]), ids=lambda path: path.stem
)
@pytest.mark.filterwarnings("default")
def test_example_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(f"example_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    picture = tmp_path / f"{script.stem}.png"
    figure = module.main(str(picture))
    assert picture.stat().st_size > 5_000
    assert figure.axes
    assert all(axes.has_data() for axes in figure.axes if axes.get_visible() and axes.axison)


def test_every_example_says_its_point() -> None:
    assert EXAMPLES
    for script in EXAMPLES:
        assert script.read_text().startswith('"""'), f"{script.name} needs a docstring that states its one point"
