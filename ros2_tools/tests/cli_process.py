"""Start nodes and `ros2` commands as processes of their own."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OURS = [sys.executable, "-c", "import sys; from ros2_tools.cli import main; sys.exit(main())"]


def environment_in(domain):
    """Return this process's environment in a ROS domain."""
    return {**os.environ, "ROS_DOMAIN_ID": str(domain), "PYTHONUNBUFFERED": "1"}


def real_environment(domain):
    """Return the environment after sourcing the real ROS 2 of which REAL_ROS2_SETUP names the setup file."""
    text = subprocess.run(
        ["bash", "-c", 'source "$REAL_ROS2_SETUP" && env -0'],
        env=os.environ,
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    found = dict(entry.split("=", 1) for entry in text.split("\0") if entry)
    return {**found, "ROS_DOMAIN_ID": str(domain), "ROS_LOCALHOST_ONLY": "1", "PYTHONUNBUFFERED": "1"}


@contextlib.contextmanager
def node(environment, python=sys.executable):
    """Run the node of cli_node.py until the block ends."""
    process = subprocess.Popen([python, HERE / "cli_node.py"], env=environment, stdout=subprocess.PIPE, text=True)
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


def ros2(environment, *words, command=OURS, timeout=60, stdin=None):
    """Run one `ros2` command to its end; return its exit code, stdout and stderr, process ids replaced."""
    done = subprocess.run(
        [*command, *words], env=environment, capture_output=True, text=True, timeout=timeout, input=stdin
    )
    return done.returncode, *(re.sub(r"_ros2cli_\d+", "_ros2cli_PID", text) for text in (done.stdout, done.stderr))
