"""`ros2 run hexapod_dynamics set_morphology --missing RM LM.femur --locked RF.tibia --restore LF`: the short form
of the service.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

import rclpy
from hexapod_dynamics.damage import KINDS, CommandOption, DamageKind
from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.nodes.morphology_messages import read_values, request_of
from hexapod_dynamics.ros.node_functions import LATCHED
from hexapod_dynamics.tools.command_line import at_least, make_parser
from hexapod_dynamics.tools.service_call import call_service, open_calling_node
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.utilities import remove_ros_args


def _options() -> dict[str, tuple[CommandOption, DamageKind]]:
    """Return the options of the kinds of damage that this command can declare, with the kinds, by their names."""
    return {kind.option.name: (kind.option, kind) for kind in KINDS if kind.option is not None}


def parse_changes(
    *, restore: Iterable[str] = (), known: Iterable[str] = (), **damaged: Sequence[str]
) -> dict[str, bool | float]:
    """Return {named value: bool or float} for names of the command line: RM, LM.femur, LF.tibia=0.5.

    damaged: the words after each option, by its name: missing=["RM"], locked=["RF.tibia=0.4"].
    known: all names that can be set; a leg is restored link by link. MorphologyError names the wrong word.
    """
    values: dict[str, bool | float] = {}

    def put(name: str, value: bool | float) -> None:
        if values.setdefault(name, value) != value:
            raise MorphologyError(f"{name}: conflicting values {values[name]!r} and {value!r}; give one")

    options = _options()
    for option, words in damaged.items():
        for word in words:
            for name, value in options[option][1].parse_word(word).items():
                put(name, value)
    for name in restore:
        if "." not in name:
            put(f"legs.{name}", True)
        for whole in known:
            kind, _, part = whole.partition(".")
            if part == name or part.startswith(f"{name}."):
                put(whole, KINDS.values[kind].intact)
        if "." in name and f"links.{name}" not in values:
            put(f"links.{name}", True)  # the service refuses an unknown name, with its reason
    return values


def summarise(values: Mapping[str, bool | float], restored: Sequence[str] = ()) -> str:
    """Return named values in one line; parts of a restored leg or link are not listed one by one."""
    parts = {name: name.partition(".")[2] for name in values}
    listed = [
        f"{name} = {values[name]}"
        for name, part in parts.items()
        if not any(part == whole or part.startswith(f"{whole}.") for whole in restored)
    ]
    return ", ".join(listed + [f"{whole} is intact" for whole in restored])


def _arguments(words: list[str]) -> argparse.Namespace:
    naming = "A leg is named as LF, a link or its joint as LF.femur."
    parser = make_parser(
        "set_morphology", f"Declare what the robot has lost, or got back. All of it or nothing. {naming}"
    )
    options = _options()
    for option, _ in options.values():
        parser.add_argument(option.flag, nargs="+", default=[], metavar=option.metavar, help=option.help)
    parser.add_argument("--restore", nargs="+", default=[], metavar="NAME", help="legs or links that are intact again")
    parser.add_argument(
        "--service",
        default="set_morphology",
        help="service to call (default: set_morphology; simulator/set_damage breaks the simulated robot)",
    )
    parser.add_argument("--namespace", default="", help="namespace of the robot, as given to the launch")
    parser.add_argument("--timeout", type=at_least(0.1), default=5.0, help="how long to wait for the service [s]")
    given = parser.parse_args(words)
    if not (given.restore or any(getattr(given, name) for name in options)):
        flags = ", ".join(option.flag for option, _ in options.values())
        parser.error(f"no change given: use {flags} or --restore")
    return given


def main(args: list[str] | None = None) -> None:
    """Call the service once; exit code 0: accepted, 1: rejected, 2: no answer."""
    given = _arguments(remove_ros_args(sys.argv if args is None else args)[1:])
    with open_calling_node("set_morphology_call", given.namespace, args) as node:
        try:
            sys.exit(_call(node, given))
        except MorphologyError as error:
            sys.exit(f"refused: {error}")


def _known_names(node: Node, timeout: float) -> tuple[str, ...]:
    """Return the names on the latched topic `morphology`; empty without a publisher."""
    received: list[ParameterEvent] = []
    subscription = node.create_subscription(ParameterEvent, "morphology", received.append, LATCHED)
    end = time.monotonic() + timeout
    while not received and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    node.destroy_subscription(subscription)
    return tuple(read_values(received[-1].new_parameters)) if received else ()


def _call(node: Node, given: argparse.Namespace) -> int:
    known = _known_names(node, given.timeout) if given.restore else ()
    damaged = {name: getattr(given, name) for name in _options()}
    values = parse_changes(**damaged, restore=given.restore, known=known)
    launch = "ros2 launch hexapod_dynamics walk.launch.py"
    hint = f"is the robot running ({launch}), in this namespace and ROS_DOMAIN_ID?"
    answer = call_service(node, SetParametersAtomically, given.service, request_of(values), given.timeout, hint)
    if answer is None:
        return 2
    if not answer.result.successful:
        raise MorphologyError(answer.result.reason)
    said = f"; {answer.result.reason}" if answer.result.reason else ""
    print(f"{node.resolve_service_name(given.service)}: {summarise(values, given.restore)}{said}")
    return 0


if __name__ == "__main__":
    main()
