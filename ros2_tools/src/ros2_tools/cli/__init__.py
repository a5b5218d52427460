"""The command `ros2`: thin verbs over rclpy, of which only the modules of the command at hand are loaded."""

import argparse
import contextlib
import importlib
import os
import signal
import sys

from ..errors import NotCovered
from ..lazy_interfaces import load_interfaces_when_used
from .verbs import VERBS, Verb

_FORMAT = argparse.RawDescriptionHelpFormatter
# {command: its summary, the modules of its verbs}
COMMANDS = {
    "action": ("Various action related sub-commands", ("names",)),
    "bag": ("Various rosbag related sub-commands", ("bag",)),
    "doctor": ("Check ROS setup and other potential issues", ("doctor",)),
    "interface": ("Show information about ROS interfaces", ("interface",)),
    "launch": ("Run a launch file", ("launch",)),
    "node": ("Various node related sub-commands", ("names",)),
    "param": ("Various param related sub-commands", ("param",)),
    "pkg": ("Various package related sub-commands", ("pkg",)),
    "run": ("Run a package specific executable", ("pkg",)),
    "service": ("Various service related sub-commands", ("names", "sending")),
    "topic": ("Various topic related sub-commands", ("names", "sending", "topic")),
    "wtf": ("Use `wtf` as alias to `doctor`", ("doctor",)),
}
# What the command of a full ROS 2 has beyond these, to be named when it is refused.
NOT_COVERED = {
    "component": "components",
    "control": "ros2_control",
    "daemon": "a daemon (every command looks at the network itself, so nothing is to be started or stopped)",
    "lifecycle": "lifecycle nodes",
    "multicast": "multicast tests",
    "security": "DDS security",
    "test": "launch tests",
    "trace": "tracing",
    **{f"topic {verb}": "bandwidth, delay and search of topics" for verb in ("bw", "delay", "find")},
    **{f"interface {verb}": "more of interfaces than list and show" for verb in ("package", "packages", "proto")},
    **{f"param {verb}": "deleting and loading parameters" for verb in ("delete", "load")},
    "service find": "a search of services by type",
    "action info": "more of actions than their list",
    "action send_goal": "more of actions than their list",
    "doctor hello": "network tests of several computers",
    "pkg create": "making packages",
}


def _subparsers(parser, summaries, program, dest):
    """Add a subparser for each {name: summary}; return them."""
    width = max(map(len, summaries))
    group = parser.add_subparsers(
        title="Commands",
        description="".join(f"{name.ljust(width)}  {summary}\n" for name, summary in sorted(summaries.items())),
        metavar=f"Call `{program} <command> -h` for more detailed usage.",
    )
    group.dest, group.required = dest, False
    return {
        name: group.add_parser(name, description=summary, formatter_class=_FORMAT)
        for name, summary in sorted(summaries.items())
    }


def _attach(parser, verb: Verb):
    """Let a parser take the arguments of a verb, and its result name the function."""
    groups = {}
    for names, options, group in verb.arguments:
        if group and group not in groups:
            groups[group] = parser.add_mutually_exclusive_group()
        groups.get(group, parser).add_argument(*names, **options)
    parser.set_defaults(_main=verb.function)


def _names(words):
    """Return command and verb, as far as there are any."""
    return [word for word in words if not word.startswith("-")][:2]


def build(words):
    """Return the parser for a command line: complete only along the command it names."""
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
    parser.set_defaults(_main=lambda args: parser.print_help())
    command, name = [*_names(words), "", ""][:2]
    commands = _subparsers(parser, {each: summary for each, (summary, _) in COMMANDS.items()}, "ros2", " command")
    if command not in COMMANDS:
        return parser
    for module in COMMANDS[command][1]:
        importlib.import_module(f".{module}", __package__)
    chosen = commands[command]
    verbs_of = "doctor" if command == "wtf" else command
    own = {each.partition(" ")[2]: verb for each, verb in VERBS.items() if each.partition(" ")[0] == verbs_of}
    if "" in own:
        _attach(chosen, own[""])
        return parser
    if command in ("topic", "service"):
        text = f"Consider hidden {command}s as well"
        chosen.add_argument(f"--include-hidden-{command}s", action="store_true", help=text)
    chosen.set_defaults(_main=lambda args: chosen.print_help())
    verbs = _subparsers(chosen, {each: verb.summary for each, verb in own.items()}, f"ros2 {command}", " verb")
    if name in own:
        _attach(verbs[name], own[name])
    return parser


def not_covered(words):
    """Return the sentence that refuses a command or verb of a full ROS 2 that is not in here, else None."""
    names = _names(words)
    for named in (" ".join(names), *names[:1]):
        if named in NOT_COVERED:
            return f"ros2 {named}: ros2_tools does not cover {NOT_COVERED[named]}; source a real ROS 2 to use it"
    return None


def main(argv=None):
    """Run the `ros2` command with the words `argv` (default: the process's) and return what `sys.exit` takes.

    As the process's command it ends the process, unless that is a launch, whose file may have what runs at the end.
    """
    words = sys.argv[1:] if argv is None else argv
    status = _answer(words)
    if argv is None and words and _names(words)[:1] not in (["launch"], ["run"]):
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


def _answer(words):
    signals = []

    def end(number, frame):
        signals.append(number)
        if frame.f_code.co_name != "__del__":  # Python would print it and go on; rclpy ends the wait by itself
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        if refusal := not_covered(words):
            return refusal
        load_interfaces_when_used()
        parser = build(words)
        args = parser.parse_args(words)
        if not args.use_python_default_buffering:
            sys.stdout.reconfigure(line_buffering=True)
        return args._main(args)
    except KeyboardInterrupt:
        return int(signals[-1])
    except BrokenPipeError:  # `ros2 topic list | head -1`
        sys.stdout = None
        return 1
    except Exception as error:
        if signals:  # the context was shut down in the middle of something
            return int(signals[-1])
        refused = type(error).__module__ == "rclpy.exceptions" or isinstance(error, (RuntimeError, ValueError, OSError))
        if refused or isinstance(error, NotCovered):
            return str(error)
        raise
