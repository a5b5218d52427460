"""Command `ros2 doctor`: checks of network interfaces, topics and qualities of service, and reports about them.

The checks of a full ROS 2 that ask the distribution's index on the internet (PlatformCheck, PackageCheck) are left out.
"""

import platform
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from .graph import is_hidden, with_node
from .verbs import flag, verb

_SKIPPED = ("/parameter_events", "/rosout")
_LOOPBACK, _MULTICAST = 1 << 3, 1 << 12  # IFF_ flags of Linux


def _interfaces() -> dict[str, int]:
    """Return {network interface: its flags}."""
    names = [name for _, name in socket.if_nameindex()]
    return {name: int(Path("/sys/class/net", name, "flags").read_text(), 16) for name in names}


def _check_network(node) -> Iterator[tuple[bool, str]]:
    flags = _interfaces().values()
    if not any(each & _LOOPBACK for each in flags):
        yield True, "No loopback IP address is found."
    if all(each & _LOOPBACK for each in flags):
        yield False, "Only loopback IP address is found."
    if not any(each & _MULTICAST for each in flags):
        yield False, "No multicast IP address is found."


def _endpoints(node) -> list[tuple[str, int, int]]:
    """Return name, number of publishers and number of subscribers of each visible topic."""
    return [
        (topic, node.count_publishers(topic), node.count_subscribers(topic))
        for topic, _ in node.get_topic_names_and_types()
        if topic not in _SKIPPED and not is_hidden(topic)
    ]


def _check_topics(node) -> Iterator[tuple[bool, str]]:
    for topic, publishers, subscribers in _endpoints(node):
        if publishers and not subscribers:
            yield False, f"Publisher without subscriber detected on {topic}."
        elif subscribers and not publishers:
            yield False, f"Subscriber without publisher detected on {topic}."


def _pairs(node) -> Iterator[tuple]:
    """Yield (topic, publisher, subscription, compatibility, reason) of each pair of endpoints."""
    from rclpy.qos import qos_check_compatible

    for topic, _ in node.get_topic_names_and_types():
        if is_hidden(topic):
            continue
        for publisher in node.get_publishers_info_by_topic(topic):
            for subscription in node.get_subscriptions_info_by_topic(topic):
                pair = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
                yield topic, publisher, subscription, *pair


def _check_quality_of_service(node) -> Iterator[tuple[bool, str]]:
    from rclpy.qos import QoSCompatibility

    for topic, _, _, compatibility, reason in _pairs(node):
        if compatibility != QoSCompatibility.OK:
            kind = "error" if compatibility == QoSCompatibility.ERROR else "warning"
            reason = re.sub(r"^(warning|error): ", "", reason, flags=re.IGNORECASE)
            yield kind == "error", f"QoS compatibility {kind} found on topic '{topic}': {reason}"


# {category: check}; a check yields whether it is an error, and the text. A warning fails only with --include-warnings.
CHECKS = {"network": _check_network, "topic": _check_topics, "middleware": _check_quality_of_service}


def _reports(node) -> Iterator[tuple[str, str, list[tuple[str, object]]]]:
    """Yield category, title and (name, value) pairs of each report."""
    from rclpy.utilities import get_rmw_implementation_identifier

    about = [("system", platform.system()), ("platform info", platform.platform()), ("release", platform.release())]
    yield "platform", "PLATFORM INFORMATION", [*about, ("processor", platform.processor())]
    devices = [[("device", name), ("flags", flags)] for name, flags in _interfaces().items()]
    yield "network", "NETWORK CONFIGURATION", [pair for device in devices for pair in device]
    yield "middleware", "RMW MIDDLEWARE", [("middleware name", get_rmw_implementation_identifier())]
    names = ("topic", "publisher count", "subscriber count")
    topics = [zip(names, topic, strict=True) for topic in _endpoints(node) or [("none", 0, 0)]]
    yield "topic", "TOPIC LIST", [pair for topic in topics for pair in topic]
    items: list[tuple[str, object]] = []
    for topic, publisher, subscription, _, reason in _pairs(node):
        items += [
            ("topic [type]", f"{topic} [{publisher.topic_type}]"),
            ("publisher node", publisher.node_name),
            ("subscriber node", subscription.node_name),
            ("compatibility status", reason or "OK"),
        ]
    none = [("compatibility status", "No publisher/subscriber pairs found")]
    yield "middleware", "QOS COMPATIBILITY LIST", items or none


@verb(
    "doctor",
    flag("--report", "-r", group="report", help="Print all reports."),
    flag("--report-failed", "-rf", group="report", help="Print reports of failed checks only."),
    flag("--exclude-packages", "-ep", help="Accepted: packages are never checked"),
    flag("--include-warnings", "-iw", help="Include warnings as failed checks. Warnings are ignored by default."),
)
@with_node(arguments=())
def doctor(args, node):
    """Run the checks and say how many failed, or print reports; the exit code is 0 as that of the full one."""
    failed = set()
    for category, check in () if args.report else CHECKS.items():
        for is_error, text in check(node):
            print(f"UserWarning: {'ERROR: ' * is_error}{text}", file=sys.stderr)
            if is_error or args.include_warnings:
                failed.add(category)
    if failed:
        print(f"\n{len(failed)}/{len(CHECKS)} check(s) failed\n")
        print("Failed modules:", *sorted(failed))
    elif not args.report:
        print(f"\nAll {len(CHECKS)} checks passed\n")
    for category, title, items in _reports(node) if args.report or (args.report_failed and failed) else ():
        if args.report or category in failed:
            longest = max(len(name) for name, _ in items)
            print("\n  ", title)
            print(*(f"{name:{longest + 4 if longest >= 8 else 8}}: {value}" for name, value in items), sep="\n")
