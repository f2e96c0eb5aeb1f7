"""Certificates as documents: written, read back, and tied to their data."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mipclass
from mipclass import models
from mipclass.certificates.certificate import Certificate, data_digest
from mipclass.errors import ReadError


@pytest.fixture(scope="module")
def solved():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X.sum(axis=1) + rng.normal(0, 1.5, 40) > 0, "yes", "no")
    problem = models.zero_one(X, y)
    return X, y, problem, mipclass.solve(problem, solver="exact")


def test_round_trip_through_a_file(solved, tmp_path):
    X, y, _, result = solved
    path = tmp_path / "proof.json"
    result.certificate.save(path)
    again = Certificate.load(path)
    assert again.to_json() == result.certificate.to_json()
    assert again.lower == again.upper == result.objective
    for form in (again, again.content, again.to_json(), path, str(path)):
        verdict = mipclass.verify(form, X, y)
        assert verdict.accepted
        assert verdict.optimal
    assert str(int(result.objective)) in repr(again)


def test_positive_label_may_be_the_smaller(solved):
    X, y, _, _ = solved
    result = mipclass.solve(models.zero_one(X, y, pos_label="no"), solver="exact")
    assert result.certified
    assert result.certificate.content["data"]["positive"] == "smaller"
    assert mipclass.verify(result.certificate, X, y).optimal


def test_the_digest_sees_values_order_and_labels():
    X, y = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1, -1])
    base = data_digest(X, y)["sha256"]
    assert data_digest(np.array([[-0.0, 1.0], [2.0, 3.0]]), y)["sha256"] == base
    assert data_digest(np.asfortranarray(X), y)["sha256"] == base
    for other in (X[::-1], X + 1e-16 * 3, X * 1.0000001):
        if not np.array_equal(other, X):
            assert data_digest(other, y)["sha256"] != base
    assert data_digest(X, -y)["sha256"] != base


def test_what_is_not_a_certificate_is_refused(tmp_path):
    with pytest.raises(ReadError, match="JSON"):
        Certificate.from_json("nonsense")
    with pytest.raises(ReadError, match="format"):
        Certificate.from_json(json.dumps({"format": "other"}))
