"""Command `ros2 doctor`: checks of network interfaces, topics and qualities of service, and reports about them.

The checks of a full ROS 2 that ask the distribution's index on the internet (PlatformCheck, PackageCheck) are left out.
"""

import platform
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from .graph import graph_node, is_hidden

_SKIPPED = ("/parameter_events", "/rosout")
_LOOPBACK, _MULTICAST = 1 << 3, 1 << 12  # IFF_ flags of Linux


class Finding(NamedTuple):
    """What a check has found: an error, or a warning, which fails the check only with --include-warnings."""

    is_error: bool
    text: str


def doctor_arguments(parser):
    """Declare the options of `ros2 doctor`."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--report", "-r", action="store_true", help="Print all reports.")
    group.add_argument("--report-failed", "-rf", action="store_true", help="Print reports of failed checks only.")
    parser.add_argument("--exclude-packages", "-ep", action="store_true", help="Accepted: packages are never checked")
    parser.add_argument(
        "--include-warnings",
        "-iw",
        action="store_true",
        help="Include warnings as failed checks. Warnings are ignored by default.",
    )


def _interfaces() -> dict[str, int]:
    """Return {network interface: its flags}."""
    names = [name for _, name in socket.if_nameindex()]
    return {name: int(Path("/sys/class/net", name, "flags").read_text(), 16) for name in names}


def _check_network(node) -> Iterator[Finding]:
    flags = _interfaces().values()
    if not any(each & _LOOPBACK for each in flags):
        yield Finding(True, "No loopback IP address is found.")
    if all(each & _LOOPBACK for each in flags):
        yield Finding(False, "Only loopback IP address is found.")
    if not any(each & _MULTICAST for each in flags):
        yield Finding(False, "No multicast IP address is found.")


def _endpoints(node) -> Iterator[tuple[str, int, int]]:
    """Yield name, number of publishers and number of subscribers of each visible topic."""
    for topic, _ in node.get_topic_names_and_types():
        if topic not in _SKIPPED and not is_hidden(topic):
            yield topic, node.count_publishers(topic), node.count_subscribers(topic)


def _check_topics(node) -> Iterator[Finding]:
    for topic, publishers, subscribers in _endpoints(node):
        if publishers and not subscribers:
            yield Finding(False, f"Publisher without subscriber detected on {topic}.")
        elif subscribers and not publishers:
            yield Finding(False, f"Subscriber without publisher detected on {topic}.")


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


def _check_quality_of_service(node) -> Iterator[Finding]:
    from rclpy.qos import QoSCompatibility

    for topic, _, _, compatibility, reason in _pairs(node):
        if compatibility != QoSCompatibility.OK:
            is_error = compatibility == QoSCompatibility.ERROR
            reason = re.sub(r"^(warning|error): ", "", reason, flags=re.IGNORECASE)
            yield Finding(
                is_error, f"QoS compatibility {'error' if is_error else 'warning'} found on topic '{topic}': {reason}"
            )


CHECKS: dict[str, tuple[str, Callable]] = {  # {check: (category, function)}
    "NetworkCheck": ("network", _check_network),
    "TopicCheck": ("topic", _check_topics),
    "QoSCompatibilityCheck": ("middleware", _check_quality_of_service),
}


def _reports(node) -> Iterator[tuple[str, str, list[tuple[str, object]]]]:
    """Yield category, title and (name, value) pairs of each report."""
    from rclpy.utilities import get_rmw_implementation_identifier

    about = [("system", platform.system()), ("platform info", platform.platform()), ("release", platform.release())]
    yield "platform", "PLATFORM INFORMATION", [*about, ("processor", platform.processor())]
    devices = [[("device", name), ("flags", flags)] for name, flags in _interfaces().items()]
    yield "network", "NETWORK CONFIGURATION", [pair for device in devices for pair in device]
    yield "middleware", "RMW MIDDLEWARE", [("middleware name", get_rmw_implementation_identifier())]
    topics = [*_endpoints(node)] or [("none", 0, 0)]
    names = ("topic", "publisher count", "subscriber count")
    yield "topic", "TOPIC LIST", [pair for topic in topics for pair in zip(names, topic, strict=True)]
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


def _print_report(title: str, items: list[tuple[str, object]]) -> None:
    longest = max(len(name) for name, _ in items)
    width = longest + 4 if longest >= 8 else 8
    print("\n  ", title)
    for name, value in items:
        print(f"{name:{width}}: {value}")


def doctor_verb(args):
    """Run the checks and say how many failed, or print reports; the exit code is 0 as that of the full one."""
    with graph_node(args) as node:
        failed = set()
        if not args.report:
            count = 0
            for category, check in CHECKS.values():
                findings = [*check(node)]
                for finding in findings:
                    kind = "ERROR: " if finding.is_error else ""
                    print(f"UserWarning: {kind}{finding.text}", file=sys.stderr)
                if any(finding.is_error or args.include_warnings for finding in findings):
                    count += 1
                    failed.add(category)
            if count:
                print(f"\n{count}/{len(CHECKS)} check(s) failed\n")
                print("Failed modules:", *sorted(failed))
            else:
                print(f"\nAll {len(CHECKS)} checks passed\n")
        for category, title, items in _reports(node) if args.report or (args.report_failed and failed) else ():
            if args.report or category in failed:
                _print_report(title, items)
