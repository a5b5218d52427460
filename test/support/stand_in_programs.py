"""Programs that stand in for nodes of packages that are not installed: they print what they are started with."""

import os
import sys

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

# Prints its arguments and parameter files, and ends.
_PRINTER = f"""#!{sys.executable}
import pathlib, sys
print("started", *sys.argv)
for before, path in zip(sys.argv, sys.argv[1:]):
    if before == "--params-file":
        print(" ".join(pathlib.Path(path).read_text().split()))
"""


def installed(package):
    """Whether the sourced ROS 2 has a package."""
    try:
        return bool(get_package_prefix(package))
    except PackageNotFoundError:
        return False


def make_stand_ins(prefix, programs):
    """Make packages below a prefix with such programs, {package: names}; return the environment that finds them."""
    for package, names in programs.items():
        marker = prefix / "share/ament_index/resource_index/packages" / package
        for folder in (marker.parent, prefix / "share" / package, prefix / "lib" / package):
            folder.mkdir(parents=True, exist_ok=True)
        marker.touch()
        for name in names:
            program = prefix / "lib" / package / name
            program.write_text(_PRINTER)
            program.chmod(0o755)
    before = os.environ.get("AMENT_PREFIX_PATH", "")
    return {"AMENT_PREFIX_PATH": os.pathsep.join(filter(None, [str(prefix), before]))}
