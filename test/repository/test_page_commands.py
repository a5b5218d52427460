"""Every command on the pages is one that there is; the Python on them and every program in examples/ run without an
error.

The program or launch file that gets the words of a command parses them. Nothing is started: a tool's own parser reads
its words, and the test ends it there. Those for other programs of the computer: test_deploy.py.
"""

import argparse
import importlib
import importlib.util
import os
import re

import numpy as np
import pytest
from support.page_commands import ALL, NOT_COMMANDS, PAGES, ROOT
from support.programs import module_of, python, quick_compiler, run

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the pages are in the source tree only")
# Indented lines that are no commands: formulas, what a program prints.
NO_SHELL = re.compile(r"RM missing: |L\(h, k\) = |C_[0i][0i] = ")
TOOLS = dict(re.findall(r'"(\w+)": f"\{package_name\}\.([\w.]+):\w+"', (ROOT / "setup.py").read_text()))
TOOLS |= {"set_morphology": "tools.set_morphology", "stop": "tools.stop"}
NODES = set(
    re.findall(r'^    "(\w+)",$', (ROOT / "setup.py").read_text().partition("NODES")[2].partition(")")[0], re.M)
)


class ParsedError(Exception):
    """Raised in place of what a tool does once it has parsed its words."""


@pytest.fixture
def parse_only(monkeypatch, tmp_path):
    """Let every tool end when its own parser has read its words; no robot that runs on this machine is stopped."""
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(tmp_path))
    original = argparse.ArgumentParser.parse_args

    def parse(self, args=None, namespace=None):
        original(self, args, namespace)
        raise ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse)
    monkeypatch.setattr(os, "setpriority", lambda *_: None)  # `stop` would give these tests the highest
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")


def check_tool(name, words):
    assert name in TOOLS or name in NODES, f"{name} is no executable of setup.py"
    if name in NODES:
        assert not words or words[0] == "--ros-args", words
        return
    main = importlib.import_module(f"hexapod_dynamics.{TOOLS[name]}").main
    with pytest.raises(ParsedError):
        main([name, *words] if name == "set_morphology" else words)


def check_launch(name, words):
    known = {argument.name: argument for argument in module_of(ROOT / "launch" / name).ARGUMENTS}
    for word in words:
        if word == "--show-args":
            continue
        key, sign, value = word.partition(":=")
        assert sign and key in known, f"{word}: {name} takes {', '.join(known)}"
        choices = known[key].choices
        assert not choices or value in choices, f"{word}: {choices}"
        if key == "truth":
            importlib.import_module("hexapod_dynamics.simulation").Truth.parse(value)
        if key == "faults":
            importlib.import_module("hexapod_dynamics.devices.faults").parse(value)


def check_ros2(words):
    verb, rest = words[0], words[1:]
    if verb == "run":
        if rest[0] == "hexapod_dynamics":
            check_tool(rest[1], rest[2:])
    elif verb == "launch":
        assert rest[0] == "hexapod_dynamics"
        check_launch(rest[1], rest[2:])
    else:  # verbs of ROS 2 itself, of which ros2_tools has the most
        assert (verb, rest[0]) in {
            *[("topic", one) for one in ("echo", "hz", "list", "pub")],
            *[("param", one) for one in ("list", "set", "get", "describe")],
            *[("bag", one) for one in ("record", "play", "info")],
            *[("service", one) for one in ("list", "call")],
            ("node", "list"),
        }, words


def check_python(words):
    if words[:2] == ["-m", "pip"]:
        words = words[2:]
        extras = re.findall(r"hexapod_dynamics\[(\w+)\]", " ".join(words))
        assert words[0] in ("install", "wheel")
        assert set(extras) <= {"attitude", "jetson", "casadi", "learning", "sim", "view", "docs", "test"}
    elif words[0] == "-m":
        assert importlib.util.find_spec(words[1]) is not None or words[1] in ("sphinx", "build"), words
    elif words[0] != "-c":
        program = ROOT / words[0]
        program = program / "__main__.py" if program.is_dir() else program
        assert program.is_file(), words
        # Programs of benchmark/ share parsers; running `--help` of each would import all that they measure.
        shared = program.is_relative_to(ROOT / "benchmark")
        sources = [program, *(program.parent.rglob("*.py") if shared else ())]
        parsers = "".join(source.read_text(encoding="utf-8") for source in sources)
        for option in (word for word in words[1:] if word.startswith("--")):
            assert option.partition("=")[0] in parsers, f"{words[0]} has no {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_indented_line_is_a_command_that_is_checked(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S).replace("\\\n        ", " ")
    lines = {line.strip() for line in re.findall(r"^(?:    |\t)(\S.*)$", text, re.M) if not NO_SHELL.match(line)}
    assert lines <= {line for on, line, _ in ALL if on == page}
    assert not [line for line in lines if NOT_COMMANDS.search(line)], "a line that cannot be pasted"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_are_ones_that_there_are(page, parse_only):
    lines = [line for on, line, _ in ALL if on == page]
    done = run("bash", "-n", input="\n".join(re.sub(r"<[^>]*>", "x", line) for line in lines))
    assert done.returncode == 0, done.stderr
    for on, line, words in ALL:
        if on != page or NOT_COMMANDS.search(line):
            continue
        name, rest = words[0], words[1:]
        try:
            if name == "ros2":
                check_ros2(rest)
            elif name in ("python", "python3"):
                check_python(rest)
            elif name == "pip":
                check_python(["-m", "pip", *rest])
            elif re.match(r"\.?/?(scripts|\.ci)/", name):
                program = ROOT / name
                assert program.stat().st_mode & 0o111
                for option in (word for word in rest if word.startswith("--")):
                    assert option in program.read_text(encoding="utf-8")
        except (AssertionError, SystemExit) as error:
            pytest.fail(f"{page.name}: {line}\n{error}")


def blocks():
    for page in PAGES:
        for number, code in enumerate(
            re.findall(r"^```python$(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
        ):
            yield pytest.param(code, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("code", list(blocks()))
def test_the_python_on_a_page_runs(code, monkeypatch):
    from hexapod_dynamics import view
    from hexapod_dynamics.dynamics import WholeBodyModel
    from hexapod_dynamics.robot import Morphology, Robot

    if "gymnasium" in code:
        pytest.importorskip("gymnasium")
    monkeypatch.syspath_prepend(ROOT / "benchmark" / "arena")  # where docs/learning.md says that a method is run
    monkeypatch.setattr(view, "show", lambda log, ground=None: None)  # would open a page and wait
    if "identify(robot" in code:
        monkeypatch.setattr(importlib.import_module("hexapod_dynamics.identification"), "identify",
                            lambda robot, suspended, standing, weighed: argparse.Namespace(findings=[]))  # fmt: skip
    robot = Robot.jethexa()
    given = {"robot": robot, "np": np, "WholeBodyModel": WholeBodyModel, "Morphology": Morphology, "suspended": None,
             "standing": None, "time": 0.0, "targets": np.zeros(18), "joint": 0,
             "angle": 0.0, "up": np.array([0.0, 0.0, 1.0]), "setpoints": np.zeros(18)}  # fmt: skip
    exec(compile(code, "page", "exec"), given)


# identify_from_bag runs in test_identify_tool.py, which reads the bag that it writes.
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "identify_from_bag")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    if path.stem == "learn_to_walk":
        pytest.importorskip("gymnasium")  # of the extra `test`
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = python(
        "-W",
        "error::DeprecationWarning:__main__",
        str(path),
        timeout=300,
        variables={"PYTHONPATH": paths, "CC": quick_compiler(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    complaints = [line for line in done.stderr.splitlines() if "compiling the model for this machine" not in line]
    assert complaints == [] and len(done.stdout.splitlines()) >= 3, done.stderr
