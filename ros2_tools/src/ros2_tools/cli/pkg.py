"""Verbs `ros2 pkg` list, prefix, executables and xml, and the command `ros2 run`."""

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

from .verbs import arg, flag, verb

PACKAGE = arg("package_name", help="Name of the package")


def prefix_of(package_name, refusal="Package not found"):
    """Return where a package is installed; RuntimeError with `refusal` where it is not."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        return get_package_prefix(package_name)
    except (PackageNotFoundError, ValueError):
        raise RuntimeError(refusal) from None


def executables(package_name):
    """Return the paths of a package's executables, sorted; RuntimeError for an unknown package."""
    found = []
    prefix = prefix_of(package_name, f"Package '{package_name}' not found")
    for directory, below, files in os.walk(os.path.join(prefix, "lib", package_name)):
        below[:] = [name for name in below if not name.startswith(".")]
        found += [path for name in files if os.access(path := os.path.join(directory, name), os.X_OK)]
    return sorted(found)


def _packages():
    from ament_index_python.packages import get_packages_with_prefixes

    return sorted(get_packages_with_prefixes())


@verb("pkg list")
def list_packages(args):
    """Output a list of available packages."""
    print(*_packages(), sep="\n")


@verb("pkg prefix", PACKAGE, flag("--share", help="Print the share directory of the package"))
def prefix(args):
    """Output the prefix path of a package."""
    found = prefix_of(args.package_name)
    print(os.path.join(found, "share", args.package_name) if args.share else found)


@verb(
    "pkg executables",
    arg("package_name", nargs="?", help="Name of the package"),
    flag("--full-path", help="Print the full path of each executable"),
)
def list_executables(args):
    """Output a list of package specific executables."""
    for name in [args.package_name] if args.package_name else _packages():
        for path in executables(name):
            print(path if args.full_path else f"{name} {os.path.basename(path)}")


@verb("pkg xml", PACKAGE, arg("-t", "--tag", help="Print this XML tag only (e.g. 'version')"))
def xml(args):
    """Output the XML of the package manifest or a specific tag."""
    path = os.path.join(prefix_of(args.package_name), "share", args.package_name, "package.xml")
    if not os.path.isfile(path):
        return "Package XML manifest not found"
    tree = ElementTree.parse(path)
    if args.tag is None:
        ElementTree.dump(tree)
        return None
    found = tree.getroot().findall(args.tag)
    if not found:
        return "XML tag not found"
    print(*(element.text for element in found), sep="\n")
    return None


class _Package(argparse.Action):
    """Stores a package's name; the usage and errors then list its executables."""

    def __call__(self, parser, namespace, value, option_string=None):
        namespace.package_name = value
        with contextlib.suppress(RuntimeError):  # an unknown package, which `run` names
            (executable,) = (each for each in parser._actions if each.dest == "executable_name")
            executable.metavar = "{" + ",".join(map(os.path.basename, executables(value))) + "}"


@verb(
    "run",
    arg("--prefix", help="Command to put before the executable (e.g. --prefix 'gdb -ex run --args')"),
    arg("package_name", help="Name of the package", action=_Package),
    arg("executable_name", help="Name of the executable"),
    arg("argv", nargs=argparse.REMAINDER, help="Arguments for the executable"),
)
def run(args):
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
