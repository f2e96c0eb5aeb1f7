"""What models, results and tables of solvers look like: well-formed MathML and HTML that say what the plain text says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import mipclass
from mipclass import models
from mipclass.views.mathml import mathml
from mipclass.views.text_table import WIDTH, text_table
from mipclass.views.trace_picture import has_news, trace_picture

X, Y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]], ["no", "yes", "no", "yes"]
OBJECTIVES = [
    models.ZeroOne(on="positives"),
    0.5 * models.L2() + 3.0 * models.Ramp(theta=0.2, s=-1.0),
    models.L1() + models.SquaredHinge(),
    models.L1() + models.Squared() + models.Hinge(),
    0.1 * models.Logistic() + models.L2(),
    models.AverageViolation(),
    0.5 * models.L2() + models.TopKRanking(1),
]


def words(markup: str) -> str:
    """The text of a well-formed element without its marks and blanks."""
    return re.sub(r"\s", "", "".join(ElementTree.fromstring(markup).itertext()))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_models_are_typeset(objective: models.Objective) -> None:
    problem = models.Model(X, Y, minimize=objective, feature_names=["age & sex", "dose_1"])
    shown = problem._repr_html_()
    assert "<script" not in shown
    assert "<math" in shown
    assert "4points(2positive)x2features" in words(shown)


def test_constraints_are_typeset_with_the_names_of_the_features() -> None:
    problem = models.Model(X, Y, minimize=models.ZeroOne(), feature_names=["age & sex", "dose_1"])
    problem.subject_to(models.FalsePositiveRate(0.5), models.MaxFeatures(1))
    problem.subject_to(problem.w["dose_1"] - 2 * problem.w["age & sex"] >= 0)
    shown = words(problem._repr_html_())
    for part in ("∑ici[yif(xi)≤0]", "FPR≤0.5", "‖w‖0≤1", "−2wage&sex+wdose_1≥0"):
        assert part in shown
    assert r"w_{\text{dose\_1}} \ge 0" in problem.latex()


def test_rules_are_typeset() -> None:
    for rule, part in ((models.Polyhedron(2), "minj(gj−vjTx)"), (models.Kernel("rbf"), "∑jcjk(xj,x)")):
        assert part in words(models.Model(X, Y, rule=rule, minimize=models.Hinge())._repr_html_())


def test_latex_beyond_the_formulas_of_models_is_left_to_plain_text() -> None:
    for unknown in (r"\frac{1}{2}", "x_1_2", "{x", r"\text", "x}"):
        assert mathml(unknown) is None

    class Odd(models.L1):
        def latex(self) -> str:
            return r"\frac{1}{2} |w|"

        def formula(self) -> str:
            return "half of |w| < 3"

    problem = models.Model(X, Y, minimize=Odd() + models.Hinge())
    assert "halfof|w|<3" in words(problem._repr_html_())


def test_a_result_shows_rule_loss_bound_gap_scope_and_its_course() -> None:
    result = mipclass.solve(models.zero_one(X, Y, feature_names=["a<b", "dose"]), "highs")
    shown = result._repr_html_()
    text = words(f"<div>{shown}</div>")
    for part in ("optimal(proven)", result.rule, "objective0", "bound0", "gap0", "scope", "recountedyes"):
        assert part.replace(" ", "") in text
    wide = models.Model(
        X, Y, minimize=models.ZeroOne(), subject_to=[models.FalsePositiveRate(0), models.FalseNegativeRate(0)]
    )
    wide.subject_to(wide.w["x0"] <= 0, wide.w["x1"] >= 0)
    assert "explain" in mipclass.solve(wide, "highs")._repr_html_()


def test_the_course_of_a_solve_is_drawn_only_where_something_moved() -> None:
    assert trace_picture([(0.0, 5.0, None), (1.0, 5.0, 5.0)]) == ""
    assert not has_news([])
    moved = [(0.1, 9.0, float("-inf")), (0.5, 7.0, 2.0), (2.0, 7.0, 7.0)]
    picture = ElementTree.fromstring(trace_picture(moved))
    paths = [node.get("d") or "" for node in picture.iter("{http://www.w3.org/2000/svg}path")]
    assert len(paths) == 3  # axes, incumbent, bound
    assert words(trace_picture(moved)) == "9202ssecondsobjectiveincumbentbound"


def test_solvers_print_as_a_table() -> None:
    rows = mipclass.solvers()
    lines = str(rows).splitlines()
    assert lines[0].split() == ["solver", "kind", "installed", "takes", "promise"]
    assert any(re.match(r"highs +backend +yes +LP, MIP", line) for line in lines)
    assert max(map(len, lines)) <= WIDTH
    for_problem = mipclass.solvers(models.zero_one(X, Y))
    assert re.search(r"^osqp +no +lacks MIP$", str(for_problem), re.MULTILINE)
    assert "lacksMIP" in words(for_problem._repr_html_())
    assert isinstance(for_problem, list)


def test_columns_of_a_table_are_aligned() -> None:
    table = text_table(["name", "value"], [["w[age]", "12"], ["b", "-3.5"]], right=[1])
    assert table == "name    value\nw[age]     12\nb        -3.5"
