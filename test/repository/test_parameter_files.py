"""config/nodes.yaml and docs/parameters.md are what the list of parameters gives."""

from pathlib import Path

import pytest
import yaml

from hexapod_dynamics.parameters import catalogue
from hexapod_dynamics.tools.parameter_files import COMMAND, generate_files

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config"
# The section of a parameter file for all nodes.
ALL = "/**"


def sections(text):
    """Return {node, or "/**": {parameter: value}} of a parameter file."""
    return {name.removeprefix("/**/"): section["ros__parameters"] for name, section in yaml.safe_load(text).items()}


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documents are in the source tree only")
@pytest.mark.parametrize("name", generate_files())
def test_a_file_that_is_written_from_the_list_is_up_to_date(name):
    assert (ROOT / name).read_text(encoding="utf-8") == generate_files()[name], f"{name}: run {COMMAND}"


@pytest.mark.parametrize("file", sorted(path.name for path in CONFIG.glob("hardware_*.yaml")) + ["nodes.yaml"])
def test_every_value_of_a_parameter_file_is_one_that_the_node_accepts(file):
    known = {node: {parameter.name: parameter for parameter in each} for node, each in catalogue.NODES.items()}
    known[ALL] = {name: parameter for name, (parameter, _) in catalogue.list_shared().items()}
    checked = 0
    for node, values in sections((CONFIG / file).read_text(encoding="utf-8")).items():
        for name, value in values.items():
            parameter = known[node][name]
            assert type(value) is type(parameter.default), f"{file}, {node}: {name}"
            parameter.check(value)
            checked += 1
    assert checked >= 2
