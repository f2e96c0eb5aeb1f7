"""One solve reads, merges and whitens its data once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.methods.exact import form as proof_form
from mipclass.methods.exact.exact import Exact
from mipclass.methods.zero_one import prepared
from mipclass.methods.zero_one.kernels import standardise


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the statement is read, points are merged and rows are whitened."""
    counted: Counter[str] = Counter()

    def count(module: object, name: str) -> None:
        own: Callable = getattr(module, name)

        def counting(*args: object, **settings: object) -> object:
            counted[name] += 1
            return own(*args, **settings)

        monkeypatch.setattr(module, name, counting)

    count(proof_form, "statement_of")
    count(prepared, "_places_of_equals")
    count(standardise, "standardised")
    return counted


def noisy(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d))
    return X, np.where(X.sum(axis=1) + rng.standard_normal(n) > 0, 1, -1)


@pytest.mark.parametrize(("solver", "read"), [("exact", 1), ("box", 1), ("iis", 1), ("pcs", 0), ("csa", 0), ("bnb", 0)])
def test_a_solve_reads_merges_and_whitens_once(calls, solver, read):
    result = mipclass.solve(models.zero_one(*noisy(30, 2)), solver=solver)
    assert result.objective > 0
    assert calls == Counter({"statement_of": read, "_places_of_equals": 1, "standardised": 1})


def test_the_smooth_search_whitens_once_for_the_middle_of_its_cell(calls):
    mipclass.solve(models.zero_one(*noisy(30, 2)), solver="sla")
    assert calls["_places_of_equals"] == 1
    assert calls["standardised"] <= 1
    assert calls["statement_of"] == 0


def test_both_provers_of_a_race_share_one_preparation(calls):
    result = mipclass.solve(models.zero_one(*noisy(60, 5)), solver="exact")
    assert {"bound_box", "bound_iis"} <= set(result.extra)
    assert calls == Counter({"statement_of": 1, "_places_of_equals": 1, "standardised": 1})


def test_matching_computes_nothing_dear(calls):
    form = Exact().match(models.zero_one(*noisy(30, 2)))
    assert calls == Counter({"statement_of": 1})
    assert form.data is form.data
    assert form.cover().n == form.cover().n == len(form.data.Z)
    assert calls == Counter({"statement_of": 1, "_places_of_equals": 1, "standardised": 1})
