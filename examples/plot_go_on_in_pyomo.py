"""Go on in Pyomo: features cost money, and a budget says how many may be bought. Solved with mipclass again."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import pyomo.environ as pyo
from sklearn.datasets import load_wine

import mipclass
from mipclass import models
from mipclass.plots.style import styled

BUDGETS = (0, 2, 4, 6, 9, 13)
PRICES = {"alcohol": 2, "malic_acid": 4, "ash": 3, "alcalinity_of_ash": 3, "magnesium": 5}


@styled
def main(path: str | None = None) -> Any:
    """Draw the figure, and save it if a path is given."""
    wine = load_wine(as_frame=True)
    few = wine.data.loc[wine.target > 0, list(PRICES)][::2]
    y = wine.target[wine.target > 0][::2]
    X = (few - few.mean()) / few.std()
    problem = models.Model(X, y, minimize=models.ZeroOne())
    model = problem.program().to_pyomo()

    # From here on it is an ordinary Pyomo model whose variables bear the names of the features.
    model.bought = pyo.Var(list(PRICES), within=pyo.Binary)
    model.upper = pyo.Constraint(list(PRICES), rule=lambda m, j: m.w[j] <= m.w[j].ub * m.bought[j])
    model.lower = pyo.Constraint(list(PRICES), rule=lambda m, j: m.w[j] >= m.w[j].lb * m.bought[j])
    model.budget = pyo.Param(initialize=0, mutable=True)
    model.spent = pyo.Constraint(expr=sum(PRICES[name] * model.bought[name] for name in PRICES) <= model.budget)

    errors, bought = [], []
    for budget in BUDGETS:
        model.budget.set_value(budget)
        result = mipclass.solve(model, "highs", time_limit=20)
        errors.append(result.objective)
        bought.append([name for name in PRICES if model.bought[name].value > 0.5])
        print(
            f"budget {budget:2d}: {result.objective:g} errors ({result.claim}), buys {', '.join(bought[-1]) or 'nothing'}"
        )
    figure, axes = plt.subplots(figsize=(8, 4.5))
    axes.step(BUDGETS, errors, where="post", marker="o")
    for budget, error, names in zip(BUDGETS, errors, bought, strict=True):
        axes.annotate("\n".join(names), (budget, error), xytext=(5, 4), textcoords="offset points", fontsize=8)
    axes.set(xlabel="budget for features", ylabel=f"fewest errors of {len(y)}", xlim=(-0.5, 16), ylim=(0, 30))
    axes.set_title("A constraint written in Pyomo, the loss and its proof from mipclass")
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "go_on_in_pyomo.png")
