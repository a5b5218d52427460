"""Command `ros2 launch`: start what a launch file describes."""

import os
import sys

from .verbs import arg, flag, verb


def launch_file(package_name, file_name):
    """Return the path of a launch file in a package's share directory; RuntimeError if there is not exactly one."""
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        share = get_package_share_directory(package_name)
    except (PackageNotFoundError, ValueError) as error:
        raise RuntimeError(f"Package '{package_name}' not found: {error}") from None
    found = [os.path.join(directory, file_name) for directory, _, files in os.walk(share) if file_name in files]
    place = f"in the share directory of package '{package_name}'"
    if not found:
        raise RuntimeError(f"file '{file_name}' was not found {place} which is at '{share}'")
    if len(found) > 1:
        listed = ", ".join(f"'{path}'" for path in found)
        raise RuntimeError(f"file '{file_name}' was found more than once {place}: [{listed}]")
    return found[0]


def parsed_arguments(words):
    """Return the (name, value) pairs of words like `name:=value`; RuntimeError for another word."""
    pairs = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not (name and separator) or (not value and word.count(":=") == 1):
            raise RuntimeError(f"malformed launch argument '{word}', expected format '<name>:=<value>'")
        pairs[name] = value
    return list(pairs.items())


def _show_arguments(description):
    from launch.substitutions import described

    print("Arguments (pass arguments as '<name>:=<value>'):")
    arguments = description.get_launch_arguments()
    for argument in arguments:
        print(f"\n    '{argument.name}':{'*' if argument.is_conditional else ''}\n        {argument.description}")
        if argument.default_value is not None:
            print(f"        (default: {described(argument.default_value)})")
    if not arguments:
        print("\n  No arguments.")
    elif any(argument.is_conditional for argument in arguments):
        print("\n* argument(s) which are only used if specific conditions occur")


def _tree(entity, indent=""):
    """Yield a line for an entity and for each that it holds, as far as they are known before the launch runs."""
    yield indent + entity.describe()
    for below in entity.get_sub_entities():
        yield from _tree(below, indent + "    ")


@verb(
    "launch",
    flag("-n", "--noninteractive", default=not sys.stdin.isatty(), help="Run with no terminal associated"),
    flag("-d", "--debug", help="Say more about what the launch system does"),
    flag("-p", "--print", "--print-description", group="instead", help="Print the description without launching it"),
    flag("-s", "--show-args", "--show-arguments", group="instead", help="Show the arguments of the launch file"),
    flag("-a", "--show-all-subprocesses-output", help="Show the output of all processes, whatever the file says"),
    arg("--launch-prefix", help="Command to put before all executables"),
    arg("--launch-prefix-filter", help="Regular expression of the executables that --launch-prefix is for"),
    arg("package_name", help="Name of the package with the launch file, or the path of one"),
    arg("launch_file_name", nargs="?", help="Name of the launch file"),
    arg("launch_arguments", nargs="*", help="Arguments as '<name>:=<value>' (the last of a name wins)"),
)
def launch(args):
    """Launch a file, or show its arguments or its description."""
    words = list(args.launch_arguments)
    if os.path.isfile(args.package_name):
        path = args.package_name
        words[:0] = [args.launch_file_name] if args.launch_file_name is not None else []
    elif args.launch_file_name is None:
        raise RuntimeError(f"'{args.package_name}' is no file; give a package's name and a launch file's name")
    else:
        path = launch_file(args.package_name, args.launch_file_name)
    if args.launch_prefix_filter is not None and args.launch_prefix is None:
        raise RuntimeError("--launch-prefix must be specified if --launch-prefix-filter is provided")
    given = {"launch-prefix": args.launch_prefix, "launch-prefix-filter": args.launch_prefix_filter}
    words += [f"{name}:={value}" for name, value in given.items() if value]
    pairs = parsed_arguments(words)
    if args.show_all_subprocesses_output:
        os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "both"

    from launch import LaunchDescription, LaunchService
    from launch import launch_description_sources as sources
    from launch.actions import IncludeLaunchDescription

    if args.print or args.show_args:
        description = sources.get_launch_description_from_any_launch_file(path)
        if args.show_args:
            return _show_arguments(description)
        print("\n".join(_tree(description)))
        return None
    service = LaunchService(argv=words, noninteractive=args.noninteractive, debug=args.debug)
    source = sources.AnyLaunchDescriptionSource(path)
    service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=pairs)]))
    return service.run()
