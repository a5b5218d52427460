"""The script with_ros2, with stand-ins for python3 and colcon that write down how they were called."""

import functools
import itertools
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "with_ros2"
TOOLS = (
    "bash sh env readlink dirname find sort cmp cat head tail sed cut comm grep rm mkdir flock uname sleep tr cp "
    "ln true echo ls basename"
).split()
PYTHON = """#!/usr/bin/env bash
echo "python $*" >>"$CALLS"
case "$*" in
    *Python.h*) echo "$HEADER" ;;
    *version_info*) echo "$VERSION" ;;
    *'import ensurepip'*) exit "$NO_VENV" ;;
    *'-m venv '*)
        bin=${@: -1}/bin
        mkdir -p "$bin"
        cp "$0" "$bin/python"
        ln -s python "$bin/python3"
        cp "${0%/*}/colcon.stand_in" "$bin/colcon" ;;
    *'-m pip '*)
        sleep "$PIP_SECONDS"
        case "$* " in *"${SLOW:---none}"*) sleep 1 ;; esac
        : >"$CALLS.done.$$"
        [ -z "$PIP_ERROR" ] || { echo "$PIP_ERROR"; exit 1; } ;;
    '- test') trap '' PIPE; sleep 0.1; echo pytest ;;  # Python ignores the signal, too, and prints an error instead
    '- core attitude view sim' | '- core') echo "$REQUIREMENT" ;;
    -V) echo "Python $VERSION" ;;
esac
"""
COLCON = """#!/usr/bin/env bash
echo "colcon $*" >>"$CALLS"
mkdir -p build/hexapod_dynamics/build/lib.x/hexapod_dynamics install/hexapod_dynamics
echo built >build/hexapod_dynamics/build/lib.x/hexapod_dynamics/kernel.so
echo 'export SOURCED=yes' >install/local_setup.bash
exit "$COLCON_CODE"
"""


class Checkout:
    """A checkout with the script, the least of a package, and a folder of programs that is all of PATH."""

    def __init__(self, folder):
        self.root = folder / "checkout"
        self.bin = folder / "bin"
        self.calls_path = folder / "calls"
        for name in (
            "hexapod_dynamics/node.py",
            "setup.py",
            "build_core.py",
            "setup.cfg",
            "package.xml",
            "ros2_tools/pyproject.toml",
            "ros2_tools/jazzy.txt",
            "ros2_tools/kilted.txt",
            "launch/walk.launch.py",
            "config/robot.yaml",
            "resource/hexapod_dynamics",
        ):
            self.write(name)
        shutil.copy2(SCRIPT, self.root)
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        for name, text in (("python3", PYTHON), ("colcon.stand_in", COLCON), ("gcc", "#!/bin/sh\n"), ("Python.h", "")):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        self.environment = {
            "PATH": str(self.bin),
            "CALLS": str(self.calls_path),
            "VERSION": "3.11",
            "NO_VENV": "0",
            "HEADER": str(self.bin / "Python.h"),
            "PIP_SECONDS": "0",
            "PIP_ERROR": "",
            "REQUIREMENT": "numpy",
            "COLCON_CODE": "0",
            "LC_ALL": "C",
        }

    def write(self, name, text="# nothing\n"):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def start(self, *command, **variables):
        self.calls_path.write_text("")
        return subprocess.Popen(
            [str(self.root / "with_ros2"), *command],
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # ignored in a background
        )

    def run(self, *command, **variables):
        """Return (exit code, stdout, stderr)."""
        process = self.start(*command, **variables)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def calls(self):
        """Return what was called by the last run, 'venv', 'pip ...' and 'colcon ...'; what runs at once in one order.

        required: what the last pip was asked for.
        """
        found = []
        for line in self.calls_path.read_text().splitlines():
            if "-m venv" in line:
                found.append("venv")
            elif "-m pip" in line:
                found.append("pip " + line.split("--no-input ")[1].split()[0])
                self.required = line.split()[-1]
            elif line.startswith("colcon"):
                found.append("colcon build")
        first = found.index("venv") + 1 if "venv" in found else 0
        at_once = found[first : first + 2], found[first + 2 : first + 4]
        return [*found[:first], *itertools.chain(*map(sorted, at_once)), *found[first + 4 :]]


INSTALLED = ["pip --no-deps", "pip setuptools==79.0.1", "colcon build", "pip --no-build-isolation"]  # in pairs
ALL = ["venv", *INSTALLED]


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_first_run_makes_all_and_tells_how_far_it_is(checkout):
    code, out, err = checkout.run("sh", "-c", 'echo "$SOURCED $VIRTUAL_ENV $0 $1"; exit 7', "a b", "*")
    assert code == 7
    assert out == f"yes {checkout.root / '.ros2_env/venv'} a b *\n"
    assert checkout.calls() == ALL
    for step in range(1, 4):
        assert f"with_ros2: [{step}/3] " in err


def test_what_tests_need_is_installed_by_the_first_command_that_runs_them(checkout):
    checkout.run("true")
    for command in (
        "colcon test --return-code-on-test-failure",
        "python -m pytest -m pure",
        "pytest",
        "python benchmark/api.py",
        "mypy",
    ):
        code, _, err = checkout.run("sh", "-c", "true", *command.split())
        assert code == 0
        assert checkout.calls() == ["pip pytest"]
        assert "with_ros2: [1/1] what tests and benchmarks need" in err
        assert all(line.startswith("with_ros2: ") for line in err.splitlines()), err
        checkout.run("sh", "-c", "true", *command.split())
        assert checkout.calls_path.read_text() == ""
        for name in ("complete_tests", "test_requirements"):
            (checkout.root / ".ros2_env" / name).unlink()


def test_what_is_compiled_lies_beside_its_source_and_nothing_older(checkout):
    old = checkout.root / "hexapod_dynamics/no_longer_a_kernel.so"
    old.touch()
    checkout.run("true")
    kernel = checkout.root / "hexapod_dynamics/kernel.so"
    assert kernel.read_text() == "built\n" and not old.exists()
    kernel.write_text("another\n")  # it is no source: nothing is built again
    checkout.run("true")
    assert checkout.calls() == []


def test_changed_source_is_built(checkout):
    checkout.run("true")
    for name in (
        "hexapod_dynamics/node.py",
        "hexapod_dynamics/new.py",
        "launch/walk.launch.py",
        "config/robot.yaml",
        "package.xml",
    ):
        checkout.write(name, "# changed\n")
        assert checkout.run("true")[0] == 0
        assert checkout.calls() == ["colcon build"], name
    checkout.run("true")
    assert checkout.calls() == []


def test_what_was_deleted_does_not_stay_installed(checkout):
    checkout.write("hexapod_dynamics/old.py")
    checkout.run("true")
    installed = checkout.root / "install/hexapod_dynamics/old.py"
    installed.touch()
    (checkout.root / "hexapod_dynamics/old.py").unlink()
    checkout.run("true")
    assert checkout.calls() == ["colcon build"]
    assert not installed.exists()


def test_changed_requirements_are_installed_into_what_is_there(checkout):
    checkout.run("true")
    for name, requirement in (
        ("setup.py", "scipy"),
        ("ros2_tools/pyproject.toml", "scipy"),
        ("ros2_tools/jazzy.txt", "scipy"),
    ):
        checkout.write(name, "# changed\n")
        code, _, err = checkout.run("true", REQUIREMENT=requirement)
        assert code == 0
        assert "requirements have changed" in err
        assert checkout.calls() == INSTALLED and checkout.required == requirement, name


def test_failed_install_is_refused_with_its_remedy_and_heals(checkout):
    for error, remedy in (
        ("error: command 'gcc' failed: No such file or directory", "build-essential"),
        ("OSError: [Errno 28] No space left on device", "make room"),
        ("NewConnectionError: Network is unreachable", "mind the network"),
        ("something else", "mend what it says"),
    ):
        code, out, err = checkout.run("echo", "never", PIP_ERROR=error)
        assert (code, out) == (1, "")
        assert error in err
        assert remedy in err
    assert checkout.run("true")[0] == 0
    assert checkout.calls() == ALL


def wait_for_both_pips(checkout):
    until = time.monotonic() + 20
    while checkout.calls_path.read_text().count("-m pip") < 2:
        assert time.monotonic() < until, "two pips at once do not start"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_broken_off_first_run_heals(checkout, number):
    process = checkout.start("true", PIP_SECONDS="30")
    wait_for_both_pips(checkout)
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        assert "broken off; the next run starts over" in err
    code, _, err = checkout.run("true")
    assert code == 0
    assert "making it anew" in err
    assert checkout.calls() == ALL


@pytest.mark.parametrize("end", ["ctrl-c", "failure"])
def test_nothing_goes_on_installing_behind_the_end(checkout, end):
    calls = checkout.calls_path
    if end == "failure":  # of one of two that run at once
        assert checkout.run("true", PIP_SECONDS="0.5", PIP_ERROR="gone", SLOW="--no-deps")[0] == 1
    else:
        process = checkout.start("true", PIP_SECONDS="1")
        wait_for_both_pips(checkout)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=20)
    done = sorted(calls.parent.glob("calls.done.*"))
    time.sleep(1.5)
    assert sorted(calls.parent.glob("calls.done.*")) == done and len(done) == 2 * (end == "failure")


def test_second_first_run_waits_for_the_first(checkout):
    first = checkout.start("echo", "first", PIP_SECONDS="0.3")
    wait_for_both_pips(checkout)
    second = subprocess.Popen(
        [str(checkout.root / "with_ros2"), "echo", "second"],
        env=checkout.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = second.communicate(timeout=30)
    assert (second.returncode, out) == (0, "second\n")
    assert "another with_ros2 is setting up" in err
    assert first.communicate(timeout=30)[0] == "first\n"
    assert checkout.calls() == ALL


def test_moved_checkout_is_made_anew(checkout):
    checkout.run("true")
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    code, out, err = checkout.run("sh", "-c", 'echo "$VIRTUAL_ENV"')
    assert (code, out) == (0, f"{checkout.root / '.ros2_env/venv'}\n")
    assert "making it anew" in err


def uname(machine, system):
    """Return a function that makes a checkout's computer one of this kind."""

    def prepare(checkout):
        (checkout.bin / "uname").unlink()
        (checkout.bin / "uname").write_text(f'#!/bin/sh\n[ "$1" = -m ] && echo {machine} || echo {system}\n')
        (checkout.bin / "uname").chmod(0o755)

    return prepare


def move_to_blanks(checkout):
    checkout.root = checkout.root.rename(checkout.root.with_name("a checkout"))


# What is done to the checkout, variables, and words of the refusal with its remedy.
REFUSED = {
    "no compiler": (
        lambda checkout: (checkout.bin / "gcc").unlink(),
        {},
        ("there is no C compiler (gcc)", "sudo apt install build-essential"),
    ),
    "no headers": (None, {"HEADER": "/usr/include/python3.11/absent/Python.h"}, ("Python.h is missing", "-dev")),
    "an old Python": (None, {"VERSION": "3.8"}, ("python3 is 3.8", "docs/start.md")),
    "no venv": (None, {"NO_VENV": "1"}, ("remedy: sudo apt install python3.11-venv",)),
    "no Python": (
        lambda checkout: (checkout.bin / "python3").unlink(),
        {},
        ("no Python from 3.10 to 3.13 found",),
    ),
    "aarch64": (uname("aarch64", "Linux"), {}, ("no ROS 2 for Linux on aarch64", "docs/start.md")),
    "a Mac": (uname("arm64", "Darwin"), {}, ("no ROS 2 for Darwin on arm64", "docs/start.md")),
    "FreeBSD": (uname("x86_64", "FreeBSD"), {}, ("no ROS 2 for FreeBSD on x86_64", "docs/start.md")),
    "blanks in the path, which colcon cannot stand": (move_to_blanks, {}, ("blanks",)),
    "half sourced": (
        None,
        {"ROS_DISTRO": "humble"},
        ("ROS_DISTRO is 'humble', but no rclpy is in AMENT_PREFIX_PATH", "unset ROS_DISTRO"),
    ),
}


@pytest.mark.parametrize(("prepare", "variables", "words"), REFUSED.values(), ids=REFUSED)
def test_what_will_not_do_is_refused_with_the_remedy_before_anything_begins(checkout, prepare, variables, words):
    if prepare is not None:
        prepare(checkout)
    code, _, err = checkout.run("true", **variables)
    assert code == 1 and checkout.calls() == []
    assert all(each in err for each in words), err
    assert not (checkout.root / ".ros2_env/venv").exists()


def test_nodes_stay_on_this_computer_unless_told_otherwise(checkout):
    words = 'echo "$ROS_AUTOMATIC_DISCOVERY_RANGE ${FASTRTPS_DEFAULT_PROFILES_FILE-none}"'
    profile = checkout.root / "ros2_tools/fastdds.xml"
    for variables, said in (
        ({}, f"SYSTEM_DEFAULT {profile}\n"),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, f"SYSTEM_DEFAULT {profile}\n"),
        ({"ROS_LOCALHOST_ONLY": "0"}, "SUBNET none\n"),
    ):
        assert checkout.run("sh", "-c", words, **variables)[1] == said


def sourced(checkout, tmp_path):
    prefix = tmp_path / "ros"
    (prefix / "share/ament_index/resource_index/packages").mkdir(parents=True)
    (prefix / "share/ament_index/resource_index/packages/rclpy").touch()
    return {"AMENT_PREFIX_PATH": f"{tmp_path}:{prefix}", "ROS_DISTRO": "humble"}


def test_sourced_ros2_is_used_and_the_package_built_for_it(checkout, tmp_path):
    variables = sourced(checkout, tmp_path)
    code, _, err = checkout.run("true", **variables)
    assert code == 1
    assert "remedy: sudo apt install python3-colcon-common-extensions" in err
    (checkout.bin / "colcon").symlink_to(checkout.bin / "colcon.stand_in")
    code, out, _ = checkout.run("sh", "-c", 'echo "$SOURCED ${VIRTUAL_ENV-none}"', **variables)
    assert (code, out) == (0, "yes none\n")
    assert checkout.calls() == ["colcon build"]
    checkout.run("true", **variables)
    assert checkout.calls() == []
    assert not (checkout.root / ".ros2_env/venv").exists()
    checkout.run("true")  # without it: an environment of our own, and a build for that
    assert checkout.calls() == ALL


def test_command_takes_the_place_of_the_script(checkout):
    checkout.run("true")
    process = checkout.start("sh", "-c", "echo $$; exec sleep 30")
    assert int(process.stdout.readline()) == process.pid
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == -signal.SIGTERM


def test_command_that_is_not_there_and_no_command(checkout):
    checkout.run("true")
    assert checkout.run("no_such_command")[0] == 127
    code, out, err = checkout.run()
    assert (code, out) == (2, "")
    assert "./with_ros2 COMMAND" in err
    assert checkout.run("--help")[0] == 0
