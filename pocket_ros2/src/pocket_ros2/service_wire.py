"""How rmw_cyclonedds pairs a service's requests and replies."""

from __future__ import annotations

import re
import struct
import time
from typing import Any

from cyclonedds import _clayer
from cyclonedds.qos import Policy, _CQos

from . import dds

IDENTITY = struct.Struct("<Qq")  # the client's request writer (instance handle) and the number of the request
_WAIT = 0.1  # s to wait for a client's reply reader
_POLL = 0.01


def _user_data(*arguments: Any) -> bytes:
    """Return the user data of a matched endpoint out of what Cyclone DDS hands to a constructor."""
    qos = arguments[5]
    policy = next((p for p in qos.policies if isinstance(p, Policy.Userdata)), None) if qos is not None else None
    return b"" if policy is None else bytes(policy.data)


def _id(user_data: bytes, key: bytes) -> bytes | None:
    match = re.search(key + rb"=([^;]*);", user_data)
    return match[1] if match else None


def _matched_ids(endpoint: int, *, of_writer: bool, key: bytes) -> list[bytes | None]:
    look_up = _clayer.ddspy_get_matched_subscription_data if of_writer else _clayer.ddspy_get_matched_publication_data
    found = []
    for handle in dds.matched_handles(endpoint, of_writer=of_writer):
        raw = look_up(endpoint, handle, _user_data, _CQos.cqos_to_qos)
        if isinstance(raw, bytes):
            found.append(_id(raw, key))
    return found


class RequestPath:
    """Knows whether both endpoints of a client are matched with the two of one server."""

    def __init__(self, requests: Any, replies: Any) -> None:
        self._requests, self._replies = requests, replies
        self._matched: tuple = ()

    def open(self) -> bool:
        """Return whether a request would be answered."""
        readers = dds.matched_handles(self._requests.handle, of_writer=True)
        writers = dds.matched_handles(self._replies.handle, of_writer=False)
        if not readers or not writers:
            return False
        now = (sorted(readers), sorted(writers))
        if now != self._matched:  # the look-up of ids is dear, and leaks a little in the wheel
            servers = set(_matched_ids(self._requests.handle, of_writer=True, key=b"serviceid"))
            answering = set(_matched_ids(self._replies.handle, of_writer=False, key=b"serviceid"))
            if None not in servers and not servers & answering:
                return False
            self._matched = now
        return True


class ReplyPath:
    """Knows which clients can hear a server's replies already, and waits a moment for one that cannot yet."""

    def __init__(self, requests: Any, replies: Any) -> None:
        self._requests, self._replies = requests, replies
        self._open: set[int] = set()

    def forget(self, writer: int) -> None:
        """Forget a client that has left."""
        self._open.discard(writer)

    def open(self, writer: int) -> bool:
        """Return whether a reply to the client with this request writer is to be sent; False if it is gone."""
        if writer in self._open:
            return True
        raw = _clayer.ddspy_get_matched_publication_data(self._requests.handle, writer, _user_data, _CQos.cqos_to_qos)
        if not isinstance(raw, bytes):
            return False
        client = _id(raw, b"clientid")
        end = time.monotonic() + _WAIT
        while client is not None and client not in _matched_ids(self._replies.handle, of_writer=True, key=b"clientid"):
            if time.monotonic() >= end:
                return True  # as rmw does: send it all the same
            time.sleep(_POLL)
        self._open.add(writer)
        return True
