"""Substitutions that look for packages and their programs."""

import os
import shutil

from launch.substitution import Substitution
from launch.substitutions import SubstitutionFailure
from launch.utilities import described, normalize_to_list_of_substitutions, perform_substitutions

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from ros2_tools.errors import not_covered


class FindPackagePrefix(Substitution):
    """The prefix that a package is installed to; PackageNotFoundError where the package is not installed."""

    def __init__(self, package):
        self._package = normalize_to_list_of_substitutions(package)

    def describe(self):
        """Return a description for people."""
        return f"{type(self).__name__}(pkg={described(self._package)})"

    def perform(self, context):
        """Return the prefix."""
        return get_package_prefix(perform_substitutions(context, self._package))


class FindPackageShare(FindPackagePrefix):
    """The share folder of a package: its launch files, its configuration."""

    def perform(self, context):
        """Return PREFIX/share/PACKAGE."""
        return get_package_share_directory(perform_substitutions(context, self._package))


class ExecutableInPackage(FindPackagePrefix):
    """The path of a program of a package."""

    def __init__(self, executable, package):
        super().__init__(package)
        self._executable = normalize_to_list_of_substitutions(executable)

    def describe(self):
        """Return a description for people."""
        return f"ExecInPkg(pkg={described(self._package)}, exec={described(self._executable)})"

    def perform(self, context):
        """Return the path; SubstitutionFailure where the package has no such program."""
        executable = perform_substitutions(context, self._executable)
        package = perform_substitutions(context, self._package)
        prefix = super().perform(context)
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


__getattr__ = not_covered(__name__, ["ExecutableInPackage", "FindPackagePrefix", "FindPackageShare"])
