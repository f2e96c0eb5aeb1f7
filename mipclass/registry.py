"""Tables of strings: which solver name lives where. Nothing is imported until it is asked for.

Third parties add a backend or a method without touching this file, by an entry point in the group
`mipclass.backends` or `mipclass.methods` whose name is the solver's name.
"""

from __future__ import annotations

BACKENDS: dict[str, str] = {
    "highs": "mipclass.backends.highs:HighsBackend",
}

METHODS: dict[str, str] = {}
