#!/usr/bin/env bash
# The share of the package's lines that the tests execute, kernels apart: `bash benchmarks/coverage.sh python`.
# Compiled code is invisible to coverage, so that kernels count where tests/kernels/test_without_compiler.py runs them as Python.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
kernels="*/kernels/*,*/numeric/*,*/checker/*_kernel.py"
"$python" -m coverage erase
"$python" -m coverage run -m pytest -q -n 2 --dist loadfile
"$python" -m coverage run -m pytest -q -n 0 -m slow tests/kernels
"$python" -m coverage combine -q
rm -f .coverage.*  # of processes that tests killed
"$python" -m coverage report --omit="$kernels" --format=text --skip-covered
echo "without kernels: $("$python" -m coverage report --omit="$kernels" --format=total --precision=1) % of the lines"
echo "kernels: $("$python" -m coverage report --include="$kernels" --format=total --precision=1) % of the lines"
