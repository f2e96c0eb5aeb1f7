"""What the files beside the package say about it agrees: version, dependencies, addresses."""

from __future__ import annotations

import re
import tomllib

import mipclass
from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text()
CITATION = (ROOT / "CITATION.cff").read_text()


def test_versions_agree() -> None:
    stated = {
        PROJECT["version"],
        mipclass.__version__,
        *re.findall(r"^version: (\S+)$", CITATION, re.MULTILINE),
        *re.findall(r"^  version: (\d\S+)$", RECIPE, re.MULTILINE),
    }
    assert stated == {mipclass.__version__}


def test_recipe_has_the_dependencies() -> None:
    run = RECIPE.partition("  run:\n")[2].partition("\ntests:")[0]
    listed = {"".join(line.split()) for line in re.findall(r"^    - (?!python )(.*)$", run, re.MULTILINE)}
    assert listed == set(PROJECT["dependencies"])


def test_pythons_agree() -> None:
    """The versions of Python that the metadata names are those that the workflow runs."""
    named = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    run = re.search(r"python: \[(.*)\]", workflow)
    assert run is not None
    assert re.findall(r"3\.\d+", run.group(1)) == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_addresses_agree() -> None:
    home = PROJECT["urls"]["Homepage"]
    site = (ROOT / "mkdocs.yml").read_text()
    for text in (RECIPE, CITATION, site):
        assert home in text
        assert PROJECT["urls"]["Documentation"] in text
