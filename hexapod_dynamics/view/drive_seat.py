"""Decides which page drives the robot."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from hexapod_dynamics.view.client_messages import ROUNDING

Twist = tuple[float, float, float]

STAND: Twist = (0.0, 0.0, 0.0)
PATIENCE = 0.5  # [s] without input of the page that drives, after which the robot stands
LIMITS = {"forward [m/s]": 0.15, "left [m/s]": 0.15, "turn [rad/s]": 0.6}  # largest commands, in the order of a twist


def page_name(client: int) -> str:
    """Return the name of a page on all pages."""
    return f"page {client + 1}"


class DriveSeat:
    """The one page that drives, and its twist (forward, left, turn) [m/s, m/s, rad/s].

    The first page that asks for motion drives until it closes, gives no sign of life for `PATIENCE`, or another page
    takes over. Every page may make the robot stand. Times are monotonic times [s] of the server; calls may come from
    several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.driver: int | None = None  # the page that drives
        self.twist = STAND  # that is published; all zero: the robot stands
        self._fresh = -math.inf
        self._due = False  # whether standing is to be published
        self.ended = ""  # why driving ended, if no person ended it

    def command(self, client: int, twist: Sequence[float], now: float) -> str:
        """Drive by a twist (3,); return why it is refused, or an empty text."""
        for value, (name, limit) in zip(twist, LIMITS.items(), strict=True):
            if not abs(value) <= limit + ROUNDING:  # also for NaN
                return f"{name} {value:.6g} was given, allowed are {-limit} to {limit}"
        with self._lock:
            self._expire(now)
            moving = any(twist)
            if moving and self.driver not in (None, client):
                return f'{page_name(self.driver or 0)} drives; "take over" gives this page the controls'
            if moving:
                self.driver = client
            if client == self.driver:
                self._fresh = now
            self.twist, self._due, self.ended = (twist[0], twist[1], twist[2]), not moving, ""
        return ""

    def give_controls(self, client: int, now: float) -> None:
        """Give a page the controls; if another one drove, the robot stands."""
        with self._lock:
            self._expire(now)
            if self.driver != client and self.twist != STAND:
                self.twist, self._due = STAND, True
            self.driver, self._fresh, self.ended = client, now, ""

    def receive_sign_of_life(self, client: int, now: float) -> None:
        """Note a page's sign of life: it is open, visible and working."""
        with self._lock:
            self._expire(now)
            if client == self.driver:
                self._fresh = now

    def leave(self, client: int) -> None:
        """Note that a page is closed."""
        with self._lock:
            if client == self.driver:
                self._end(f"{page_name(client)} was closed")

    def stand(self) -> None:
        """Make the robot stand, whichever page drives, even if none does."""
        with self._lock:
            self.twist, self._due, self.ended = STAND, True, ""

    def next_command(self, now: float) -> Twist | None:
        """Return the twist to publish now: repeated while the robot is driven, all zero once, then None."""
        with self._lock:
            self._expire(now)
            if self.twist == STAND and not self._due:
                return None
            self._due = False
            return self.twist

    def _expire(self, now: float) -> None:
        if self.driver is not None and now - self._fresh > PATIENCE:
            self._end(f"nothing received from {page_name(self.driver)} for {PATIENCE} s")

    def _end(self, why: str) -> None:
        if self.twist != STAND:
            self.ended, self._due = f"{why}: the robot stands", True
        self.driver, self.twist = None, STAND
