"""Substitutions that look for packages, their programs, and parameters set before."""

import os
import shutil

from launch.substitution import Substitution
from launch.substitutions import SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from ament_index_python.packages import get_package_prefix, get_package_share_directory


class FindPackage(Substitution):
    """Base of what finds a folder of a package."""

    def __init__(self, package):
        self._package = normalize_to_list_of_substitutions(package)

    @property
    def package(self):
        """The substitutions that make the package's name."""
        return self._package

    def describe(self):
        """Return a description for people."""
        return f"{type(self).__name__}(pkg={' + '.join(sub.describe() for sub in self._package)})"

    def find(self, package_name):
        """Return the folder."""
        raise NotImplementedError(f"{type(self).__name__} has no find()")

    def perform(self, context):
        """Return the folder; PackageNotFoundError where the package is not installed."""
        return self.find(perform_substitutions(context, self._package))


class FindPackagePrefix(FindPackage):
    """The prefix that a package is installed to."""

    def find(self, package_name):
        """Return the prefix."""
        return get_package_prefix(package_name)


class FindPackageShare(FindPackage):
    """The share folder of a package: its launch files, its configuration."""

    def find(self, package_name):
        """Return PREFIX/share/PACKAGE."""
        return get_package_share_directory(package_name)


class ExecutableInPackage(FindPackagePrefix):
    """The path of a program of a package."""

    def __init__(self, executable, package):
        super().__init__(package)
        self._executable = normalize_to_list_of_substitutions(executable)

    @property
    def executable(self):
        """The substitutions that make the program's name."""
        return self._executable

    def describe(self):
        """Return a description for people."""
        package, executable = (" + ".join(sub.describe() for sub in each) for each in (self._package, self._executable))
        return f"ExecInPkg(pkg={package}, exec={executable})"

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


class Parameter(Substitution):
    """The value of a parameter that a SetParameter before has set."""

    def __init__(self, name):
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self):
        """The substitutions that make the parameter's name."""
        return self._name

    def describe(self):
        """Return a description for people."""
        return f"Parameter(name={' + '.join(sub.describe() for sub in self._name)})"

    def perform(self, context):
        """Return the value as a text; SubstitutionFailure where none is set."""
        name = perform_substitutions(context, self._name)
        for item in reversed(context.launch_configurations.get("global_params", [])):
            if isinstance(item, tuple) and item[0] == name:
                return str(item[1])
        raise SubstitutionFailure(f"parameter '{name}' not found")


__all__ = ["ExecutableInPackage", "FindPackage", "FindPackagePrefix", "FindPackageShare", "Parameter"]
