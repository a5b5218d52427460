"""A Recording from a rosbag2 folder with the topics of this package."""

from __future__ import annotations

import datetime
import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from hexapod_dynamics.errors import IdentificationError, RecordingWarning, shorten
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.onboard.inputs import Faults, ImuInput, JointInput, imu_quantities
from hexapod_dynamics.robot import Robot

COMMANDS, MEASUREMENTS, JOINTS = "joint_commands", "servos/measurements", "joint_states"
RAW, IMU, TORQUES = "imu/data_raw", "imu/data", "feedforward_torques"
JOINT_TYPE, IMU_TYPE = "sensor_msgs/msg/JointState", "sensor_msgs/msg/Imu"
TOPICS = dict.fromkeys((COMMANDS, MEASUREMENTS, JOINTS, TORQUES), JOINT_TYPE) | dict.fromkeys((RAW, IMU), IMU_TYPE)
Message = Any  # of a ROS type, as rosbags makes it
MAX_GAP = 1.0  # [s] between two messages of a bag beyond which its clock has jumped, or nothing was recorded


class Row(NamedTuple):
    """A message of a bag: received, stamp [ns]."""

    topic: str
    received: int
    stamp: int
    message: Message


Rows = dict[str, list[tuple[float, Message]]]  # by topic: time [s] on one clock, message or what was made of it


def read_bag(path: str | os.PathLike[str], robot: Robot) -> Recording:
    """Read a bag, in any namespace; times count from its first command.

    Readings come from servos/measurements, which has the time of each reading, else from joint_states; the IMU's
    come from imu/data_raw, else from imu/data. Where the clock jumps the longest part is read, with a RecordingWarning.
    Raises IdentificationError for a path that is no bag, for one that lacks a topic, and for one whose clock went back.
    """
    path, faults = Path(path), Faults()
    rows = read_topics(path, TOPICS, needed=((COMMANDS,), (MEASUREMENTS, JOINTS), (RAW, IMU)))
    _check_rates(path, rows)
    joints = JointInput(robot, faults)
    commands = _commands(rows[COMMANDS], robot, joints)
    _check_one_motion(commands)
    readings, imu, attitudes, torques = [], [], [], []
    topic = MEASUREMENTS if rows[MEASUREMENTS] else JOINTS
    for time, message in rows[topic]:
        # `effort` of servos/measurements: how long before its stamp each joint of a message was read [s]
        ages = message.effort if topic == MEASUREMENTS else ()
        found = joints.read(topic, message.name, message.position, ages, others=True, measured=True)
        readings += [(time - age, index, angle) for index, angle, age in found or ()]
    sensor = RAW if rows[RAW] else IMU
    for source in dict.fromkeys((sensor, IMU)):
        samples = ImuInput(np.asarray(robot.imu.rotation), faults, source)
        for time, message in rows[source]:
            turn, force, rate = imu_quantities(message)
            sample = samples.read(time, turn if source == IMU else None, force, rate)
            if source == sensor and sample.force is not None and sample.rate is not None:
                imu.append((time, sample.force, sample.rate))
            if sample.rotation is not None:
                attitudes.append((time, sample.rotation))
    for time, message in rows[TORQUES]:
        efforts = joints.arrange_message(TORQUES, message.name, message.effort, others=True)
        if efforts is not None:
            torques.append((time, np.nan_to_num(efforts)))
    said = "; ".join(faults.list_recent(-math.inf))  # of the whole bag
    if not readings:
        raise IdentificationError(f"{path}: no reading of a joint of {robot.name} in {topic}; {said}")
    if 2 * len(imu) < len(rows[sensor]):
        raise IdentificationError(f"{path}: most samples of {sensor} cannot be used; {said}")
    if said:
        _warn(path, f"{said}: {sum(faults.counts().values())} such values or messages are left out")
    start, period = commands[0][0], np.median(np.diff([time for time, _ in commands])) if len(commands) > 2 else 0.02
    sent = _columns(commands, start, (robot.joint_count,))
    times, joint, angles = _columns(sorted(readings), start, (), ())
    sensed = *_columns(imu, start, (3,), (3,)), float(period), *_columns(attitudes, start, (3, 3))
    fed = _columns(torques, start, (robot.joint_count if torques else 0,))
    arrays: tuple[Any, ...] = *sent, times, joint.astype(np.intp), angles, *sensed, *fed  # in the order of the fields
    return Recording(*arrays)


def read_topics(
    path: Path,
    topics: Mapping[str, str],
    *,
    needed: Sequence[Collection[str]],
    latched: Collection[str] = (),
    convert: Callable[[str, Message], Message] = lambda _, message: message,
) -> Rows:
    """Return, by each of `topics`, (time [s] on the bag's one clock, convert(topic, message)) of its messages in order.

    topics: their types by their names, which are found in any namespace. needed: groups of topics, of each of which one
    is in the bag. latched: topics whose messages may be older than the bag; the clock is that of the others. Raises
    IdentificationError for a path that is no bag, for a bag that lacks a topic, and for one of several robots; a
    RecordingWarning names topics of another type, which are left out.
    """
    try:
        from rosbags.rosbag2 import Reader, ReaderError
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise IdentificationError("reading a bag needs rosbags: pip install rosbags") from None
    types, rows = get_typestore(Stores.ROS2_HUMBLE), []
    try:
        with Reader(_bag_file(path)) as reader:
            names = _one_robot(path, {c.topic for c in reader.connections}, topics)
            known = [(c, topics[names[c.topic]]) for c in reader.connections if c.topic in names]
            chosen = [c for c, kind in known if c.msgtype == kind]
            other = "".join(f"; {c.topic} is {c.msgtype}, {kind} needed" for c, kind in known if c.msgtype != kind)
            for connection, received, raw in reader.messages(connections=chosen) if chosen else ():  # none given: all
                topic, message = names[connection.topic], types.deserialize_cdr(raw, connection.msgtype)
                rows.append(Row(topic, received, _stamp(message), convert(topic, message)))
    except IdentificationError:
        raise
    except Exception as error:  # rosbags reads YAML, SQLite, zstd and CDR, and each raises its own
        reason = shorten(str(error)).rstrip(".")
        reason = reason if isinstance(error, (ReaderError, OSError)) else f"{type(error).__name__}: {reason}"
        if path.suffix == ".bag":
            reason += "; a bag of ROS 1 is converted by rosbags-convert"
        elif path.exists():
            reason += "; one whose recorder was killed may be mended by `ros2 bag reindex` or `mcap recover`"
        raise IdentificationError(f"{path} is no bag that can be read: {reason}") from None
    for group in needed:
        if {row.topic for row in rows}.isdisjoint(group):
            wanted = f"{path}: no {' or '.join(group)} in this bag; record it while the robot moves"
            raise IdentificationError(wanted + other)
    if other:
        _warn(path, f"topics of another type are left out{other}")
    older = [row for row in rows if row.topic in latched]
    time, kept = _on_one_clock(path, [row for row in rows if row.topic not in latched] or older)
    end = max(map(time, kept))
    kept = [row for row in kept if row.topic not in latched] + [row for row in older if time(row) <= end]
    found: Rows = {topic: [] for topic in topics}
    for row in sorted(kept, key=time):
        found[row.topic].append((time(row), row.message))
    return found


def _bag_file(path: Path) -> Path:
    """Return the bag's folder; for one without metadata.yaml (a recorder that was killed) its only file."""
    if path.is_dir() and not (path / "metadata.yaml").exists():
        files = [file for file in path.iterdir() if file.suffix in (".mcap", ".db3")]
        if len(files) == 1:
            return files[0]
    return path


def _one_robot(path: Path, names: set[str], topics: Mapping[str, str]) -> dict[str, str]:
    """Return which of `topics` the topics of a bag with these names are.

    The simulator's true joints are not the measured ones, and what the gait asks `servos` for (hardware:=topics) is not
    what the joints are commanded. Of several names for one topic that is taken whose namespace has most of them.
    """
    found = [
        (topic, name)
        for topic in topics
        for name in sorted(names)
        if name.endswith(f"/{topic}") and not name.endswith(("simulator/joint_states", "gait/joint_commands"))
    ]
    spaces = Counter(name.removesuffix(topic) for topic, name in found).most_common(2)
    chosen = {name: topic for topic, name in found if name == spaces[0][0] + topic}
    for topic in topics:
        of_topic = [name for each, name in found if each == topic]
        if len(of_topic) > 1 and (topic not in chosen.values() or spaces[0][1] == spaces[1][1]):
            raise IdentificationError(f"{path}: {' and '.join(of_topic)} are of several robots; record one robot alone")
        if len(of_topic) > 1:
            _warn(path, f"of {' and '.join(of_topic)} that in {spaces[0][0]} is read")
        elif of_topic:
            chosen[of_topic[0]] = topic
    return chosen


# ---- the clock -------------------------------------------------------------------------------------------------------


def _stamp(message: Message) -> int:
    """Return the stamp [ns] of a message, of its header or of its first marker; 0 without one."""
    head = message if hasattr(message, "stamp") else getattr(message, "header", None)
    if head is None and getattr(message, "markers", None):
        head = message.markers[0].header
    return 0 if head is None else head.stamp.sec * 10**9 + head.stamp.nanosec


def _on_one_clock(path: Path, rows: list[Row]) -> tuple[Callable[[Row], float], list[Row]]:
    """Return the time [s] of a message on their one clock, that of their header stamps, or of their receipt where a
    topic has no stamps or those of another clock; and the messages without single ones whose stamps are odd, and
    without what is before or after a jump of the clock.
    """
    rows.sort(key=lambda row: (row.received, row.stamp))
    topics = np.array([row.topic for row in rows])
    received, stamps = np.array([(row.received, row.stamp) for row in rows], np.int64).T
    own = {topic: np.flatnonzero(topics == topic) for topic in dict.fromkeys(topics.tolist())}
    unset, late = stamps == 0, stamps - received
    unset[[indices[0] for indices in own.values()]] = False  # the first message of a simulation may have the stamp 0
    odd = np.zeros(len(rows), bool)
    for indices in own.values():
        stamped = indices[stamps[indices] != 0]
        if len(stamped) >= 5:  # a jump of the clock, of three messages and more, is no odd stamp
            odd[stamped] = np.abs(late[stamped] - median_filter(late[stamped], 5, mode="mirror")) > MAX_GAP * 1e9
    good = {topic: indices[(stamps[indices] != 0) & ~odd[indices]] for topic, indices in own.items()}
    by_stamp = not (reason := _other_clock(own, good, received, late))
    if not by_stamp:
        _warn(path, f"{reason}: all messages are taken at the time of their receipt, which is less exact")
    for left_out, what in ((unset, "without a stamp"), (odd, "with a stamp far off those before and after")):
        if by_stamp and left_out.any():
            _warn(path, f"{left_out.sum()} messages {what} are left out, the first of {topics[left_out.argmax()]}")
    kept = np.flatnonzero(~(unset | odd)) if by_stamp else np.arange(len(rows))
    times = (stamps if by_stamp else received)[kept]
    cuts = np.flatnonzero(np.abs(np.diff(times)) > MAX_GAP * 1e9) + 1
    parts = np.split(np.arange(len(kept)), cuts)
    part = max(parts, key=lambda indices: int(np.ptp(times[indices])))
    if len(parts) > 1:
        jumps = ", ".join(
            f"by {1e-9 * (times[cut] - times[cut - 1]):+.1f} s after {_date(received[kept[cut - 1]])}"
            for cut in cuts[:3]
        )
        more = f" and {len(cuts) - 3} times more" if len(cuts) > 3 else ""
        _warn(
            path,
            f"its clock jumps {jumps}{more}: only the longest part is used, {1e-9 * np.ptp(times[part]):.1f} s from "
            f"{_date(received[kept[part[0]]])} on",
        )
    zero = int(times[part].min())
    return lambda row: 1e-9 * ((row.stamp if by_stamp else row.received) - zero), [rows[k] for k in kept[part]]


def _other_clock(
    own: dict[str, NDArray[np.intp]], good: dict[str, NDArray[np.intp]], received: np.ndarray, late: np.ndarray
) -> str:
    """Return which topic has no stamps, or such that stand still or are of another clock than the commands', empty if
    there is none, or if all was received at one time, in a bag that a program has written.

    own: the messages (indices) of each topic; good: those with a stamp; received, and by how much a stamp is later,
    late [ns].
    """
    commands = good.get(COMMANDS, np.zeros(0, np.intp))
    for topic, stamped in good.items() if np.ptp(received) else ():
        if not len(stamped) and len(own[topic]) > 1:
            return f"{topic} has no header stamps"
        if len(stamped) > 1:
            arrived, stamps = received[stamped], received[stamped] + late[stamped]
            same = np.split(arrived, np.flatnonzero(np.diff(stamps)) + 1)  # times of receipt of each stamp
            if sum(int(np.ptp(times)) for times in same) > 0.5 * np.ptp(arrived):
                return f"the stamps of {topic} stand still, as constant ones or whole seconds"
        if len(stamped) and len(commands):
            middle = stamped[len(stamped) // 2]
            near = commands[np.abs(received[commands] - received[middle]).argmin()]
            off = 1e-9 * (late[middle] - late[near])
            if abs(off) > MAX_GAP and abs(received[middle] - received[near]) < MAX_GAP * 1e9:
                return f"the stamps of {topic} are {off:+.1f} s off those of {COMMANDS}, by another clock"
    return ""


def _check_rates(path: Path, rows: Rows) -> None:
    """Raise IdentificationError where a topic comes twice as often as elsewhere: what was sent at two times is there,
    because the clock went back by less than the recording's length, or two programs have published.
    """
    for topic in (COMMANDS, RAW, IMU):
        times = np.array([time for time, _ in rows[topic]])
        if len(times) and times[-1] - times[0] > 4.0:
            counts = np.bincount((times - times[0]).astype(int))[:-1]
            usual = float(np.median(counts))
            if usual >= 5.0 and counts.max() > 1.6 * usual:
                when = times[0] + counts.argmax()
                raise IdentificationError(
                    f"{path}: {topic} comes {counts.max()} times in the second from {when:.0f} s on, {usual:.0f} times "
                    f"in others: the clock went back, or two programs have published; record it anew"
                )


def _check_one_motion(commands: Sequence[tuple[float, np.ndarray]]) -> None:
    """Raise IdentificationError where set-points go to and fro between two motions: what was sent at two times is
    there, because the clock went back, or two programs have published.

    Along one motion two steps lead about twice as far as one; between two motions one step leads far, and two lead
    back.
    """
    angles, few = np.array([row for _, row in commands]), 12
    if len(angles) <= few + 2:
        return
    one, two = (np.abs(angles[steps:] - angles[:-steps]).sum(axis=1) for steps in (1, 2))
    far, back = (np.convolve(way, np.ones(few), "valid") for way in (one[:-1], two))
    found = np.flatnonzero((far > few * 0.02) & (far > 2.0 * back))  # [rad] from which two motions are told apart
    if len(found):
        raise IdentificationError(
            f"{COMMANDS} go to and fro between two motions from {commands[found[0]][0] - commands[0][0]:.1f} s on: the "
            "clock went back, or two programs have published; record it anew"
        )


def _date(received: int) -> str:
    """Return a time of receipt [ns] as a date."""
    return datetime.datetime.fromtimestamp(1e-9 * received, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _warn(path: Path, message: str) -> None:
    warnings.warn(f"{path.name}: {message}", RecordingWarning, stacklevel=6)


# ---- arrays ----------------------------------------------------------------------------------------------------------


def _commands(rows: list[tuple[float, Message]], robot: Robot, joints: JointInput) -> list[tuple[float, np.ndarray]]:
    """Return commands and their times, from the first time at which every joint has been named.

    A message that is stored twice, with the same stamp, is one command.
    """
    commands: list[tuple[float, np.ndarray]] = []
    last = np.full(robot.joint_count, np.nan)
    for time, message in rows:
        row = joints.arrange_message(COMMANDS, message.name, message.position, others=True)
        if row is None:
            continue
        last = np.where(np.isnan(row), last, row)
        twice = bool(commands) and commands[-1][0] == time and np.array_equal(commands[-1][1], last)
        if np.isfinite(last).all() and not twice:
            commands.append((time, last))
    if not commands:
        raise IdentificationError(f"joint_commands name not all joints of {robot.name}; is this the robot of the bag?")
    return commands


def _columns(rows: Sequence[tuple], start: float, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Return the columns of rows of a time and values of these shapes as arrays, also of no rows; times from start."""
    columns = zip(*rows, strict=True) if rows else [()] * (1 + len(shapes))
    times, *values = (np.array(column, float) for column in columns)
    return [times - start, *(value.reshape(len(rows), *shape) for value, shape in zip(values, shapes, strict=True))]
