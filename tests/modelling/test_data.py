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
