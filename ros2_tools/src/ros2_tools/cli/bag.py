"""Verbs `ros2 bag` record, play and info, on bags that rosbag2 reads and writes (SQLite3, CDR), by PyPI's rosbags."""

import time
from pathlib import Path

from .graph import direct_arguments, graph_node
from .interfaces import message_class
from .names import topics

LOOK_AGAIN = 0.5  # [s] between looks for new topics while recording
VERSION = 8  # of the bag's metadata: the last one that Humble writes its QoS profiles in


def record_arguments(parser):
    """Declare the options of `ros2 bag record`."""
    parser.add_argument("topics", nargs="*", help="Topics to record")
    parser.add_argument("-a", "--all", action="store_true", help="Record all topics")
    parser.add_argument("-o", "--output", help="Folder of the bag; it must not exist (default: rosbag2_DATE)")
    parser.add_argument("-d", "--duration", type=float, default=0.0, help="Stop after so many seconds (0: at Ctrl-C)")
    direct_arguments(parser)


def _qos(node, topic):
    """Return the quality of service that all publishers of a topic offer, and its form in the bag."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    infos = node.get_publishers_info_by_topic(topic)
    reliable = bool(infos) and all(i.qos_profile.reliability == ReliabilityPolicy.RELIABLE for i in infos)
    latched = bool(infos) and all(i.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for i in infos)
    profile = QoSProfile(
        depth=100,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
    forever = QosTime(2147483647, 4294967295)
    stored = Qos(
        QosHistory.KEEP_LAST,
        1 if latched else 10,
        QosReliability.RELIABLE if reliable else QosReliability.BEST_EFFORT,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        forever,
        forever,
        QosLiveliness.AUTOMATIC,
        forever,
        avoid_ros_namespace_conventions=False,
    )
    return profile, stored


class Recorder:
    """Subscribes to topics as they appear and writes their bytes as they come."""

    def __init__(self, node, writer, wanted):
        """`wanted`: full names of topics, None for all."""
        from rosbags.typesys import Stores, get_typestore

        self._node, self._writer, self._wanted = node, writer, wanted
        self._types = get_typestore(Stores.ROS2_HUMBLE)
        self._known = set()
        self.count = 0

    def look(self):
        """Subscribe to topics that are new."""
        for topic, types in topics(self._node, include_hidden=False):
            if topic in self._known or (self._wanted is not None and topic not in self._wanted):
                continue
            if self._node.count_publishers(topic) == 0 or len(types) != 1:
                continue
            self._known.add(topic)
            profile, stored = _qos(self._node, topic)
            connection = self._writer.add_connection(
                topic, types[0], typestore=self._types, offered_qos_profiles=[stored]
            )
            kind = message_class(types[0], f"{topic}: the message type {types[0]} is not installed here")
            self._node.create_subscription(kind, topic, self._keeper(connection), profile, raw=True)
            print(f"Subscribed to topic '{topic}'", flush=True)

    def _keeper(self, connection):
        def keep(raw):
            self._writer.write(connection, time.time_ns(), bytes(raw))
            self.count += 1

        return keep


def record_verb(args):
    """Record until Ctrl-C or for the given time."""
    from rosbags.rosbag2 import Writer

    import rclpy

    if bool(args.topics) == args.all:
        return "name the topics to record, or give --all"
    folder = Path(args.output or time.strftime("rosbag2_%Y_%m_%d-%H_%M_%S"))
    if folder.exists():
        return f"the folder {folder} exists already; name another with --output"
    with graph_node(args) as node:
        wanted = None if args.all else {node.resolve_topic_name(topic) for topic in args.topics}
        end = time.monotonic() + args.duration if args.duration > 0 else float("inf")
        with Writer(folder, version=VERSION) as writer:
            recorder = Recorder(node, writer, wanted)
            due = 0.0
            try:
                while time.monotonic() < end:
                    if time.monotonic() >= due:
                        recorder.look()
                        due = time.monotonic() + LOOK_AGAIN
                    rclpy.spin_once(node, timeout_sec=0.05)
            except KeyboardInterrupt:
                pass
        print(f"{recorder.count} messages in {folder}", flush=True)
    return None


def play_arguments(parser):
    """Declare the options of `ros2 bag play`."""
    parser.add_argument("bag", help="Folder of the bag")
    parser.add_argument("-r", "--rate", type=float, default=1.0, help="Times faster than it was recorded (default: 1)")
    parser.add_argument("-l", "--loop", action="store_true", help="Begin again at the end")
    parser.add_argument("--topics", nargs="+", help="Play these topics only")
    direct_arguments(parser)


def _opened(path):
    from rosbags.rosbag2 import Reader, ReaderError

    try:
        reader = Reader(Path(path))
        reader.open()
    except (ReaderError, OSError) as error:
        raise RuntimeError(f"{path} is no bag that can be read: {error}") from None
    return reader


def _publishers(node, connections):
    """Return a publisher for each connection of a bag, with the quality of service that was recorded."""
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    publishers = {}
    for connection in connections:
        offered = connection.ext.offered_qos_profiles
        latched = bool(offered) and offered[0].durability.name == "TRANSIENT_LOCAL"
        best_effort = bool(offered) and offered[0].reliability.name == "BEST_EFFORT"
        profile = QoSProfile(
            depth=1 if latched else 10,
            reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        missing = f"{connection.topic}: the message type {connection.msgtype} is not installed here"
        kind = message_class(connection.msgtype, missing)
        publishers[connection.id] = node.create_publisher(kind, connection.topic, profile)
    return publishers


def play_verb(args):
    """Publish a bag's messages at the times at which they were recorded."""
    if not args.rate > 0.0:
        return f"--rate {args.rate}: a positive number is needed"
    reader = _opened(args.bag)
    try:
        chosen = [c for c in reader.connections if not args.topics or c.topic in args.topics]
        if not chosen:
            return f"none of {' '.join(args.topics or ['(nothing)'])} is in {args.bag}"
        with graph_node(args) as node:
            publishers = _publishers(node, chosen)
            time.sleep(0.5)  # who waits for these topics finds the publishers before the first message
            try:
                while True:
                    _play_once(reader, chosen, publishers, args.rate)
                    if not args.loop:
                        return None
            except KeyboardInterrupt:
                return None
    finally:
        reader.close()


def _play_once(reader, connections, publishers, rate):
    began, first = time.monotonic(), None
    for connection, stamp, raw in reader.messages(connections=connections):
        first = stamp if first is None else first
        wait = began + (stamp - first) * 1e-9 / rate - time.monotonic()
        if wait > 0.0:
            time.sleep(wait)
        publishers[connection.id].publish(bytes(raw))


def info_arguments(parser):
    """Declare the options of `ros2 bag info`."""
    parser.add_argument("bag", help="Folder of the bag")


def info_verb(args):
    """Print what is in a bag."""
    reader = _opened(args.bag)
    try:
        print(f"Files:             {args.bag}")
        print(f"Duration:          {reader.duration * 1e-9:.3f}s")
        print(f"Messages:          {reader.message_count}")
        for connection in sorted(reader.connections, key=lambda c: c.topic):
            print(f"Topic: {connection.topic} | Type: {connection.msgtype} | Count: {connection.msgcount}")
    finally:
        reader.close()
