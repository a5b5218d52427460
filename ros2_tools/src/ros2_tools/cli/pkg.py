"""Verbs `ros2 pkg` list, prefix, executables and xml."""

import os
import xml.etree.ElementTree as ElementTree

PACKAGE_NOT_FOUND = "Package not found"


def _prefix(package_name):
    """Return where a package is installed, or None."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        return get_package_prefix(package_name)
    except (PackageNotFoundError, ValueError):
        return None


def executables(package_name):
    """Return the paths of a package's executables, sorted; RuntimeError for an unknown package."""
    prefix = _prefix(package_name)
    if prefix is None:
        raise RuntimeError(f"Package '{package_name}' not found")
    found = []
    for directory, below, files in os.walk(os.path.join(prefix, "lib", package_name)):
        below[:] = [name for name in below if not name.startswith(".")]
        found += [path for name in files if os.access(path := os.path.join(directory, name), os.X_OK)]
    return sorted(found)


def list_arguments(parser):
    """`ros2 pkg list` has no options."""


def list_verb(args):
    """Print the packages."""
    from ament_index_python.packages import get_packages_with_prefixes

    for name in sorted(get_packages_with_prefixes()):
        print(name)


def prefix_arguments(parser):
    """Declare the options of `ros2 pkg prefix`."""
    parser.add_argument("package_name", help="Name of the package")
    parser.add_argument("--share", action="store_true", help="Print the share directory of the package")


def prefix_verb(args):
    """Print where a package is installed."""
    prefix = _prefix(args.package_name)
    if prefix is None:
        return PACKAGE_NOT_FOUND
    print(os.path.join(prefix, "share", args.package_name) if args.share else prefix)
    return None


def executables_arguments(parser):
    """Declare the options of `ros2 pkg executables`."""
    parser.add_argument("package_name", nargs="?", help="Name of the package")
    parser.add_argument("--full-path", action="store_true", help="Print the full path of each executable")


def executables_verb(args):
    """Print the executables of one package or of all."""
    from ament_index_python.packages import get_packages_with_prefixes

    for name in [args.package_name] if args.package_name else sorted(get_packages_with_prefixes()):
        for path in executables(name):
            print(path if args.full_path else f"{name} {os.path.basename(path)}")


def xml_arguments(parser):
    """Declare the options of `ros2 pkg xml`."""
    parser.add_argument("package_name", help="Name of the package")
    parser.add_argument("-t", "--tag", help="Print this XML tag only (e.g. 'version')")


def xml_verb(args):
    """Print a package's manifest, or one of its tags."""
    prefix = _prefix(args.package_name)
    if prefix is None:
        return PACKAGE_NOT_FOUND
    path = os.path.join(prefix, "share", args.package_name, "package.xml")
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
