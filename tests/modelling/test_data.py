"""Which label is the positive class, and which class a label names."""

from __future__ import annotations

import numpy as np
import pytest

from mipclass.errors import InvalidInputError
from mipclass.modelling.data import check_data

X = np.arange(8.0).reshape(4, 2)
y = np.array(["no", "yes", "no", "yes"])


@pytest.mark.parametrize(("pos_label", "positive"), [(None, "yes"), ("yes", "yes"), ("no", "no")])
def test_the_positive_class_is_the_larger_label_or_the_one_named(pos_label, positive):
    data = check_data(X, y, pos_label=pos_label)
    assert data.positive.tolist() == (y == positive).tolist()
    assert data.positive_is_larger == (positive == "yes")
    assert data.side_of(positive, "inside") == "positive"
    assert data.side_of("no" if positive == "yes" else "yes", "inside") == "negative"


def test_a_label_that_is_none_is_named_in_the_error():
    with pytest.raises(InvalidInputError, match="inside 'maybe' is not a label of y"):
        check_data(X, y).side_of("maybe", "inside")


@pytest.mark.parametrize(
    ("labels", "got"),
    [
        ([None, "b"], r"None \(NoneType\), 'b' \(str\)"),
        (["b", None], r"None \(NoneType\), 'b' \(str\)"),
        (np.array([1, "b"], dtype=object), r"1 \(int\), 'b' \(str\)"),
        (np.array([float("nan"), "b"], dtype=object), r"nan \(float\), 'b' \(str\)"),
    ],
)
def test_labels_that_cannot_be_compared_are_shown(labels, got):
    with pytest.raises(InvalidInputError, match=rf"must be comparable with each other.*cannot be sorted: {got}\. Drop"):
        check_data(X[:2], labels)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"sample_weight": [0, 1, 0, 1]}, "all points of class 0 have weight zero"),
        ({"pos_label": np.int64(7)}, "pos_label 7 is not a label"),
        ({"class_weight": {np.int64(7): 1.0}}, "class_weight names 7, which"),
        ({"class_weight": {np.int64(0): np.float64(-1.0)}}, r"got \{0: -1\.0\}"),
    ],
)
def test_messages_print_plain_values(fault, message):
    with pytest.raises(InvalidInputError, match=message):
        check_data(X, np.array([0, 1, 0, 1]), **fault)
