"""Service clients."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from pocket_ros2 import dds
from pocket_ros2.cdr import HEADER, deserializer, serializer
from pocket_ros2.service_wire import IDENTITY, RequestPath

from .callback_groups import CallbackGroup
from .exceptions import InvalidHandle, RCLError
from .qos import QoSProfile
from .subscription import Entity, entity_numbers
from .task import Future


class Client(Entity):
    """Calls a service; made by `Node.create_client`."""

    def __init__(
        self,
        context: Any,
        requests: Any,
        replies: Any,
        srv_type: type,
        srv_name: str,
        qos_profile: QoSProfile,
        callback_group: CallbackGroup,
    ) -> None:
        self.context, self._requests, self._replies = context, requests, replies
        self.srv_type, self.srv_name, self.qos_profile = srv_type, srv_name, qos_profile
        self.callback_group = callback_group
        self._identity = dds.instance_handle(requests.handle)
        self._identity_bytes = self._identity.to_bytes(8, "little")
        self._path = RequestPath(requests, replies)
        self._sequence = 0
        self._pending_requests: dict[int, Future] = {}
        self._lock = threading.Lock()
        self._pack = serializer(srv_type.Request._typename)
        self._unpack = deserializer(srv_type.Response._typename)
        self._number = next(entity_numbers)
        self._condition = dds.create_read_condition(replies.handle)
        self._server_writer = 0  # instance handle of the writer of the last reply
        self._executor: Callable[[], Any] = lambda: None  # the node puts its own here

    def call(self, request: Any) -> Any:
        """Call and wait for the response; another thread has to spin the node. TypeError for another request type."""
        event = threading.Event()
        future = self.call_async(request)
        future.add_done_callback(lambda _: event.set())
        event.wait()
        return future.result()

    def call_async(self, request: Any) -> Future:
        """Call and return the future of the response. TypeError for another request type."""
        if not isinstance(request, self.srv_type.Request):
            raise TypeError(f"Expected {self.srv_type.Request}, got {type(request)}")
        if not self.context._valid:
            raise RCLError("failed to send request: client's context is invalid")
        future = Future()
        with self._lock:
            self._sequence += 1
            sequence = self._sequence
            self._pending_requests[sequence] = future
        header = HEADER + IDENTITY.pack(self._identity, sequence)
        try:
            code = dds.write(self._requests.handle, self._pack(request, header))
            if self._requests.handle == -1:
                raise InvalidHandle("cannot use Destroyable because destruction was requested")
            if code < 0:
                raise RCLError(f"failed to send request to {self.srv_name}: {dds.DDSException(code)}")
        except BaseException:
            del self._pending_requests[sequence]
            raise
        future.add_done_callback(self.remove_pending_request)
        return future

    def _take_job(self) -> tuple[Callable[..., Any], tuple] | None:
        while True:
            found = dds.take(self._replies.handle, dds.ANY, 1)
            if isinstance(found, int) or not found:
                return None
            raw, info = found[0]
            if not info.valid_data or raw[4:12] != self._identity_bytes or len(raw) < 20:
                continue  # a server has left, or the reply is another client's
            self._server_writer = info.publication_handle
            future = self._pending_requests.get(IDENTITY.unpack_from(raw, 4)[1])
            if future is not None:
                return self._received, (future, self._unpack(raw, 20))

    def _sender(self) -> bytes | None:
        """Return the GUID of the server's writer of the last reply."""
        return dds.writer_guid(self._replies.handle, self._server_writer)

    def _received(self, future: Future, response: Any) -> None:
        future._set_executor(self._executor())
        future.set_result(response)

    def remove_pending_request(self, future: Future) -> None:
        """Wait for a response no longer."""
        for sequence, pending in list(self._pending_requests.items()):
            if pending is future:
                self._pending_requests.pop(sequence, None)
                break

    def service_is_ready(self) -> bool:
        """Return whether there is a server."""
        return self.context._valid and self._path.open()

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        """Wait until there is a server; False on timeout or shutdown."""
        end = None if timeout_sec is None or timeout_sec < 0 else time.monotonic() + timeout_sec
        while self.context.ok():
            if self.service_is_ready():
                return True
            left = 0.02 if end is None else min(0.02, end - time.monotonic())
            if left <= 0:
                return False
            time.sleep(left)
        return False

    @property
    def service_name(self) -> str:
        """The fully qualified service name."""
        return self._requests.topic_name

    @property
    def handle(self) -> Any:
        """The DDS endpoint that requests leave from."""
        return self._requests

    def destroy(self) -> None:
        """Call no more."""
        self._requests.close()
        self._replies.close()
