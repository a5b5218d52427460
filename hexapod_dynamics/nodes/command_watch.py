"""Checks joint commands and their source: one source at a time; rejections and clamps go to the diagnostics."""

from __future__ import annotations

import os
import socket
from collections import Counter

from hexapod_dynamics.onboard.inputs import SourceLock
from rclpy.node import Node

_REPORTED = 3.0  # [s] for which a rejection is reported
_CLAMPS = 20  # clamped joints per second above which it is reported
# number of consecutive observations after which a second publisher counts, because discovery may be wrong for a moment
_LOOKS = 2


def source_name(node: Node) -> str:
    """Return a name, unique among all processes, for a source of joint commands: for `header.frame_id`."""
    return f"{node.get_fully_qualified_name()} {os.getpid()}@{socket.gethostname()}"


class CommandWatch:
    """Watches the topic `topic` of a node; one: SourceLock.

    A command names its source in `header.frame_id` (the node `gait` does). With names, one source is followed and
    others are rejected; without names, two publishers cannot be distinguished, and none is followed.
    """

    def __init__(self, node: Node, topic: str, one: SourceLock) -> None:
        self._node, self._topic, self._one = node, topic, one
        self.refused = Counter()
        self.conflict = ""  # reason why no source is followed
        self._seen = 0
        self._complaints = {}  # kind: (time, level, text)
        self._publishers: list[str] = []
        self._clamped, self._clamp_time, self._clamps = {}, None, ""

    def refuse(self, kind: str, why: str, level: str = "warn") -> None:
        """Count a rejected command and report the reason."""
        self.refused[kind] += 1
        self._complaints[kind] = None, level, f"{self._topic} refused: {why}"
        self._node.get_logger().warning(f"{self._topic} refused: {why}", throttle_duration_sec=5.0)

    def accepts(self, source: str, t: float) -> bool:
        """Whether a command of `source` at monotonic time t [s] is to be followed."""
        if self.conflict:
            self.refused["second source"] += 1
            return False
        if self._one.accepts(source, t):
            return True
        names = f" (publishers: {', '.join(self._publishers)})" if self._publishers else ""
        self.refuse(
            "second source",
            f"{source or 'one without a name'!r} is not followed, {self._one.source or 'one without a name'!r} is: "
            f"one source moves the robot, end the other{names}",
            "error",
        )
        return False

    def update(self, t: float) -> bool:
        """Count the publishers; return True if two cannot be distinguished, so that the robot must hold its pose."""
        infos = []
        if self._node.count_publishers(self._topic) > 1:  # getting their names takes ten times as long
            infos = self._node.get_publishers_info_by_topic(self._topic)
        names = {f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in infos}
        self._publishers = sorted(name for name in names if "UNKNOWN" not in name)
        several = len(self._publishers) > 1 and not self._one.source
        self._seen = self._seen + 1 if several else 0
        self.conflict = ""
        if self._seen >= _LOOKS:
            self.conflict = (
                f"{self._topic} has {len(self._publishers)} publishers, {', '.join(self._publishers)}: "
                "one moves the robot, end the other; the pose is held until then"
            )
        return bool(self.conflict)

    def assess(self, clamped: dict, t: float) -> tuple[str, list[str]]:
        """Return level and messages on the commands at monotonic time t [s]; clamped: PoseGuard.clamped."""
        if self.conflict:
            return "error", [self.conflict]
        level, words = "ok", []
        for kind, (since, how, text) in list(self._complaints.items()):
            if since is None:
                self._complaints[kind] = since, how, text = t, how, text
            if t - since > _REPORTED:
                del self._complaints[kind]
            else:
                level = "error" if "error" in (level, how) else "warn"
                words.append(text)
        self._count_clamps(clamped, t)
        if self._clamps:
            level = "warn" if level == "ok" else level
            words.append(self._clamps)
        return level, words

    def _count_clamps(self, clamped: dict, t: float) -> None:
        if self._clamp_time is not None and t - self._clamp_time < 1.0:
            return
        if self._clamp_time is not None:
            elapsed = t - self._clamp_time
            rates = {kind: (count - self._clamped.get(kind, 0)) / elapsed for kind, count in clamped.items()}
            many = [f"{kind} {rate:.0f}" for kind, rate in rates.items() if rate > _CLAMPS]
            self._clamps = f"commands are clamped, a second: {', '.join(many)}" if many else ""
        self._clamped, self._clamp_time = dict(clamped), t
