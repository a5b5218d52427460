"""Which DDS domain, and over which network interfaces."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from . import dds

# A writer that goes waits so long for readers that have not acknowledged, among them those of processes that were
# killed; its default of 1 s, one writer after the other, makes a node's end take seconds.
_LINGER = "<Internal><WriterLingerDuration>200 ms</WriterLingerDuration></Internal>"
# An interface and a peer: works with and without multicast on the loopback interface, and finds real ROS 2 nodes.
_INTERFACE = '<General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces></General>'
_PEER = (
    "<Discovery><ParticipantIndex>auto</ParticipantIndex>"
    f'<Peers><Peer Address="127.0.0.1"/></Peers></Discovery>{_LINGER}</Domain></CycloneDDS>'
)
_LOOPBACK = f"<CycloneDDS><Domain>{_INTERFACE}{_PEER}"
_LOOPBACK_NAMED = f"<CycloneDDS><Domain>{_PEER}"  # where the user's own setting names the interface
_IS_LOOPBACK = {"lo", "127.0.0.1", "localhost"}
_NETWORK = f"<CycloneDDS><Domain>{_LINGER}</Domain></CycloneDDS>"
_HIGHEST_DOMAIN = 232

_domains: dict[int, int] = {}  # kept for the life of the process: a deleted domain takes its participants with it


class DomainError(RuntimeError):
    """An environment variable that says which network to use holds something else."""


def domain_id(given: int | None = None) -> int:
    """Return the domain number: the given one, else ROS_DOMAIN_ID, else 0; DomainError names a bad value."""
    source, value = "domain_id", given
    if given is None:
        source, value = "ROS_DOMAIN_ID", os.environ.get("ROS_DOMAIN_ID", "").strip() or "0"
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number <= _HIGHEST_DOMAIN:
        raise DomainError(f"{source} is {value!r}; it must be an integer from 0 to {_HIGHEST_DOMAIN}")
    return number


def loopback_only() -> bool:
    """Return whether nodes stay on the loopback interface: yes, unless ROS_LOCALHOST_ONLY=0 says otherwise."""
    value = os.environ.get("ROS_LOCALHOST_ONLY", "").strip()
    if value not in ("", "0", "1"):
        raise DomainError(
            f"ROS_LOCALHOST_ONLY is {value!r}; it must be 1 or unset (loopback only) or 0 (open to the network)"
        )
    return value != "0"


def named_interfaces() -> set[str]:
    """Return the network interfaces that CYCLONEDDS_URI, or the files in it, name, by name or address."""
    text = os.environ.get("CYCLONEDDS_URI", "")
    for path in re.findall(r"file://([^,]+)", text):
        with contextlib.suppress(OSError, UnicodeDecodeError):  # Cyclone DDS says what is wrong with the file
            text += Path(path.strip()).read_text()
    attributes = re.findall(r"""<NetworkInterface\b[^>]*?\b(?:name|address)\s*=\s*["']([^"']+)""", text)
    return {*attributes, *re.findall(r"<NetworkInterfaceAddress>\s*([^<\s]+)", text)}


def open_domain(number: int) -> int:
    """Configure a domain on its first use in this process and return its DDS handle.

    A CYCLONEDDS_URI that names the loopback interface says what ours would: Cyclone DDS refuses one given twice.
    """
    if number not in _domains:
        configuration = _LOOPBACK if loopback_only() else _NETWORK
        if configuration is _LOOPBACK and named_interfaces() & _IS_LOOPBACK:
            configuration = _LOOPBACK_NAMED
        extra = os.environ.get("CYCLONEDDS_URI", "").strip()
        try:
            _domains[number] = dds.create_domain(number, f"{configuration},{extra}" if extra else configuration)
        except dds.DDSException as error:
            if not extra:
                raise
            raise DomainError(f"CYCLONEDDS_URI is {extra!r}; Cyclone DDS does not accept it ({error})") from error
    return _domains[number]


@contextlib.contextmanager
def sockets_on_loopback() -> Iterator[None]:
    """Keep the UDP sockets that Cyclone DDS opens within this block to the loopback interface, if nodes stay there.

    Cyclone DDS binds those it receives with to 0.0.0.0 whatever its interfaces are, and would parse what other hosts
    send. A CYCLONEDDS_URI that names interfaces is the user's own choice and stays.
    """
    wanted = loopback_only() and named_interfaces() <= _IS_LOOPBACK
    before = _udp_sockets() if wanted else set()
    yield
    for descriptor in _udp_sockets() - before if wanted else ():
        with socket.socket(fileno=os.dup(descriptor)) as duplicate:
            with contextlib.suppress(PermissionError):  # before Linux 5.7 this takes CAP_NET_RAW
                duplicate.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")


def _udp_sockets() -> set[int]:
    found = set()
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as each:
                    if each.family == socket.AF_INET and each.type == socket.SOCK_DGRAM:
                        found.add(int(name))
        except OSError:
            continue  # closed meanwhile, as the one that lists the directory is
    return found
