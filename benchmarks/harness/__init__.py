"""A small resumable benchmark harness: a case is a function with parameters, a study is a list of cases and a report.

A script holds its functions, its list of cases and its report, and ends in `main`::

    from benchmarks.harness import Case, Results, Study

    def solve_ours(name, seed):               # any picklable function of plain parameters
        X, y = datasets.load(name)
        start = time.perf_counter()
        loss = ...
        return {"loss": loss, "seconds": time.perf_counter() - start}     # "seconds" may be left out

    def cases(full):
        names = ["liver_bupa", "pima", "cmc"] if full else ["liver_bupa"]
        for name in names:
            for label, function in {"ours": solve_ours, "peer": solve_peer}.items():
                yield Case(label, function, {"name": name, "seed": 0})

    def report(results):                      # markdown; results.compare(...) writes the usual table
        return results.compare(measure="seconds", baseline="peer")

    study = Study("my_study", "My study", cases, report, repeats=3)

    if __name__ == "__main__":
        study.main()

Run it from the repository's root, for example `python -m benchmarks.studies.zero_one.exact`: `--quick` (the default; one
repetition) or `--full`, `--jobs N`, `--repeats N`, `--only TEXT`, `--without TEXT`, `--fresh`, `--no-write`. Runs of different cells
of one study may go on side by side, each on a core of its own: they share the cache, and a last run without `--only` writes the section.

* A *cell* is one repetition of one case. Each finished cell is a line of JSON appended to `benchmarks/.cache/<study>.jsonl`: a killed run
  goes on where it stopped, and `--fresh` forgets the cells of its cases. Studies whose cells take hours (`Study(kept=True)`) append those of full
  runs to `benchmarks/cells/<study>.jsonl`, in the repository, so that a study can be completed on several days and machines.
* Cells run in the order repetition, then case: peers of the same parameters are timed next to each other, several times,
  so that a slow minute of the machine hits all of them. Comparisons use medians over the repetitions.
* The harness adds `seconds` (wall clock of the whole call, unless the function returned its own), `cpu_seconds` and
  `peak_mb` (growth of the resident memory over its level before the call; None where the system cannot tell).
* BLAS and OpenMP are held to `threads` threads (one by default) during a cell. `warmup()` is called once in each process
  before the study's first cell, for just-in-time compilation and imports.
* A case that raises is reported with its error, makes the run end with code 1, and is tried again by the next run.
* `--jobs N` runs cells in parallel through joblib; under `joblib.parallel_config("dask")` on a cluster. Use it for studies of
  quality, not of time.
* A study of a paper's tables may give `compared`: its cells beside the paper's, and the causes of those that are worse. A full
  run stores them in `benchmarks/comparisons/`, from which the page "Reproduction" is made.
* The report becomes one section of `benchmarks/RESULTS.md`, replaced in place, with dates, versions and machine, and with
  the number of cached cells that are older than the present source. A quick run never replaces the section of a full one.

Files: `case` says what is measured, `measuring` measures one cell, `store` keeps cells on disk, `results` reads them,
`section` writes RESULTS.md, `comparison` judges figures beside a paper's, `study` runs it all.
"""

from .case import Case, Cell, product
from .comparison import Cause, Comparison, Comparisons, compare_means, error_of_difference
from .measuring import measure
from .results import Results, table
from .study import Study

__all__ = [
    "Case",
    "Cause",
    "Cell",
    "Comparison",
    "Comparisons",
    "Results",
    "Study",
    "compare_means",
    "error_of_difference",
    "measure",
    "product",
    "table",
]
