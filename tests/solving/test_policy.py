"""One policy for "auto": the same answer at every door, only the winner imported, the next solver after a rough one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import mipclass
from mipclass import ZeroOneClassifier, models
from mipclass.backends import registry as backends
from mipclass.backends.base import Backend, Solution
from mipclass.errors import OptionError
from mipclass.modelling.program import Feature, Program
from mipclass.protocol.result import Status
from mipclass.solving import policy
from mipclass.solving.policy import Effort
from tests.truth.zero_one import least_loss


def overlapping(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return X, y


def test_every_door_gives_the_same_answer(tmp_path: Path) -> None:
    """`solve`, the estimator and the command line on one 40 x 3 problem."""
    X, y = overlapping(40, 3)
    solved = mipclass.solve(models.zero_one(X, y))
    fitted = ZeroOneClassifier().fit(X, y).result_
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,c,y", comments="", fmt="%.17g")
    command = [sys.executable, "-m", "mipclass", "fit", "t.csv", "--target", "y", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout)
    assert solved.solver == fitted.solver == shown["solver"] == "exact"
    assert solved.claim == fitted.claim == shown["claim"] == "proven"
    assert solved.objective == fitted.objective == shown["objective"]


def test_the_result_says_why() -> None:
    X, y = overlapping(30, 2)
    auto = mipclass.solve(models.zero_one(X, y)).extra["auto"]
    assert auto["solver"] == "exact"
    assert "0-1 loss" in auto["why"]
    assert auto["tried"] == ()
    assert "auto" not in mipclass.solve(models.zero_one(X, y), "exact").extra


@pytest.mark.parametrize("effort", list(Effort))
def test_no_solver_is_named_twice(effort: Effort) -> None:
    X, y = overlapping(30, 2)
    for problem in (models.zero_one(X, y), models.rlp(X, y), models.robust_svm(X, y), models.outlier_svm(X, y, 2)):
        names = [choice.solver for choice in policy.choices(problem, effort)]
        assert len(names) == len(set(names)) > 0


def test_a_linear_program_imports_no_method_and_no_numba() -> None:
    code = (
        "import sys, numpy as np, mipclass\n"
        "from mipclass.modelling.builder import Builder\n"
        "b = Builder('small'); x = b.variables('x', 2, lower=0.0); b.minimize(np.array([1.0, 2.0]) @ x)\n"
        "b.subject_to('row', x[0] + x[1] >= 1.0)\n"
        "result = mipclass.solve(b.build()); assert result.objective == 1.0, result\n"
        "print([m for m in sys.modules if m.startswith('mipclass.methods.') and m != 'mipclass.methods.base' or m == 'numba'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class RoughBackend(Backend):
    """It always ends in a numerical error, with or without a point."""

    name: ClassVar[str] = "rough"
    features: ClassVar[frozenset[Feature]] = frozenset(Feature)
    module: ClassVar[str] = "numpy"
    distribution: ClassVar[str] = "numpy"

    def solve(self, program: Program, run: Any, start: Any = None) -> Solution:
        return Solution(Status.NUMERICAL_ERROR, "rough on purpose")


@pytest.fixture
def rough_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backends.BACKENDS, "rough", f"{__name__}:RoughBackend")
    monkeypatch.setattr(policy, "BY_KIND", {kind: ("rough", *names) for kind, names in policy.BY_KIND.items()})


@pytest.mark.usefixtures("rough_first")
def test_after_a_numerical_error_the_next_solver_answers() -> None:
    X, y = overlapping(30, 2)
    problem = models.Model(X, y, minimize=0.5 * models.L2() + models.Hinge())
    result = mipclass.solve(problem)
    truth = mipclass.solve(problem, "highs")
    assert result.claim == "proven"
    assert result.objective == pytest.approx(truth.objective, rel=1e-6)
    assert result.extra["auto"]["solver"] == result.solver != "rough"
    assert "rough on purpose" in result.extra["auto"]["tried"][0]
    assert mipclass.solve(problem, "rough").status == "numerical_error"  # a solver that was named is never switched


class DenyingBackend(RoughBackend):
    """It calls every program infeasible."""

    name: ClassVar[str] = "denying"

    def solve(self, program: Program, run: Any, start: Any = None) -> Solution:
        return Solution(Status.INFEASIBLE, "infeasible on purpose", bound=float("inf"))


class UnsureBackend(RoughBackend):
    """It finds a feasible point and ends in a numerical error all the same."""

    name: ClassVar[str] = "unsure"

    def solve(self, program: Program, run: Any, start: Any = None) -> Solution:
        from mipclass.backends.highs import HighsBackend

        found = HighsBackend().solve(program, run)
        return Solution(Status.NUMERICAL_ERROR, "unsure on purpose", x=found.x, objective=found.objective)


def test_a_point_in_hand_outweighs_a_later_word_of_infeasibility(monkeypatch: pytest.MonkeyPatch) -> None:
    for backend in (UnsureBackend, DenyingBackend):
        monkeypatch.setitem(backends.BACKENDS, backend.name, f"{__name__}:{backend.__name__}")
    monkeypatch.setattr(policy, "BY_KIND", dict.fromkeys(policy.BY_KIND, ("unsure", "denying")))
    X, y = overlapping(20, 2)
    result = mipclass.solve(models.Model(X, y, minimize=models.L1() + models.Hinge()))
    assert result.solver == "unsure"
    assert (result.status, result.claim, result.recounted) == ("numerical_error", "heuristic", True)
    assert result.has_point
    assert "unsure on purpose" in result.extra["auto"]["tried"][0]


@pytest.mark.usefixtures("rough_first")
def test_options_are_for_the_first_choice() -> None:
    """A next solver that does not know them runs without them; the first one refuses what it does not know."""
    X, y = overlapping(20, 2)
    problem = models.Model(X, y, minimize=0.5 * models.L2() + models.Hinge())
    with pytest.raises(OptionError, match="no option"):
        mipclass.solve(problem, options={"presolve": "off"})


def test_an_svm_qp_is_solved_in_a_plain_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra piqp; with columns of very different size HiGHS ends rough and Clarabel answers."""
    from mipclass.backends.piqp import PiqpBackend

    monkeypatch.setattr(PiqpBackend, "is_installed", classmethod(lambda cls: False))
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 30)) * np.logspace(-3, 3, 30)
    y = (rng.normal(size=120) + X[:, 15] > 0).astype(int)
    result = mipclass.solve(models.Model(X, y, minimize=0.5 * models.L2() + models.Hinge()))
    assert result.claim == "proven"
    assert result.solver == "cvxpy:CLARABEL"


@pytest.mark.parametrize("seed", range(5))
def test_the_estimators_budget_still_proves_small_sets(seed: int) -> None:
    X, y = overlapping(12, 2, seed)
    fitted = ZeroOneClassifier().fit(X, y)
    assert fitted.result_.claim == "proven"
    assert fitted.loss_ == least_loss(X, np.where(y > 0, 1.0, -1.0), np.ones(12))


def test_without_a_limit_large_sets_are_fitted_by_a_fixed_number_of_steps() -> None:
    X, y = overlapping(400, 12)
    fitted = ZeroOneClassifier().fit(X, y).result_
    assert fitted.solver == "csa"
    assert "longer than about a second" in fitted.extra["auto"]["why"]
    assert ZeroOneClassifier(time_limit=0.5).fit(X, y).result_.solver == "exact"


@pytest.mark.parametrize(
    ("n", "d", "solver"), [(2000, 2, "exact"), (100, 4, "exact"), (5_000, 4, "csa"), (70, 12, "csa")]
)
def test_what_takes_about_a_second(n: int, d: int, solver: str) -> None:
    X = np.random.default_rng(0).standard_normal((n, d))
    problem = models.zero_one(X, np.arange(n) % 2)
    assert next(policy.choices(problem, Effort.SECOND)).solver == solver
    assert next(policy.choices(problem, Effort.PROOF)).solver == "exact"


def test_the_hard_margin_loss_of_few_features_is_proven_by_directions() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 2)) + y[:, None]
    result = mipclass.solve(models.Model(X, y, minimize=0.5 * models.L2() + models.ZeroOne(margin=1)))
    assert result.solver == "directions"
    assert result.claim == "proven"
    assert result.certified


@pytest.mark.parametrize(
    "constraint", [None, models.Monotone({0: 1}), models.Bounds(w=(-5, 5)), models.FalsePositiveRate(0.3)]
)
def test_the_loss_with_a_margin_is_proven_with_a_certificate(constraint) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    y = np.where(X[:, 0] + rng.normal(0, 1.0, 20) > 0, 1, -1)
    problem = models.Model(X, y, minimize=models.ZeroOne(margin=1), subject_to=() if constraint is None else constraint)
    result = mipclass.solve(problem)
    assert result.solver == "iis"
    assert result.claim == "proven"
    assert result.certified
