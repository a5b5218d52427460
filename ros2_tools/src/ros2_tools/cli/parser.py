"""Build the argument parser, only as deep as the command line at hand asks, and run the chosen verb."""

import argparse
import contextlib
import importlib
import os
import signal
import sys

from ..errors import NotCoveredImport
from ..lazy_interfaces import load_interfaces_when_used
from .commands import COMMANDS, NOT_COVERED, NOT_COVERED_VERBS

_FORMAT = argparse.RawDescriptionHelpFormatter


def _table(entries):
    """Return one line `name  summary` for each entry, the names in one column."""
    width = max(map(len, entries))
    return "".join(f"{name.ljust(width)}  {entry.summary}\n" for name, entry in sorted(entries.items()))


def _first_word(words):
    """Return the index of the first word that is not an option, or None."""
    return next((i for i, word in enumerate(words) if not word.startswith("-")), None)


def _subparsers(parser, entries, program, dest, chosen):
    """Add one subparser per entry and return that of the chosen one (None if there is none of that name)."""
    group = parser.add_subparsers(
        title="Commands", description=_table(entries), metavar=f"Call `{program} <command> -h` for more detailed usage."
    )
    group.dest, group.required = dest, False
    made = {
        name: group.add_parser(name, description=entries[name].summary, formatter_class=_FORMAT)
        for name in sorted(entries)
    }
    return made.get(chosen)


def _attach(parser, module, name, *kind):
    """Let module `module` of this package declare the options of `name` and run it; `kind` of names where it asks."""
    verb = importlib.import_module(f".{module}", __package__)
    getattr(verb, f"{name}_arguments")(parser, *kind)
    parser.set_defaults(_main=getattr(verb, f"{name}_verb"), **dict(zip(("kind",), kind, strict=False)))


def build(argv):
    """Return the parser for the command line `argv` (a list of words): complete only along the command it names."""
    parser = argparse.ArgumentParser(
        prog="ros2",
        formatter_class=_FORMAT,
        description="ros2 is an extensible command-line tool for ROS 2.",
        epilog=f"This is the command of ros2_tools. It does not cover: {', '.join(sorted(NOT_COVERED))}.",
    )
    parser.add_argument(
        "--use-python-default-buffering",
        action="store_true",
        help="Leave the buffering of stdout to Python instead of flushing every line",
    )
    at = _first_word(argv)
    name = None if at is None else argv[at]
    chosen = _subparsers(parser, COMMANDS, "ros2", " command", name)
    if chosen is None:
        return parser
    command = COMMANDS[name]
    if not command.verbs:
        _attach(chosen, command.module, command.module)
        return parser
    for option, text in command.options:
        chosen.add_argument(option, action="store_true", help=text)
    chosen.set_defaults(_main=lambda args: chosen.print_help())
    rest = argv[at + 1 :]
    below = _first_word(rest)
    verb = None if below is None else rest[below]
    last = _subparsers(chosen, command.verbs, f"ros2 {name}", " verb", verb)
    if last is not None:
        module = command.verbs[verb].module
        _attach(last, module, verb, *([name] if module == "names" else []))
    return parser


def not_covered(argv):
    """Return the sentence that refuses a command or verb of a full ROS 2 that is not in here, else None."""
    words = [word for word in argv if not word.startswith("-")][:2]
    what = NOT_COVERED.get(words[0]) if words else None
    what = what or NOT_COVERED_VERBS.get(tuple(words))
    if what is None:
        return None
    named = " ".join(["ros2", *(words if tuple(words) in NOT_COVERED_VERBS else words[:1])])
    return f"{named}: ros2_tools does not cover {what}; source a real ROS 2 to use it"


def _run(argv):
    load_interfaces_when_used()
    parser = build(argv)
    args = parser.parse_args(argv)
    if not args.use_python_default_buffering:
        sys.stdout.reconfigure(line_buffering=True)
    if not hasattr(args, "_main"):
        parser.print_help()
        return 0
    return args._main(args)


def main(argv=None):
    """Run the `ros2` command with the words `argv` (default: the process's) and return what `sys.exit` takes.

    As the process's command it ends the process, unless that is a launch, whose file may have what runs at the end.
    """
    words = sys.argv[1:] if argv is None else argv
    status = _answer(words)
    first = _first_word(words)
    if argv is None and first is not None and words[first] not in ("launch", "run"):
        _end(status)
    return status


def _end(status):
    """End as `sys.exit(status)`, without destroying the objects of all libraries one by one, which takes 0.5 s."""
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # its reader has gone
            stream.flush()
    os._exit(status or 0)


def _answer(argv):
    signals = []

    def end(number, frame):
        signals.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        return not_covered(argv) or _run(argv)
    except KeyboardInterrupt:
        return int(signals[-1])
    except BrokenPipeError:  # `ros2 topic list | head -1`
        sys.stdout = None
        return 1
    except Exception as error:
        if signals:  # the context was shut down in the middle of something
            return int(signals[-1])
        refused = type(error).__module__ == "rclpy.exceptions" or isinstance(error, (RuntimeError, ValueError, OSError))
        if refused or isinstance(error, NotCoveredImport):
            return str(error)
        raise
