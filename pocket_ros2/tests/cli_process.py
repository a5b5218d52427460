"""Start nodes and `ros2` commands as processes of their own."""
import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parent / 'src'
POCKET = [sys.executable, '-c', 'import sys; from pocket_ros2.cli import main; sys.exit(main())']


def pocket_environment(domain):
    """Return an environment in which Python finds pocket_ros2 and no other ROS 2."""
    theirs = ('ROS_', 'AMENT_', 'COLCON_', 'PYTHONPATH', 'LD_LIBRARY_PATH', 'RMW_', 'CYCLONEDDS_')
    kept = {key: value for key, value in os.environ.items() if not key.startswith(theirs)}
    return {**kept, 'PYTHONPATH': str(SOURCE), 'ROS_DOMAIN_ID': str(domain), 'PYTHONUNBUFFERED': '1'}


@contextlib.contextmanager
def node(environment, script='cli_node.py', *arguments):
    """Run a node script until the block ends."""
    process = subprocess.Popen(
        [sys.executable, HERE / script, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == 'ready\n', 'the node did not come up'
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(10) == 0, 'the node did not end cleanly on SIGINT'
        finally:
            process.kill()
            process.stdout.close()


def ros2(environment, *words, command=POCKET, timeout=20, stdin=None):
    """Run one `ros2` command to its end; return its exit code, stdout and stderr, process ids replaced."""
    done = subprocess.run(
        [*command, *words], env=environment, capture_output=True, text=True, timeout=timeout, input=stdin)
    return done.returncode, *(re.sub(r'_ros2cli_\d+', '_ros2cli_PID', text) for text in (done.stdout, done.stderr))
