"""Decides who may open the page: by the requested address, the origin of the requesting page, and the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Sequence

from hexapod_dynamics.errors import ParameterError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ANY_ADDRESS = ("0.0.0.0", "::", "[::]", "")  # values of `host` that mean every address of this computer


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
        self._port, self._everywhere = port, host in ANY_ADDRESS
        given = list(LOOPBACK) if self._everywhere or is_loopback(host) else []
        self._hosts = {self._append_port(name) for name in (*given, *([] if self._everywhere else [host]), *names)}
        self.shown = self._append_port("127.0.0.1" if self._everywhere else host)

    @property
    def url(self) -> str:
        """The address for the browser, with the token: whoever knows it can drive the robot."""
        return f"http://{self.shown}/{self.token}/"

    def _append_port(self, name: str) -> str:
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
        return host == self._append_port(own)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this computer's loopback interface."""
    name = host.strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
