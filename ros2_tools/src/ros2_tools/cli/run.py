"""Command `ros2 run`: start an executable of a package."""

import argparse
import contextlib
import os
import shlex
import signal
import subprocess

from .pkg import executables


class _Package(argparse.Action):
    """Stores a package's name; the usage and errors then list its executables."""

    executable = None

    def __call__(self, parser, namespace, value, option_string=None):
        namespace.package_name = value
        with contextlib.suppress(RuntimeError):  # an unknown package, which run_verb names
            self.executable.metavar = "{" + ",".join(map(os.path.basename, executables(value))) + "}"


def run_arguments(parser):
    """Declare the options of `ros2 run`."""
    parser.add_argument("--prefix", help="Command to put before the executable (e.g. --prefix 'gdb -ex run --args')")
    package = parser.add_argument("package_name", help="Name of the package", action=_Package)
    package.executable = parser.add_argument("executable_name", help="Name of the executable")
    parser.add_argument("argv", nargs=argparse.REMAINDER, help="Arguments for the executable")


def run_verb(args):
    """Run the executable to its end and return its exit code; SIGINT and SIGTERM end it, not this process alone."""
    paths = [path for path in executables(args.package_name) if os.path.basename(path) == args.executable_name]
    if not paths:
        return "No executable found"
    if len(paths) > 1:
        return "\n- ".join(["Multiple executables found:", *paths])
    process = subprocess.Popen([*shlex.split(args.prefix or ""), paths[0], *args.argv])
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:  # a terminal sends it to the child as well
            continue
    if code < 0:
        print("[ros2run]:", signal.strsignal(-code))
    elif code > 0:
        print(f"[ros2run]: Process exited with failure {code}")
    return code
