"""Checks joint commands and their source: one source at a time; rejections and clamps go to the diagnostics."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

from hexapod_dynamics.onboard.inputs import Faults, SourceLock
from hexapod_dynamics.ros.guarded_node import name_sources
from rclpy.node import Node

SECOND = "second source"  # kind of refusals


def source_name(node: Node) -> str:
    """Return a name for a source of joint commands (`header.frame_id`), unique also in a process or in containers."""
    return f"{node.get_fully_qualified_name()} {os.getpid()}@{socket.gethostname()} {os.urandom(4).hex()}"


class CommandWatch:
    """Watches the topic `topic` of a node; one: SourceLock.

    A command names its source in `header.frame_id` (the node `gait` does). With names, one source is followed and
    others are rejected; without names, two publishers cannot be distinguished, and none is followed.
    """

    def __init__(self, node: Node, topic: str, one: SourceLock) -> None:
        self._node, self._topic, self._one = node, topic, one
        self.refusals = Faults()  # by kind
        self.conflict = ""  # reason why no source is followed
        self._seen = 0
        self._publishers: list[str] = []
        # Clamped commands so far, by kind, at a time; what many of them in a second mean.
        self._clamped: tuple[float, Mapping[str, int]] | None = None
        self._clamps = ""

    def refuse(self, kind: str, why: str) -> None:
        """Count a rejected command and report the reason."""
        self.refusals.add(kind, f"{self._topic} refused: {why}")
        self._node.get_logger().warning(f"{self._topic} refused: {why}", throttle_duration_sec=5.0)

    def accept(self, source: str, t: float) -> bool:
        """Whether a command of `source` at monotonic time t [s] is to be followed."""
        if self.conflict:
            self.refusals.add(SECOND, self.conflict)
            return False
        refusal = self._one.find_refusal(source, t)
        if refusal:
            names = f" (publishers: {', '.join(self._publishers)})" if self._publishers else ""
            self.refuse(SECOND, f"{refusal}{names}")
        return not refusal

    def update(self) -> bool:
        """Count the publishers; return True if two cannot be distinguished, so that the robot must hold its pose."""
        self._publishers = []
        if self._node.count_publishers(self._topic) > 1:  # getting their names takes ten times as long
            self._publishers = name_sources(self._node.get_publishers_info_by_topic(self._topic))
        several = len(self._publishers) > 1 and not self._one.source
        self._seen = self._seen + 1 if several else 0
        self.conflict = ""
        if self._seen > 1:  # twice in a row, because discovery may be wrong for a moment
            self.conflict = (
                f"{self._topic} has {len(self._publishers)} publishers, {', '.join(self._publishers)}: "
                "one moves the robot, end the other; the pose is held until then"
            )
        return bool(self.conflict)

    def assess(self, clamped: Mapping[str, int], t: float) -> tuple[str, list[str]]:
        """Return level and messages on the commands at monotonic time t [s]; clamped: PoseGuard.clamped."""
        if self.conflict:
            return "error", [self.conflict]
        self._count_clamps(clamped, t)
        words = [*self.refusals.list_recent(t), *filter(None, [self._clamps])]
        return "error" if self.refusals.last(SECOND) else "warn" if words else "ok", words

    def _count_clamps(self, clamped: Mapping[str, int], t: float) -> None:
        """Report kinds of clamps of which there are more than 20 joints a second."""
        if self._clamped is not None:
            elapsed = t - self._clamped[0]
            if elapsed < 1.0:
                return
            rates = {kind: (count - self._clamped[1].get(kind, 0)) / elapsed for kind, count in clamped.items()}
            many = [f"{kind} {rate:.0f}" for kind, rate in rates.items() if rate > 20.0]
            self._clamps = f"commands are clamped, a second: {', '.join(many)}" if many else ""
        self._clamped = t, dict(clamped)
