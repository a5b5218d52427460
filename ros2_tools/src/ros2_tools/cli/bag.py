"""Verbs `ros2 bag` record, play and info, on bags that rosbag2 reads and writes (SQLite3, CDR), by PyPI's rosbags."""

import itertools
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

from .graph import DIRECT, graph_node, with_node
from .messages import message_class
from .names import found_names
from .qos import fitting_profile
from .verbs import arg, flag, verb

LOOK_AGAIN = 0.5  # [s] between looks for new topics while recording
VERSION = 8  # of the bag's metadata: the last one that Humble writes its QoS profiles in
BAG = arg("bag", help="Folder of the bag")
MISSING = "{}: the message type {} is not installed here"


def _stored(profile):
    """Return a quality of service as it is stored in a bag."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    forever = QosTime(2147483647, 4294967295)
    return Qos(
        QosHistory.KEEP_LAST,
        1 if profile.durability.name == "TRANSIENT_LOCAL" else 10,
        QosReliability[profile.reliability.name],
        QosDurability[profile.durability.name],
        forever,
        forever,
        QosLiveliness.AUTOMATIC,
        forever,
        avoid_ros_namespace_conventions=False,
    )


class Recorder:
    """Subscribes to topics as they appear and writes their bytes as they come; `wanted`: full names, None for all."""

    def __init__(self, node, writer, wanted):
        from rosbags.typesys import Stores, TypesysError, get_typestore

        self._node, self._writer, self._wanted = node, writer, wanted
        self._types = get_typestore(Stores.ROS2_HUMBLE)
        self._known, self._refused = set(), (RuntimeError, KeyError, TypesysError)
        self.count = 0

    def look(self):
        """Subscribe to topics that are new."""
        for topic, types in found_names("topic", self._node, include_hidden=False):
            asked_for = topic not in self._known and (self._wanted is None or topic in self._wanted)
            publishers = self._node.get_publishers_info_by_topic(topic) if asked_for else []
            if publishers and len(types) == 1:
                self._known.add(topic)
                try:
                    self._subscribe(topic, types[0], fitting_profile(publishers))
                    print(f"Subscribed to topic '{topic}'", flush=True)
                except self._refused as error:  # a type that is not installed, or rosbags does not know
                    print(f"Not recorded: {error}", file=sys.stderr, flush=True)

    def _subscribe(self, topic, kind, profile):
        message, profile.depth = message_class(kind, MISSING.format(topic, kind)), 100
        stored = [_stored(profile)]
        connection = self._writer.add_connection(topic, kind, typestore=self._types, offered_qos_profiles=stored)

        def keep(raw):
            self._writer.write(connection, time.time_ns(), bytes(raw))
            self.count += 1

        self._node.create_subscription(message, topic, keep, profile, raw=True)


@verb(
    "bag record",
    arg("topics", nargs="*", help="Topics to record"),
    flag("-a", "--all", help="Record all topics"),
    arg("-o", "--output", help="Folder of the bag; it must not exist (default: rosbag2_DATE)"),
    arg("-d", "--duration", type=float, default=0.0, help="Stop after so many seconds (0: at Ctrl-C)"),
)
@with_node(arguments=DIRECT)
def record(args, node):
    """Record topics to a bag."""
    from rosbags.rosbag2 import Writer

    import rclpy

    if bool(args.topics) == args.all:
        return "name the topics to record, or give --all"
    folder = Path(args.output or time.strftime("rosbag2_%Y_%m_%d-%H_%M_%S"))
    if folder.exists():
        return f"the folder {folder} exists already; name another with --output"
    wanted = None if args.all else {node.resolve_topic_name(topic) for topic in args.topics}
    with Writer(folder, version=VERSION) as writer, suppress(KeyboardInterrupt):
        recorder = Recorder(node, writer, wanted)
        due = time.monotonic()
        end = due + args.duration if args.duration > 0 else float("inf")
        while (now := time.monotonic()) < end:
            if now >= due:
                recorder.look()
                due = now + LOOK_AGAIN
            rclpy.spin_once(node, timeout_sec=0.05)
    print(f"{recorder.count} messages in {folder}", flush=True)
    return None


def _opened(path):
    from rosbags.rosbag2 import Reader, ReaderError

    try:
        reader = Reader(Path(path))
        reader.open()
    except (ReaderError, OSError) as error:
        raise RuntimeError(f"{path} is no bag that can be read: {error}") from None
    return closing(reader)


def _publisher(node, connection):
    """Return a publisher for a connection of a bag, with the quality of service that was recorded."""
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    offered = connection.ext.offered_qos_profiles
    reliability, durability = (offered[0].reliability.name, offered[0].durability.name) if offered else ("", "")
    profile = QoSProfile(
        depth=1 if durability == "TRANSIENT_LOCAL" else 10,
        reliability=getattr(ReliabilityPolicy, reliability, ReliabilityPolicy.RELIABLE),
        durability=getattr(DurabilityPolicy, durability, DurabilityPolicy.VOLATILE),
    )
    topic, kind = connection.topic, connection.msgtype
    return node.create_publisher(message_class(kind, MISSING.format(topic, kind)), topic, profile)


@verb(
    "bag play",
    *DIRECT,
    BAG,
    arg("-r", "--rate", type=float, default=1.0, help="Times faster than it was recorded (default: 1)"),
    flag("-l", "--loop", help="Begin again at the end"),
    arg("--topics", nargs="+", help="Play these topics only"),
)
def play(args):
    """Publish what a bag holds."""
    if not args.rate > 0.0:
        return f"--rate {args.rate}: a positive number is needed"
    with _opened(args.bag) as reader:
        chosen = [c for c in reader.connections if not args.topics or c.topic in args.topics]
        if not chosen:
            return f"none of {' '.join(args.topics or ['(nothing)'])} is in {args.bag}"
        with graph_node(args) as node, suppress(KeyboardInterrupt):
            publishers = {connection.id: _publisher(node, connection) for connection in chosen}
            time.sleep(0.5)  # who waits for these topics finds the publishers before the first message
            for _ in itertools.count() if args.loop else range(1):
                _play_once(reader, chosen, publishers, args.rate)
    return None


def _play_once(reader, connections, publishers, rate):
    """Publish the messages at the times at which they were recorded."""
    began, first = time.monotonic(), None
    for connection, stamp, raw in reader.messages(connections=connections):
        first = stamp if first is None else first
        wait = began + (stamp - first) * 1e-9 / rate - time.monotonic()
        if wait > 0.0:
            time.sleep(wait)
        publishers[connection.id].publish(bytes(raw))


@verb("bag info", BAG)
def info(args):
    """Print information about a bag."""
    with _opened(args.bag) as reader:
        print(f"Files:             {args.bag}")
        print(f"Duration:          {reader.duration * 1e-9:.3f}s")
        print(f"Messages:          {reader.message_count}")
        for connection in sorted(reader.connections, key=lambda c: c.topic):
            print(f"Topic: {connection.topic} | Type: {connection.msgtype} | Count: {connection.msgcount}")
