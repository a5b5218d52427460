"""Print one line a second: speed, attitude, error of the prediction, damage."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hexapod_dynamics.damage import list_losses
from hexapod_dynamics.drivers.stop_request import resume_command
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.nodes.messages import read_pose, read_rotation
from hexapod_dynamics.nodes.morphology_messages import read_values
from hexapod_dynamics.parameters.displays import WALK_STATUS
from hexapod_dynamics.ros import start
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.node_functions import LATCHED, declare_all, format_value, stamp_seconds
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.se3 import euler_zyx, rotation_vector
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent

# How a report begins that names a device or a driver which is not there: the cause of all others, shown at once where
# no simulated device is being started.
DEVICES = ("servo port", "I2C bus", "no servo answers", "no message on")
# What a person has told `servos`, by its value `stop`, in words.
STOPS = {"hold": "holds where it stands", "sit": "sits down", "off": "torque is off"}
# A node that is not in the graph for this long [s] is absent; a respawned node is back earlier. A node that was never
# in the graph is absent after three times as long.
ABSENT_AFTER = 5.0
START = 60.0  # [s] in which every node of a launch has reported
# What is said of it, once above the line.
GONE = "it has ended, or cannot start: its FATAL in the log says why; after a correction start the launch again"
# Words by which nodes report that this computer is too busy; nothing is broken then.
BUSY = ("too busy", "readings come late", "arrive too late")
# Columns of the line. Names of nodes that do not fit are counted instead; the message of each is printed once above the
# line.
WIDTH = 100
# Terminal colours of levels worse than OK: yellow, red.
COLOURS, PLAIN = {DiagnosticStatus.WARN: "\033[33m", DiagnosticStatus.ERROR: "\033[31m"}, "\033[0m"


class Pose(NamedTuple):
    """A pose for the status line: time [s], position (3,) [m], rotation (3, 3), velocity (3,) [m/s]."""

    time: float
    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray = np.zeros(3)

    @classmethod
    def from_message(cls, message: Odometry) -> Pose:
        """Return the Pose of an Odometry message."""
        p, v = message.pose.pose.position, message.twist.twist.linear
        rotation = read_rotation(message.pose.pose.orientation)
        position, velocity = np.array([p.x, p.y, p.z]), rotation @ np.array([v.x, v.y, v.z])
        return cls(stamp_seconds(message.header.stamp), position, rotation, velocity)

    def extrapolate(self, time: float) -> np.ndarray:
        """Return the position extrapolated to another time, a few milliseconds away, with its velocity."""
        return self.position + self.velocity * (time - self.time)


def format_line(
    now: float, shown: Pose | None, off: float | None, speed: np.ndarray | None, lost: Sequence[str]
) -> str:
    """Write the status line, at most 100 characters while the robot is intact.

    now [s]: the computer's clock, by which the page dates what happens, too; shown: Pose or None; off [m]: distance of
    the prediction, None without truth, NaN without a prediction; speed (2,): forward speed [m/s] and turn rate [rad/s]
    over the last second, or None; lost: parts declared missing.
    """
    parts = []
    if shown is None:
        parts.append("no pose received yet")
    else:
        if speed is not None:
            forward, turn = (round(value, 1) + 0.0 for value in (100 * speed[0], math.degrees(speed[1])))  # no -0.0
            parts.append(f"{forward:5.1f} cm/s {turn:5.1f} deg/s")
        yaw, _, _ = np.degrees(euler_zyx(shown.rotation))
        tilt = math.degrees(math.acos(min(1.0, shown.rotation[2, 2])))
        parts.append(f"tilt {tilt:4.1f} yaw {round(yaw):4d} deg")
        if off is not None:
            parts.append("no prediction" if math.isnan(off) else f"prediction {100 * off:.1f} cm off")
    parts.append("missing: " + (" ".join(lost) if lost else "nothing"))
    return f"{time.strftime('%H:%M:%S', time.localtime(now))} {' | '.join(parts)}"


def fit_line(text: str, wrong: Mapping[str, Collection[str]]) -> tuple[str, str]:
    """Return the status line and its end with the problems {kind: names of nodes}, together at most WIDTH wide.

    If they are wider, these parts are left out in this order: that nothing is missing, the prediction, the names
    of the nodes (their number remains); finally nodes with errors and busy nodes are counted together. If the line
    is still too wide, it is not shortened further, because the reason is more important.
    """
    end = _problems(wrong)
    for left_out in (r" \| missing: nothing$", r" \| prediction [^|]* off"):
        if end and len(text + end) > WIDTH:
            text = re.sub(left_out, "", text)
    if len(text + end) > WIDTH:
        end = _problems({what: [f"{len(names)} nodes"] if len(names) > 1 else names for what, names in wrong.items()})
    busy = len(wrong.get("computer too busy", ()))
    if busy and len(text + end) > WIDTH:
        unwell = [*wrong["computer too busy"], *wrong.get("not well", ())]
        others = {what: names for what, names in wrong.items() if what not in ("not well", "computer too busy")}
        end = _problems({"not well": [f"{len(unwell)} nodes"] if len(unwell) > 1 else unwell, **others})
    return text, end


def _problems(wrong: Mapping[str, Collection[str]]) -> str:
    return "".join(f" | {what}: " + " ".join(sorted(names)) for what, names in wrong.items() if names)


def stop_of(status: DiagnosticStatus, namespace: str = "") -> dict[str, list[str]]:
    """Return {what: words} of the stop that the status of `servos` tells; empty if it has none, or an error, too."""
    values = {pair.key: pair.value for pair in status.values}
    if values.get("emergency stop") == format_value(True):
        return {"emergency stop": [f"`{resume_command(namespace)}` ends it"]}
    stop = STOPS.get(values.get("stop", ""))
    return {"stopped": [stop]} if stop and status.level == DiagnosticStatus.WARN else {}


class WalkStatus(GuardedNode):
    """Subscribes to diagnostics, with the predicted pose in them, and to the truth, and prints; hidden from
    `ros2 node list`.
    """

    def __init__(self) -> None:
        super().__init__("_walk_status")
        self._predicted: tuple[float, Pose] | None = None  # with the monotonic time [s] of its arrival
        self._true: tuple[float, Odometry] | None = None
        self._off: float | None = None
        self._before: Pose | None = None
        self._speed: np.ndarray | None = None
        self._lost: list[str] = []
        self._stopped: dict[str, list[str]] = {}  # by a person: `servos` complains, and nothing is wrong
        self._complaints: dict[str, tuple[float, str, bytes]] = {}  # since [s], message, level
        self._warned: dict[str, float] = {}
        self._reported: set[str] = set()
        values = declare_all(self, WALK_STATUS)
        self._expected, self._colour = values.read_texts("nodes"), values["colour"]
        self._started = time.monotonic()
        self._seen: dict[str, float] = {}
        self._there: set[str] = set()  # nodes in the graph
        self._left: set[str] = set()  # those that have left it and not reported since
        self.loop = TickLoop(self, 0.1)
        # Of a hundred true poses a second, the newest is taken when it is compared or printed.
        self._truth = self.loop.subscribe(Odometry, "simulator/odom", self._on_truth, 1, in_ticks=False)
        self.create_subscription(ParameterEvent, "morphology", self._on_morphology, LATCHED)
        # In the executor, so that a predicted pose is compared with the true one at once.
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 50)
        self.loop.call_every(1.0, self._print)

    def _on_prediction(self, status: DiagnosticStatus) -> None:
        """Read the pose from the diagnostics of `dynamics` and compare it with the present truth."""
        try:
            found = read_pose(status.values)
        except (ValueError, HexapodError):
            found = None
        if found is None:
            return
        self._truth.read()
        now, predicted = time.monotonic(), Pose(*found)
        self._predicted = now, predicted
        self._off = None
        if self._true is not None:
            self._off = math.dist(Pose.from_message(self._true[1]).extrapolate(predicted.time), predicted.position)

    def _on_truth(self, message: Odometry) -> None:
        self._true = time.monotonic(), message

    def _on_morphology(self, message: ParameterEvent) -> None:
        self._lost = list_losses(read_values(message.new_parameters))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        prefix = self.get_namespace().strip("/")
        for status in message.status:
            name = status.name
            namespace, _, node = name.rpartition("/")
            if namespace != prefix:
                continue
            if node == "servos":
                self._stopped = stop_of(status, prefix)
            self._reported.add(node)
            self._left.discard(node)
            self._seen[node] = self._elapsed()  # the graph may have lost a node that was silent for ten seconds
            if node == "dynamics":
                self._on_prediction(status)
            if status.level == DiagnosticStatus.OK:
                self._complaints.pop(name, None)
            else:
                since = self._complaints.get(name, (self._elapsed(),))[0]
                self._complaints[name] = since, status.message, status.level

    def _find_absent(self, elapsed: float) -> set[str]:
        """Names of expected nodes that have neither been in the graph nor reported for a while.

        A node that has left the graph, where a launch tries to start it again and again, is back when it reports; and
        one that is there, but has not reported within a minute, hangs.
        """
        place = self.get_namespace()
        there = {name for name, where in self.get_node_names_and_namespaces() if where == place}
        self._left |= self._there - there
        self._there = there
        starts = self._reported if elapsed > START else there
        for name in there & starts - self._left:
            self._seen[name] = elapsed
        return {name for name in self._expected if elapsed - self._seen.get(name, 2.0 * ABSENT_AFTER) > ABSENT_AFTER}

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _show(self, shown: Pose | None) -> None:
        """Store a Pose, or None, and the speed since the previous one; a pose that was already shown keeps its
        speed.
        """
        before, self._before = self._before, shown
        if shown is None or before is None:
            self._speed = None
        elif shown.time > before.time:
            moved = before.rotation.T @ (shown.position - before.position)
            turned = rotation_vector(before.rotation.T @ shown.rotation)
            self._speed = np.array([moved[0], turned[2]]) / (shown.time - before.time)

    def _print(self) -> None:
        if start.is_stopping():  # reports of other nodes are now caused by the end of the launch
            return
        self._truth.read()
        now = time.monotonic()
        predicted, true = (
            None if heard is None or now - heard[0] > 3.0 else heard[1] for heard in (self._predicted, self._true)
        )
        self._show(predicted if true is None else Pose.from_message(true))
        off = math.nan if predicted is None else None if true is None else self._off
        elapsed = self._elapsed()
        absent = self._find_absent(elapsed)
        starting = set(self._expected) - self._reported - absent if elapsed < START else set()
        complaints = {
            name: (message, level)
            for name, (since, message, level) in self._complaints.items()
            # A node that starts is not ready yet: reports of other nodes about it are not repeated. A younger problem
            # is not shown: when a launch ends, the simulated robot may end before the nodes that read it, which report
            # this until they are stopped, too. At the start nodes discover each other: early problems have to last.
            if name not in absent
            and elapsed - since > 0.6
            and (
                (not starting and max(since, elapsed - since) > 10.0)
                or (message.startswith(DEVICES) and "simulator" not in self._expected)
            )
        }
        messages = complaints | dict.fromkeys(absent, (GONE, DiagnosticStatus.ERROR))
        for name, (message, level) in messages.items():
            at = self._warned.get(name, -math.inf)
            if elapsed - at > 30.0:  # meanwhile only the name of the node appears in the line
                print(self._in_colour(f"        {name}: {message}", level))
                self._warned[name] = elapsed
        self._warned = {name: at for name, at in self._warned.items() if name in messages}
        expected = ("damage_manager", "servos") if self._stopped else ("damage_manager",)
        known = {f"{prefix}{node}" for node in expected for prefix in ("", self.get_namespace().strip("/") + "/")}
        busy = {name for name, (message, _) in complaints.items() if any(words in message for words in BUSY)}
        wrong = {
            **self._stopped,
            "not well": complaints.keys() - known - busy,
            "computer too busy": busy,
            "absent": absent,
            "starting": starting,
            "received": [self.malformed.recent] if self.malformed.recent else [],
        }
        levels = [level for name, (_, level) in complaints.items() if name not in known]
        worst = DiagnosticStatus.ERROR if absent else max(levels, default=DiagnosticStatus.WARN, key=ord)
        text, end = fit_line(format_line(time.time(), self._before, off, self._speed, self._lost), wrong)
        print(text + self._in_colour(end, worst), flush=True)

    def _in_colour(self, text: str, level: bytes) -> str:
        """Return the text in the colour of a level of DiagnosticStatus, where the terminal has colours."""
        return f"{COLOURS[level]}{text}{PLAIN}" if self._colour and text and level in COLOURS else text
