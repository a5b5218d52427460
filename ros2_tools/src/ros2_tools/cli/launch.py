"""Command `ros2 launch`: start what a launch file describes."""

import os
import sys


def launch_arguments(parser):
    """Declare the options of `ros2 launch`."""
    parser.add_argument(
        "-n",
        "--noninteractive",
        action="store_true",
        default=not sys.stdin.isatty(),
        help="Run with no terminal associated",
    )
    parser.add_argument("-d", "--debug", action="store_true", help="Say more about what the launch system does")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "-p",
        "--print",
        "--print-description",
        action="store_true",
        help="Print the launch description without launching it",
    )
    instead.add_argument(
        "-s",
        "--show-args",
        "--show-arguments",
        action="store_true",
        help="Show the arguments that the launch file takes",
    )
    parser.add_argument(
        "-a",
        "--show-all-subprocesses-output",
        action="store_true",
        help="Show the output of all processes, whatever the launch file says",
    )
    parser.add_argument("--launch-prefix", help="Command to put before all executables")
    parser.add_argument(
        "--launch-prefix-filter", help="Regular expression of the executables that --launch-prefix is for"
    )
    parser.add_argument("package_name", help="Name of the package with the launch file, or the path of one")
    parser.add_argument("launch_file_name", nargs="?", help="Name of the launch file")
    parser.add_argument("launch_arguments", nargs="*", help="Arguments as '<name>:=<value>' (the last of a name wins)")


def launch_file(package_name, file_name):
    """Return the path of a launch file in a package's share directory; RuntimeError if there is not exactly one."""
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        share = get_package_share_directory(package_name)
    except (PackageNotFoundError, ValueError) as error:
        raise RuntimeError(f"Package '{package_name}' not found: {error}") from None
    found = [
        os.path.join(directory, name) for directory, _, files in os.walk(share) for name in files if name == file_name
    ]
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
    print("Arguments (pass arguments as '<name>:=<value>'):")
    arguments = description.get_launch_arguments()
    for argument in arguments:
        print(f"\n    '{argument.name}':{'*' if argument.is_conditional else ''}\n        {argument.description}")
        if argument.default_value is not None:
            print(f"        (default: {' + '.join(part.describe() for part in argument.default_value)})")
    if not arguments:
        print("\n  No arguments.")
    elif any(argument.is_conditional for argument in arguments):
        print("\n* argument(s) which are only used if specific conditions occur")


def _tree(entity, indent=""):
    """Yield a line for an entity and for each that it holds, as far as they are known before the launch runs."""
    yield indent + entity.describe()
    for below in [*entity.get_sub_entities(), *entity.get_conditional_sub_entities()]:
        yield from _tree(below, indent + "    ")


def launch_verb(args):
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
    words += [f"launch-prefix:={args.launch_prefix}"] if args.launch_prefix else []
    words += [f"launch-prefix-filter:={args.launch_prefix_filter}"] if args.launch_prefix_filter else []
    pairs = parsed_arguments(words)
    if args.show_all_subprocesses_output:
        os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "both"

    import launch
    from launch import launch_description_sources as sources
    from launch.actions import IncludeLaunchDescription

    if args.print or args.show_args:
        description = sources.get_launch_description_from_any_launch_file(path)
        if args.show_args:
            return _show_arguments(description)
        print("\n".join(_tree(description)))
        return None
    service = launch.LaunchService(argv=words, noninteractive=args.noninteractive, debug=args.debug)
    service.include_launch_description(
        launch.LaunchDescription(
            [IncludeLaunchDescription(sources.AnyLaunchDescriptionSource(path), launch_arguments=pairs)]
        )
    )
    return service.run()
