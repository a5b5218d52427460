"""Services."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pocket_ros2 import dds
from pocket_ros2.cdr import HEADER, deserializer, serializer
from pocket_ros2.service_wire import ReplyPath

from .callback_groups import CallbackGroup
from .exceptions import RCLError
from .qos import QoSProfile
from .subscription import Entity, entity_numbers


class RequestHeader:
    """Whose request it is: 16 bytes that the reply carries back, and the client's DataWriter."""

    __slots__ = ("identity", "writer")

    def __init__(self, identity: bytes, writer: int) -> None:
        self.identity, self.writer = identity, writer


class Service(Entity):
    """Answers requests with its callback's responses; made by `Node.create_service`."""

    def __init__(
        self,
        requests: Any,
        replies: Any,
        srv_type: type,
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        callback_group: CallbackGroup,
        qos_profile: QoSProfile,
        context: Any,
    ) -> None:
        self._requests, self._replies, self._context = requests, replies, context
        self.srv_type, self.srv_name, self.qos_profile = srv_type, srv_name, qos_profile
        self.callback, self.callback_group = callback, callback_group
        self._unpack = deserializer(srv_type.Request._typename)
        self._pack = serializer(srv_type.Response._typename)
        self._reply_path = ReplyPath(requests, replies)
        self._number = next(entity_numbers)
        self._condition = dds.create_read_condition(requests.handle)
        self._client_writer = 0  # instance handle of the writer of the last request

    def _take_job(self) -> tuple[Callable[..., Any], tuple] | None:
        found = dds.take(self._requests.handle, dds.ANY, 1)
        if isinstance(found, int) or not found:
            return None
        raw, info = found[0]
        if not info.valid_data:
            self._reply_path.forget(info.publication_handle)
            return None
        self._client_writer = info.publication_handle
        header = RequestHeader(raw[4:20], info.publication_handle)
        return self._answer, (self._unpack(raw, 20), header)

    def _sender(self) -> bytes | None:
        """Return the GUID of the client's writer of the last request."""
        return dds.writer_guid(self._requests.handle, self._client_writer)

    def _answer(self, request: Any, header: RequestHeader) -> Any:
        response = self.callback(request, self.srv_type.Response())
        if inspect.iscoroutine(response):
            return self._answer_later(response, header)
        self.send_response(response, header)
        return None

    async def _answer_later(self, response: Any, header: RequestHeader) -> None:
        self.send_response(await response, header)

    def send_response(self, response: Any, header: RequestHeader) -> None:
        """Send the response to a request; TypeError for another type."""
        if not isinstance(response, self.srv_type.Response):
            raise TypeError(
                f"the callback of service {self.srv_name} must return {self.srv_type.Response}, got {response!r}"
            )
        if not self._context._valid or not self._reply_path.open(header.writer):
            return  # the client is gone, or we are
        code = dds.write(self._replies.handle, self._pack(response, HEADER + header.identity))
        if code < 0 and self._replies.handle != -1:
            raise RCLError(f"failed to send response of {self.srv_name}: {dds.DDSException(code)}")

    @property
    def service_name(self) -> str:
        """The fully qualified service name."""
        return self._requests.topic_name

    @property
    def handle(self) -> Any:
        """The DDS endpoint that requests arrive at."""
        return self._requests

    def destroy(self) -> None:
        """Answer no more."""
        self._requests.close()
        self._replies.close()
