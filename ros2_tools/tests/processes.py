"""Start nodes, `ros2` commands and launch files as processes of their own, in ROS domains that no other test has."""

import contextlib
import doctest
import fcntl
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = HERE / "launch_files"
# Where REAL_ROS2_SETUP names the setup file of a real ROS 2 Jazzy, its command prints what ours does.
REAL = os.environ.get("REAL_ROS2_SETUP")
SOURCED = ["bash", "-c", 'source "$REAL_ROS2_SETUP" && exec "$@"', "bash"]
PYTHON = [*SOURCED, "python3"] if REAL else [sys.executable]
OURS = [sys.executable, "-c", "import sys; from ros2_tools.cli import main; sys.exit(main())"]
ROS2 = [*SOURCED, "ros2"] if REAL else OURS
DOMAINS = range(12, 40, 2)  # the next number belongs to each; the tests of the robot take theirs from 40 on
RESERVED = []  # locks, until this process ends


def reserve_domain():
    """Return a domain that, with the next one, no other test on this machine has until this process ends."""
    for domain in random.SystemRandom().sample(DOMAINS, len(DOMAINS)):
        file = open(Path(tempfile.gettempdir(), f"ros2_tools_test_domain_{domain}"), "a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            RESERVED.append(file)
            return domain
    raise RuntimeError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use by tests on this machine")


def environment_in(domain):
    """Return this process's environment in a ROS domain."""
    return {**os.environ, "ROS_DOMAIN_ID": str(domain), "PYTHONUNBUFFERED": "1"}


@contextlib.contextmanager
def node(environment):
    """Run the node of everything_node.py until the block ends."""
    command = [*PYTHON, HERE / "everything_node.py"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n", "the node did not come up"
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(30) == 0, "the node did not end cleanly on SIGINT"
        finally:
            process.kill()
            process.stdout.close()


def ros2(environment, *words):
    """Run one `ros2` command to its end; return its exit code, stdout and stderr."""
    has_daemon = (
        REAL and words[0] in ("topic", "service", "node", "param", "action") and words[1] not in ("pub", "call")
    )
    command = [*ROS2, *words, *(["--no-daemon"] if has_daemon else [])]
    done = subprocess.run(command, env=environment, cwd=HERE, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def session(file):
    """Return [(command, what it prints)] of a file: lines of stderr after `! `, a code of exit that is not 0 as `[1]`.

    Where the output has `...`, anything may stand.
    """
    parts = re.split(r"^\$ ", (HERE / file).read_text(), flags=re.M)[1:]
    return [tuple(text.strip("\n") for text in part.split("\n", 1)) for part in parts]


def printed(code, out, err=""):
    """Return an output as a session has it."""
    lines = [*out.splitlines(), *(f"! {line}" for line in err.splitlines()), *([f"[{code}]"] if code else [])]
    return "\n".join(lines).strip("\n")


def check_printed(expected, given):
    """Assert that an output is that of a session."""
    checker, example = doctest.OutputChecker(), doctest.Example("", f"{expected}\n")
    how = doctest.ELLIPSIS | doctest.REPORT_NDIFF
    fits = checker.check_output(example.want, f"{given}\n", how)
    assert fits, checker.output_difference(example, f"{given}\n", how)


def comparable(text):
    """Return what a launch said without pids and temporary paths, by source: the order between these is not fixed.

    The lines of a process are sorted, too: stdout and stderr have no common order.
    """
    sources = {}  # {process, or 'log of' it: its lines}
    text = re.sub(r"pid (\[?)\d+", r"pid \1PID", text)
    text = re.sub(r"cmd '\S*python\S*", "cmd 'python", text).replace(str(HERE), "TESTS")
    for line in text.splitlines():
        if not line or re.search("All log files can be found|Default logging verbosity|multicast", line):
            continue
        match = re.match(r"(\[[A-Z]+\] )?\[([^\]]+)\]", line)
        sources.setdefault(f"{'log of ' if match[1] else ''}{match[2]}" if match else "other", []).append(line)
    ordered = ((lines if source.startswith("log of ") else sorted(lines)) for source, lines in sorted(sources.items()))
    return [line for lines in ordered for line in lines]


def start(path, scratch, *arguments):
    """Start a launch file that finds the package of the folder demo and writes below the folder `scratch`."""
    environment = dict(os.environ)
    environment.pop("PYTHONUNBUFFERED", None)  # lines are to arrive whole
    environment |= {
        "AMENT_PREFIX_PATH": f"{HERE / 'demo'}:{environment['AMENT_PREFIX_PATH']}",
        "ROS_LOG_DIR": str(scratch / "log"),
        "SCRATCH": str(scratch),
        "TMPDIR": str(scratch),
        "HOME_": "home",
    }
    return subprocess.Popen(
        [*ROS2, "launch", "--noninteractive", path, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process, timeout=60):
    """Wait for a started launch file to end; return its lines and what it said. Nothing is left after an error."""
    try:
        text, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return comparable(text), text


def launch(case, scratch, *arguments):
    """Run a case of cases.launch.py, or a launch file of that name, to its end; return its lines, text and code."""
    file = FILES / f"{case}.launch.py"
    if not file.exists():
        file, arguments = FILES / "cases.launch.py", [f"case:={case}", *arguments]
    process = start(file, scratch, *arguments)
    return *finish(process), process.returncode
