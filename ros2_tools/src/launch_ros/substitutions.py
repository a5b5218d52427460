"""Substitutions that look for packages and their programs."""

import os
import shutil

from launch.substitutions import Named, SubstitutionFailure, described, perform_substitutions

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from ros2_tools.errors import not_covered


class FindPackagePrefix(Named):
    """The prefix that a package is installed to; PackageNotFoundError where the package is not installed."""

    title = "FindPackagePrefix(pkg={})"

    def find(self, context, package):
        """Return the prefix."""
        return get_package_prefix(package)


class FindPackageShare(Named):
    """The share folder of a package: its launch files, its configuration."""

    title = "FindPackageShare(pkg={})"

    def find(self, context, package):
        """Return PREFIX/share/PACKAGE."""
        return get_package_share_directory(package)


class ExecutableInPackage(Named):
    """The path of a program of a package; SubstitutionFailure where the package has no such program."""

    def __init__(self, executable, package):
        super().__init__(package)
        self._executable = executable
        self.title = f"ExecInPkg(pkg={{}}, exec={described(executable)})"

    def find(self, context, package):
        """Return the path."""
        executable = perform_substitutions(context, self._executable)
        prefix = get_package_prefix(package)
        folder = os.path.join(prefix, "lib", package)
        if not os.path.isdir(folder):
            raise SubstitutionFailure(
                f"package '{package}' found at '{prefix}', but libexec directory '{folder}' does not exist"
            )
        path = shutil.which(executable, path=folder)
        if path is None:
            known = ", ".join(sorted(name for name in os.listdir(folder) if not name.startswith(".")))
            raise SubstitutionFailure(
                f"executable '{executable}' not found on the libexec directory '{folder}', which has: {known}"
            )
        return path


__getattr__ = not_covered(__name__)
