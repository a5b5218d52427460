"""`python -m hexapod_dynamics.tools.parameter_files`: config/nodes.yaml, config/ros2_control.yaml, docs/parameters.md.

The list of parameters is `hexapod_dynamics.parameters`; run this command in the repository after changing the
list.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import yaml

from hexapod_dynamics.parameters import catalogue
from hexapod_dynamics.parameters.spec import Derived, ParameterSpec
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.ros2_control import CONTROLLERS_HEAD, controllers_yaml
from hexapod_dynamics.tools.command_line import make_parser

COMMAND = "python -m hexapod_dynamics.tools.parameter_files"
WIDTH = 120
YAML_HEAD = f"""\
# Written by `{COMMAND}`: change hexapod_dynamics/parameters/ instead.
# The parameters that are changed most often; docs/parameters.md has all. A file of your own (`params_file:=`) is read
# after this one and needs only what differs.
"""
PAGE_HEAD = f"""\
# Parameters

After this page you can set any parameter of a node. A launch takes them from `config/nodes.yaml`, on a real robot
then from its `config/hardware_*.yaml`, then from the file given as `params_file:=`. `ros2 param set` changes a
parameter that is marked "live"; a node reads the others once, at its start. A value of another type, out of the range
or not among the choices is refused with what is allowed. A number of type double needs a decimal point.
`use_sim_time` has to stay false.

`{COMMAND}` writes this page and `config/nodes.yaml` from `hexapod_dynamics/parameters/`.
"""
COLUMNS = ("parameter", "type", "default", "allowed", "live", "meaning")


def yaml_value(value: object) -> str:
    """Return a value as YAML in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()


def yaml_section(name: str, parameters: Iterable[ParameterSpec]) -> str:
    """Return the section of a node in config/nodes.yaml, with comments behind the values, or above them if they
    are long.
    """
    rows = []
    for each in parameters:
        own = each.file_value is not None  # a value of the file
        text = f"    {each.name}: {yaml_value(each.file_value if own else each.default)}"
        rows.append((text, f"{each.description}; {each.file_reason}" if own else each.description))
    column = max(len(text) for text, _ in rows if len(text) < 40) + 2
    lines = [f"{name}:", "  ros__parameters:"]
    for text, words in rows:
        line = f"{text:{column}}# {words}"
        if len(text) < column and len(line) <= WIDTH:
            lines.append(line)
        else:
            lines += textwrap.wrap(words, WIDTH, initial_indent="    # ", subsequent_indent="    # ")
            lines.append(text)
    return "\n".join(lines) + "\n"


def nodes_yaml() -> str:
    """Return the text of config/nodes.yaml."""
    sections = {"/**": [parameter for parameter, _ in catalogue.list_shared().values()]}
    sections |= {f"/**/{node}": catalogue.list_own(node) for node in catalogue.NODES}
    chosen = {name: [p for p in parameters if p.in_file] for name, parameters in sections.items()}
    return "\n".join([YAML_HEAD, *(yaml_section(name, each) for name, each in chosen.items() if each)])


def format_default(parameter: ParameterSpec) -> str:
    """Return the default of a ParameterSpec for the table, and a different value in config/nodes.yaml."""
    if isinstance(parameter.default, Derived):
        return parameter.default.text
    text = "empty" if parameter.default in ("", [""]) else f"`{yaml_value(parameter.default)}`"
    if parameter.file_value is not None:
        text += f"; in `config/nodes.yaml` `{yaml_value(parameter.file_value)}`: {parameter.file_reason}"
    return text


def format_row(parameter: ParameterSpec, *more: str) -> str:
    """Return a ParameterSpec as a row of the table."""
    bounds = (str(bound) if isinstance(bound, int) else f"{bound:.6g}" for bound in (parameter.low, parameter.high))
    allowed = "" if parameter.low is None else " to ".join(bounds)
    if parameter.choices is not None:
        allowed = ", ".join(f"`{choice}`" for choice in parameter.choices)
    live = "" if parameter.read_only else "live"
    meaning = parameter.description.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
    cells = (f"`{parameter.name}`", parameter.type, format_default(parameter), allowed, live, meaning, *more)
    return f"| {' | '.join(cells)} |"


def table(rows: Iterable[str], *more: str) -> str:
    """Return the head of the table and its rows as lines."""
    columns = (*COLUMNS, *more)
    return "\n".join([f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *rows]) + "\n"


def parameters_page() -> str:
    """Return the text of docs/parameters.md."""
    shared = [format_row(parameter, ", ".join(nodes)) for parameter, nodes in catalogue.list_shared().values()]
    parts = [PAGE_HEAD, "## Several nodes\n", table(shared, "nodes")]
    for node in catalogue.NODES:
        parts.append(f"## {node}\n")
        if node in catalogue.NOTES:
            parts.append(textwrap.fill(catalogue.NOTES[node], WIDTH, break_on_hyphens=False) + "\n")
        parts.append(table([format_row(parameter) for parameter in catalogue.list_own(node)]))
    return "\n".join(parts)


def generate_files() -> dict[str, str]:
    """Return the texts of the files, by their paths in the repository."""
    return {
        "config/nodes.yaml": nodes_yaml(),
        "docs/parameters.md": parameters_page(),
        "config/ros2_control.yaml": CONTROLLERS_HEAD + controllers_yaml(Robot.jethexa()),
    }


def main(args: list[str] | None = None) -> None:
    """Write the files into the repository, the present folder."""
    make_parser(COMMAND, __doc__).parse_args(args)
    for name, text in generate_files().items():
        if not Path(name).parent.is_dir():
            sys.exit(f"{Path.cwd()} has no folder {Path(name).parent}: run this in the repository")
        Path(name).write_text(text, encoding="utf-8")
        print(f"{name} written")


if __name__ == "__main__":
    main()
