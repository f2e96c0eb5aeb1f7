"""Two sets that no line separates: h = 2, 3, 4 half-planes do, and with a common barycentre one line is no help at all.

Re-makes the situations of figures 5 to 7 of Astorino & Gaudioso (2002); the paper's points are not printed, so sets with
the same properties are drawn. Run with a file name to save the figure: python examples/plot_polyhedral.py out.png
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from mipclass import PolyhedralClassifier, datasets
from mipclass.plots import DecisionRegionDisplay
from mipclass.plots.style import styled


@styled
def main(path=None):
    """Draw the figure, and save it if a path is given."""
    figure, axes = plt.subplots(2, 3, figsize=(13, 8.4), layout="constrained")
    for column, h in enumerate((2, 3, 4)):
        X, y = datasets.astorino_gaudioso(h, random_state=h)
        for row, planes in enumerate((1, h)):
            model = PolyhedralClassifier(n_hyperplanes=planes, inside=1).fit(X, y)
            display = DecisionRegionDisplay.from_estimator(model, X, y, ax=axes[row, column])
            trivial = ", v = 0" if not model.hyperplanes_.any() else ""
            error = round(model.result_.objective, 9)
            display.ax_.set_title(
                f"h = {planes}: f = {error:.3g}{trivial}, {display.errors} of {len(y)} wrong ({model.result_.claim})"
            )
    figure.suptitle(
        "h half-planes separate what one line cannot; at a common barycentre (left, right) one line is trivial"
    )
    if path is not None:
        figure.savefig(path)
    return figure


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
