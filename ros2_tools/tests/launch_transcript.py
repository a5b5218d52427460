"""Runs a launch file in a process of its own and returns what it said, with what differs from run to run left out."""

import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

FILES = Path(__file__).parent / "launch_files"
SOURCE = Path(__file__).parents[1] / "src"
# A setup file of a real ROS 2; with it, tests compare pocket ROS 2 with the real one.
REAL = os.environ.get("REAL_ROS2_SETUP")
PROGRAM = textwrap.dedent("""
    import sys
    import launch
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import AnyLaunchDescriptionSource
    service = launch.LaunchService(noninteractive=True)
    service.include_launch_description(launch.LaunchDescription([IncludeLaunchDescription(
        AnyLaunchDescriptionSource(sys.argv[1]), launch_arguments=[each.split(':=', 1) for each in sys.argv[2:]])]))
    sys.exit(service.run())
""")


class Transcript:
    """What a launch said: its `lines` in their order, and its `returncode`."""

    def __init__(self, text, returncode, scratch):
        self.raw = text
        self.returncode = returncode
        self.lines = [normalized(line, scratch) for line in text.splitlines() if is_told(line)]

    def by_source(self):
        """Return {process, or 'log of' it: its lines}; the order between these is not fixed."""
        sources = {}
        for line in self.lines:
            match = re.match(r"(\[[A-Z]+\] )?\[([^\]]+)\]", line)
            source = f"{'log of ' if match[1] else ''}{match[2]}" if match else "other"
            sources.setdefault(source, []).append(line)
        return sources

    def comparable(self):
        """Return `by_source` with the words of processes sorted: stdout and stderr have no common order."""
        return {
            source: lines if source.startswith("log of") else sorted(lines)
            for source, lines in self.by_source().items()
        }


def is_told(line):
    """Return whether the line is of the launch and not about folders and formats."""
    return line and not re.search("All log files can be found|Default logging verbosity|multicast", line)


def normalized(line, scratch):
    """Return the line without pids and temporary paths."""
    line = re.sub(r"pid (\[?)\d+", r"pid \1PID", line)
    line = re.sub(r"/\S*launch_params_\w+", "PARAMS", line)
    line = re.sub(r"cmd '\S*python\S*", "cmd 'python", line)
    return line.replace(str(scratch), "SCRATCH")


def demo_package(folder):
    """Install a package `demo` below the folder: a program that tells how it was called, and parameter files."""
    for name, text in {
        "share/ament_index/resource_index/packages/demo": "",
        "share/demo/config/demo.yaml": "/**:\n  ros__parameters:\n    from_file: 7\n",
        "share/demo/config/templated.yaml": "/**:\n  ros__parameters:\n    rate: $(var rate)\n"
        '    mark: "$(env HOME_)"\n',
        "lib/demo/teller": f"#!{sys.executable}\n"
        + textwrap.dedent("""
            import os, sys, yaml
            words = ['ARGUMENTS']
            for word in sys.argv[1:]:
                if sys.argv[sys.argv.index(word) - 1] == '--params-file':
                    class Loader(yaml.SafeLoader): pass
                    Loader.add_constructor('tag:yaml.org,2002:python/tuple', Loader.construct_yaml_seq)
                    with open(word) as file:
                        word = 'FILE ' + str(sorted(yaml.load(file, Loader).items()))
                elif sys.argv[sys.argv.index(word) - 1] == '-p':
                    name, value = word.split(':=')
                    word = f'{name}:={yaml.safe_load(value)}'
                words.append(' '.join(word.split()))
            print(*words, os.environ.get('MARK', ''), os.environ.get('PREFIXED', ''), sep=' | ')
        """),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "lib/demo/teller").chmod(0o755)


def start(file, scratch, *arguments, real=False):
    """Start a launch file; its process has `.scratch`."""
    environment = {
        **os.environ,
        "ROS_LOG_DIR": str(scratch / "log"),
        "SCRATCH": str(scratch),
        "HOME_": "home",
        "TMPDIR": str(scratch),
    }
    environment.pop("PYTHONUNBUFFERED", None)  # lines are to arrive whole
    prefix = scratch / "prefix"
    demo_package(prefix)
    command = [sys.executable, "-c", PROGRAM, str(FILES / f"{file}.launch.py"), *arguments]
    if real:
        for name in ("PYTHONPATH", "AMENT_PREFIX_PATH"):
            environment.pop(name, None)
        command = [
            "bash",
            "-c",
            f"source {shlex.quote(REAL)} && AMENT_PREFIX_PATH={shlex.quote(str(prefix))}:"
            f"$AMENT_PREFIX_PATH exec python3 {shlex.join(command[1:])}",
        ]
    else:
        environment["AMENT_PREFIX_PATH"] = str(prefix)
        environment["PYTHONPATH"] = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process, scratch, timeout=60):
    """Wait for a started launch file to end; return its transcript. Nothing it started is left after an error."""
    try:
        text, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return Transcript(text, process.returncode, scratch)


def run(file, scratch, *arguments, real=False):
    """Run a launch file to its end; return its transcript."""
    return finish(start(file, scratch, *arguments, real=real), scratch)
