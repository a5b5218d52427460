"""Decides who may open the page (by the requested address, the origin of the requesting page, and the token), which
messages of a page reach the server (only changes of existing controls to allowed values), and which page drives.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from hexapod_dynamics.errors import ParameterError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
EVERYWHERE = ("0.0.0.0", "::", "[::]", "")  # values of `host` that mean every address of this computer
# Sent by the script that the page gets (page.js); they do not go on to viser.
ALIVE, DRIVE, STOP, SLOW = "HexapodAlive", "HexapodDrive", "HexapodStop", "HexapodSlow"
ROUNDING = 1e-9  # by which a slider's value may exceed its range


class Access:
    """The addresses by which a page may be opened, and the random token that each of them contains.

    A browser states in `Host` the address that it connects to and in `Origin` the page that asks, and a page cannot
    change either. A name that an attacker's name server resolves to this computer (DNS rebinding) is not an
    allowed value of `Host`; the origin of another site, or of another port of this computer, is not an allowed
    value of `Origin`.
    """

    def __init__(self, host: str, port: int, names: Sequence[str] = (), token: str | None = None) -> None:
        """host, port: address of the server. names: further addresses of it, such as `robot.local` or
        `localhost:9000`.

        token: by default a random one of 192 bits. Raises ParameterError for a name that is no host name or address.
        """
        self.token = secrets.token_urlsafe(24) if token is None else token
        self._port, self._everywhere = port, host in EVERYWHERE
        given = list(LOOPBACK) if self._everywhere or is_loopback(host) else []
        self._hosts = {self._with_port(name) for name in (*given, *([] if self._everywhere else [host]), *names)}
        self.shown = self._with_port("127.0.0.1" if self._everywhere else host)

    @property
    def url(self) -> str:
        """The address for the browser, with the token: whoever knows it can drive the robot."""
        return f"http://{self.shown}/{self.token}/"

    def _with_port(self, name: str) -> str:
        name = name.strip().lower()
        if ":" in name and not name.startswith("[") and name.count(":") > 1:
            name = f"[{name}]"  # a bare IPv6 address
        host, colon, port = name.rpartition(":") if not name.endswith("]") else (name, "", "")
        if not colon:
            host, port = name, str(self._port)
        if not host or not port.isdecimal() or any(c.isspace() or c in "/?#@," for c in host):
            raise ParameterError(
                f"names: {name!r} is no address of this page; give host names or IP addresses, with a port where it is "
                "another than the server's, as robot.local or localhost:9000"
            )
        return f"{host}:{port}"

    def refusal(
        self, path: str, hosts: Sequence[str], origins: Sequence[str], *, websocket: bool, local: str | None = None
    ) -> str:
        """Return why a request is refused: "host", "origin" or "token"; empty if it is allowed.

        hosts, origins: the values of these header lines. local: the address of this computer that the connection came
        to; a server on every address accepts it as host, because an address cannot be rebound. A websocket needs an
        origin: each browser sends one.
        """
        if len(hosts) != 1 or not self._allows_host(hosts[0].lower(), local):
            return "host"
        own = [f"http://{hosts[0].lower()}"]
        if [origin.lower() for origin in origins] not in ([own] if websocket else [own, []]):
            return "origin"
        given = path.partition("?")[0].strip("/")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            return "token"
        return ""

    def _allows_host(self, host: str, local: str | None) -> bool:
        if self._port == 80 and not host.rpartition("]")[2].count(":"):
            host += ":80"
        if host in self._hosts:
            return True
        if not self._everywhere or local is None:
            return False
        own = local.partition("%")[0].removeprefix("::ffff:")  # so a socket of both kinds names an IPv4 address
        return host == self._with_port(own)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this computer's loopback interface."""
    name = host.strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


# ---- messages of a page ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Control:
    """What a page may set a control to: `kind` "button", "box", "slider" (low to high) or "menu" (options)."""

    kind: str
    low: float = 0.0
    high: float = 0.0
    options: tuple[str, ...] = ()

    def accepts(self, value: object) -> bool:
        """Whether a page may set this value."""
        if self.kind == "button":
            return value is True
        if self.kind == "box":
            return isinstance(value, bool)
        if self.kind == "menu":
            return isinstance(value, str) and value in self.options
        return is_number(value) and self.low - ROUNDING <= value <= self.high + ROUNDING


@dataclass(frozen=True)
class Fields:
    """The fields of one kind of message: `required` ones, and all that are `allowed`."""

    required: frozenset[str]
    allowed: frozenset[str]


class MessageFilter:
    """Checks the decoded messages of a page against what exists on the server.

    fields: the kinds of viser's messages that are allowed, beside those of page.js, and their fields. control(client,
    uuid): the Control that a page may change, or None. is_clickable(client, name): whether a part can be clicked.
    """

    def __init__(
        self,
        fields: Mapping[str, Fields],
        control: Callable[[int, str], Control | None],
        is_clickable: Callable[[int, str], bool],
    ) -> None:
        nothing, axes = frozenset[str](), frozenset({"axes"})
        own = dict.fromkeys((ALIVE, STOP, SLOW), Fields(nothing, nothing)) | {DRIVE: Fields(axes, axes)}
        self._fields, self._control, self._is_clickable = {**fields, **own}, control, is_clickable

    def problem(self, client: int, message: object) -> str:
        """Return why a message is dropped: "kind", "fields", "control" or "value"; empty if it is allowed."""
        kind = message.get("type") if isinstance(message, dict) else None
        fields = self._fields.get(kind) if isinstance(kind, str) else None
        if fields is None:
            return "kind"
        names = message.keys() - {"type"}
        if not fields.required <= names <= fields.allowed:
            return "fields"
        if kind == DRIVE:
            return "value" if read_axes(message) is None else ""
        if kind == "GuiUpdateMessage":
            return self._problem_of_update(client, message["uuid"], message["updates"])
        if not all(is_plain(value) for value in message.values()):
            return "value"
        if kind == "SceneNodeClickMessage":
            name = message["name"]
            return "" if isinstance(name, str) and self._is_clickable(client, name) else "control"
        return ""

    def _problem_of_update(self, client: int, uuid: object, updates: object) -> str:
        control = self._control(client, uuid) if isinstance(uuid, str) else None
        if control is None:
            return "control"
        if not isinstance(updates, dict) or set(updates) != {"value"}:
            return "fields"
        return "" if control.accepts(updates["value"]) else "value"


def read_axes(message: Mapping[str, object]) -> tuple[float, float, float] | None:
    """Return the axes (forward, left, turn) of a DRIVE message, each from -1 to 1; None if the message is malformed."""
    axes = message.get("axes")
    if message.keys() != {"type", "axes"} or not isinstance(axes, list) or len(axes) != 3:
        return None
    if not all(is_number(axis) and abs(axis) <= 1.0 for axis in axes):
        return None
    return float(axes[0]), float(axes[1]), float(axes[2])


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number of at most a million; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= 1e6 and math.isfinite(value)


def is_plain(value: object) -> bool:
    """Whether a value is None, a bool, a finite number, a text of 200 characters or a list of 4 numbers at most."""
    if isinstance(value, str):
        return len(value) <= 200
    if isinstance(value, (list, tuple)):
        return len(value) <= 4 and all(is_number(part) for part in value)
    return value is None or isinstance(value, bool) or is_number(value)


# ---- driving ---------------------------------------------------------------------------------------------------------

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
