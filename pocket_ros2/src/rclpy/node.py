"""The Node."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from pocket_ros2 import log_output
from pocket_ros2.errors import NotCovered
from rcl_interfaces.msg import Log, ParameterDescriptor, ParameterEvent

from ._rclpy_pybind11 import NodeNameNonExistentError as NodeNameNonExistentError
from .callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from .client import Client
from .clock import Clock, ROSClock
from .context import Context
from .exceptions import NotInitializedException
from .guard_condition import GuardCondition
from .logging import get_logger
from .node_graph import GraphMixin
from .node_names import NamesMixin
from .node_parameters import ParameterMixin
from .parameter import PARAMETER_SEPARATOR_STRING as PARAMETER_SEPARATOR_STRING
from .parameter import Parameter
from .parameter_service import ParameterService
from .publisher import Publisher
from .qos import (
    QoSProfile,
    qos_profile_parameter_events,
    qos_profile_rosout_default,
    qos_profile_services_default,
)
from .qos_event import PublisherEventCallbacks, QoSEventHandler, SubscriptionEventCallbacks
from .service import Service
from .subscription import Subscription
from .time_source import TimeSource
from .timer import Rate, Timer
from .type_support import check_is_valid_msg_type, check_is_valid_srv_type
from .utilities import get_default_context

HIDDEN_NODE_PREFIX = "_"


class Node(NamesMixin, ParameterMixin, GraphMixin):
    """Something with a name that publishes, subscribes, serves, calls, keeps time and has parameters."""

    def __init__(
        self,
        node_name: str,
        *,
        context: Context | None = None,
        cli_args: list[str] | None = None,
        namespace: str | None = None,
        use_global_arguments: bool = True,
        enable_rosout: bool = True,
        start_parameter_services: bool = True,
        parameter_overrides: list[Parameter] | None = None,
        allow_undeclared_parameters: bool = False,
        automatically_declare_parameters_from_overrides: bool = False,
    ) -> None:
        """Create a node; invalid names raise InvalidNodeNameException or InvalidNamespaceException."""
        self._context = get_default_context() if context is None else context
        if not self._context.ok():
            raise NotInitializedException("cannot create node")
        self._participant = self._context._participant
        self._publishers: list[Publisher] = []
        self._subscriptions: list[Subscription] = []
        self._clients: list[Client] = []
        self._services: list[Service] = []
        self._timers: list[Timer] = []
        self._guards: list[GuardCondition] = []
        self._entities_version = 0
        self._executor_reference: Callable[[], Any] | None = None
        self._destroyed = False
        self._default_callback_group = MutuallyExclusiveCallbackGroup()
        self._rate_group = ReentrantCallbackGroup()
        self._rosout_publisher: Publisher | None = None
        self._read_arguments(node_name, namespace, cli_args, use_global_arguments)
        self._logger = get_logger(".".join(filter(None, [*self._namespace.split("/"), self._name])))
        self._clock = ROSClock()
        overrides = self._read_overrides(parameter_overrides)
        with self._participant:
            self._local_node = self._participant.add_node(self._namespace, self._name)
            self._init_parameters(allow_undeclared_parameters, overrides)
            if enable_rosout and self._context._arguments.logs["rosout"]:
                self._rosout_publisher = self.create_publisher(Log, "/rosout", qos_profile_rosout_default)
                log_output.add_rosout(self._logger.name, self._publish_log)
            self._parameter_event_publisher = self.create_publisher(
                ParameterEvent, "/parameter_events", qos_profile_parameter_events
            )
            if automatically_declare_parameters_from_overrides:
                self.declare_parameters(
                    "",
                    [(name, p.value, ParameterDescriptor()) for name, p in overrides.items()],
                    ignore_override=True,
                )
            self._time_source = TimeSource(node=self)
            self._time_source.attach_clock(self._clock)
            if start_parameter_services:
                self._parameter_service = ParameterService(self)

    # --- identity --------------------------------------------------------------------------------------------------

    def get_clock(self) -> Clock:
        """Return the node's clock, which use_sim_time makes follow `/clock`."""
        return self._clock

    def get_logger(self) -> Any:
        """Return the node's logger."""
        return self._logger

    @property
    def context(self) -> Context:
        """The node's context."""
        return self._context

    @property
    def handle(self) -> Any:
        """What stands for the node on the network."""
        return self._local_node

    @property
    def default_callback_group(self) -> CallbackGroup:
        """The group of everything that is created without one."""
        return self._default_callback_group

    @property
    def publishers(self) -> Iterator[Publisher]:
        """The node's publishers."""
        yield from tuple(self._publishers)

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """The node's subscriptions."""
        yield from tuple(self._subscriptions)

    @property
    def clients(self) -> Iterator[Client]:
        """The node's clients."""
        yield from tuple(self._clients)

    @property
    def services(self) -> Iterator[Service]:
        """The node's services."""
        yield from tuple(self._services)

    @property
    def timers(self) -> Iterator[Timer]:
        """The node's timers."""
        yield from tuple(self._timers)

    @property
    def guards(self) -> Iterator[GuardCondition]:
        """The node's guard conditions."""
        yield from tuple(self._guards)

    @property
    def executor(self) -> Any:
        """The executor the node was added to, None if there is none."""
        return self._executor_reference() if self._executor_reference else None

    @executor.setter
    def executor(self, new_executor: Any) -> None:
        current = self.executor
        if current is new_executor:
            return
        if current is not None:
            current.remove_node(self)
        self._executor_reference = None if new_executor is None else weakref.ref(new_executor)
        if new_executor is not None:
            new_executor.add_node(self)

    def _wake_executor(self) -> None:
        executor = self.executor
        if executor is not None:
            executor.wake()

    def _waitable_entities(self) -> Iterator[Any]:
        """Yield everything of this node that hangs on an executor's waitset."""
        yield from self.subscriptions
        yield from self.clients
        yield from self.services
        for endpoint in (*self.publishers, *self.subscriptions):
            yield from endpoint.event_handlers

    def _entities(self) -> Iterator[Any]:
        """Yield everything of this node that has a callback."""
        yield from self.timers
        yield from self.guards
        yield from self._waitable_entities()

    def _changed(self) -> None:
        self._entities_version += 1
        self._wake_executor()

    def _publish_log(self, record: log_output.Record) -> None:
        publisher = self._rosout_publisher
        if publisher is None or not self._context.ok():
            return
        seconds, nanoseconds = divmod(record.stamp, 10**9)
        message = Log(
            level=record.level, name=record.name, msg=record.message, file=record.file, function=record.function,
            line=record.line,
        )  # fmt: skip
        message.stamp.sec, message.stamp.nanosec = seconds, nanoseconds
        publisher.publish(message)

    @staticmethod
    def _profile(qos_or_depth: QoSProfile | int) -> QoSProfile:
        if isinstance(qos_or_depth, QoSProfile):
            return qos_or_depth
        if isinstance(qos_or_depth, int):
            if qos_or_depth < 0:
                raise ValueError("history depth must be greater than or equal to zero")
            return QoSProfile(depth=qos_or_depth)
        raise TypeError(f"Expected QoSProfile or int, but received {type(qos_or_depth)!r}")

    # --- creating --------------------------------------------------------------------------------------------------

    def create_publisher(
        self,
        msg_type: type,
        topic: str,
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: PublisherEventCallbacks | None = None,
        qos_overriding_options: Any = None,
        publisher_class: type = Publisher,
    ) -> Publisher:
        """Create a publisher of a type on a topic, with a QoS profile or the depth of its history."""
        profile = self._profile(qos_profile)
        if qos_overriding_options is not None:
            raise NotCovered("QoS profiles overridden by parameters (qos_overriding_options)")
        check_is_valid_msg_type(msg_type)
        full = self.resolve_topic_name(topic)
        endpoint = self._participant.create_writer(self._local_node, f"rt{full}", msg_type._typename, profile)
        endpoint.topic_name = full
        callbacks = event_callbacks or PublisherEventCallbacks()
        publisher = publisher_class(endpoint, msg_type, topic, profile, callbacks, self._context)
        self._add_events(publisher, callbacks, full, callback_group)
        self._publishers.append(publisher)
        self._changed()
        return publisher

    def create_subscription(
        self,
        msg_type: type,
        topic: str,
        callback: Callable[[Any], Any],
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: SubscriptionEventCallbacks | None = None,
        qos_overriding_options: Any = None,
        raw: bool = False,
    ) -> Subscription:
        """Create a subscription to a topic; `raw` hands the callback the message's bytes."""
        profile = self._profile(qos_profile)
        if qos_overriding_options is not None:
            raise NotCovered("QoS profiles overridden by parameters (qos_overriding_options)")
        check_is_valid_msg_type(msg_type)
        full = self.resolve_topic_name(topic)
        group = callback_group or self._default_callback_group
        endpoint = self._participant.create_reader(self._local_node, f"rt{full}", msg_type._typename, profile)
        endpoint.topic_name = full
        callbacks = event_callbacks or SubscriptionEventCallbacks()
        try:
            subscription = Subscription(endpoint, msg_type, topic, callback, group, profile, raw, callbacks)
        except BaseException:
            endpoint.close()
            raise
        group.add_entity(subscription)
        self._add_events(subscription, callbacks, full, callback_group)
        self._subscriptions.append(subscription)
        self._changed()
        return subscription

    def _add_events(self, endpoint: Any, callbacks: Any, topic: str, group: CallbackGroup | None) -> None:
        callback = callbacks._callback(topic, self._logger.name)
        if callback is not None:
            group = group or self._default_callback_group
            endpoint.event_handlers.append(QoSEventHandler(endpoint._endpoint, callbacks.event, callback, group))

    def create_client(
        self,
        srv_type: type,
        srv_name: str,
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> Client:
        """Create a client of a service."""
        check_is_valid_srv_type(srv_type)
        full = self.resolve_service_name(srv_name)
        user_data = f"clientid={self._participant.next_service_id()};".encode()
        profile, typename = self._profile(qos_profile), srv_type._typename
        replies = self._participant.create_reader(
            self._local_node, f"rr{full}Reply", f"{typename}_Response", profile, user_data
        )
        requests = self._participant.create_writer(
            self._local_node, f"rq{full}Request", f"{typename}_Request", profile, user_data
        )
        requests.topic_name = full
        group = callback_group or self._default_callback_group
        client = Client(self._context, requests, replies, srv_type, srv_name, profile, group)
        client._executor = lambda: self.executor
        group.add_entity(client)
        self._clients.append(client)
        self._changed()
        return client

    def create_service(
        self,
        srv_type: type,
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> Service:
        """Create a service whose callback gets the request and an empty response and returns the response."""
        check_is_valid_srv_type(srv_type)
        full = self.resolve_service_name(srv_name)
        user_data = f"serviceid={self._participant.next_service_id()};".encode()
        profile, typename = self._profile(qos_profile), srv_type._typename
        replies = self._participant.create_writer(
            self._local_node, f"rr{full}Reply", f"{typename}_Response", profile, user_data
        )
        requests = self._participant.create_reader(
            self._local_node, f"rq{full}Request", f"{typename}_Request", profile, user_data
        )
        requests.topic_name = full
        group = callback_group or self._default_callback_group
        service = Service(requests, replies, srv_type, srv_name, callback, group, profile, self._context)
        group.add_entity(service)
        self._services.append(service)
        self._changed()
        return service

    def create_timer(
        self,
        timer_period_sec: float,
        callback: Callable[[], Any] | None,
        callback_group: CallbackGroup | None = None,
        clock: Clock | None = None,
    ) -> Timer:
        """Create a timer with a period in seconds, on the node's clock unless another is given."""
        group = callback_group or self._default_callback_group
        period = int(float(timer_period_sec) * 1e9)
        timer = Timer(callback, group, period, clock or self._clock, context=self._context)
        timer._wake = self._wake_executor
        group.add_entity(timer)
        self._timers.append(timer)
        self._changed()
        return timer

    def create_guard_condition(
        self, callback: Callable[[], Any], callback_group: CallbackGroup | None = None
    ) -> GuardCondition:
        """Create a guard condition, which runs its callback when it is triggered."""
        group = callback_group or self._default_callback_group
        guard = GuardCondition(callback, group, self._context)
        guard._wake = self._wake_executor
        group.add_entity(guard)
        self._guards.append(guard)
        self._changed()
        return guard

    def create_rate(self, frequency: float, clock: Clock | None = None) -> Rate:
        """Create a rate of so many Hertz."""
        if frequency <= 0:
            raise ValueError("frequency must be > 0")
        timer = self.create_timer(1.0 / frequency, None, callback_group=self._rate_group, clock=clock)
        return Rate(timer, context=self._context)

    # --- destroying ------------------------------------------------------------------------------------------------

    def _destroy(self, entities: list, entity: Any) -> bool:
        if entity not in entities:
            return False
        entities.remove(entity)
        self._changed()
        entity.destroy()
        return True

    def destroy_publisher(self, publisher: Publisher) -> bool:
        """Destroy a publisher; False if it is not this node's."""
        return self._destroy(self._publishers, publisher)

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Destroy a subscription; False if it is not this node's."""
        return self._destroy(self._subscriptions, subscription)

    def destroy_client(self, client: Client) -> bool:
        """Destroy a client; False if it is not this node's."""
        return self._destroy(self._clients, client)

    def destroy_service(self, service: Service) -> bool:
        """Destroy a service; False if it is not this node's."""
        return self._destroy(self._services, service)

    def destroy_timer(self, timer: Timer) -> bool:
        """Destroy a timer; False if it is not this node's."""
        return self._destroy(self._timers, timer)

    def destroy_guard_condition(self, guard: GuardCondition) -> bool:
        """Destroy a guard condition; False if it is not this node's."""
        return self._destroy(self._guards, guard)

    def destroy_node(self) -> None:
        """Destroy the node and all that it created."""
        if self._destroyed:
            return
        self._destroyed = True
        executor = self.executor
        if executor is not None:
            executor.remove_node(self)
        log_output.remove_rosout(self._logger.name, self._publish_log)
        self._rosout_publisher = None
        with self._participant:
            self._participant.remove_node(self._local_node)
            for entities in (
                self._publishers, self._subscriptions, self._clients, self._services, self._timers, self._guards
            ):  # fmt: skip
                for entity in tuple(entities):
                    self._destroy(entities, entity)
