"""FasterRisk (Liu, Zhong, Li, Seltzer & Rudin, NeurIPS 2022), run by another interpreter.

The package asks for older versions of NumPy and scikit-learn, so it lives in an environment of its own:

    python -m venv fasterrisk && fasterrisk/bin/pip install fasterrisk
    export MIPCLASS_FASTERRISK=fasterrisk/bin/python
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "MIPCLASS_FASTERRISK"
"""The environment variable that names the interpreter."""

SCRIPT = """
import json, sys, time
import numpy as np
from fasterrisk.fasterrisk import RiskScoreOptimizer
data = np.load(sys.argv[1])
start = time.perf_counter()
optimizer = RiskScoreOptimizer(X=data["X"], y=data["y"], k=int(sys.argv[2]), lb=-int(sys.argv[3]), ub=int(sys.argv[3]))
optimizer.optimize()
multiplier, offset, points = optimizer.get_models(model_index=0)
seconds = time.perf_counter() - start
print(json.dumps({"w": np.asarray(points).tolist(), "b": float(offset), "multiplier": float(multiplier), "seconds": seconds}))
"""


def is_here() -> bool:
    """The variable names an interpreter."""
    return bool(os.environ.get(VARIABLE))


def fit(X: Any, y: Any, k: int = 5, points: int = 5) -> dict[str, Any]:
    """The best card of FasterRisk's pool: w, b, multiplier, and the seconds of the search without imports."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, X=np.asarray(X, dtype=np.float64), y=np.asarray(y, dtype=np.float64))
        command = [os.environ[VARIABLE], "-c", SCRIPT, str(file), str(k), str(points)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
