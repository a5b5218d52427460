"""Executors: they wait for messages, timers, requests and tasks, and run the callbacks."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future as PoolFuture
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pocket_ros2.cdr_source import CorruptMessage
from pocket_ros2.errors import NotCovered

from .exceptions import NotInitializedException
from .logging import get_logger
from .signals import wakes_on_signal
from .task import Future, Task
from .utilities import get_default_context, timeout_sec_to_nsec

_FOREVER = 2**63 - 1
_SIGNAL_POLL = 200_000_000  # ns between looks for a signal where none can wake us
_WAKE = 0  # the guard condition's number in the waitset


class TimeoutException(Exception):
    """Nothing was ready in time."""


class ShutdownException(Exception):
    """The executor was shut down."""


class ExternalShutdownException(Exception):
    """The context was shut down, by a signal or from elsewhere."""


class ConditionReachedException(Exception):
    """What was waited for has come."""


async def await_or_execute(callback: Callable[..., Any], *args: Any) -> Any:
    """Call a function, await it if it is a coroutine function."""
    if inspect.iscoroutinefunction(callback):
        return await callback(*args)
    return callback(*args)


def _never() -> bool:
    return False


class Executor:
    """Base of the executors; they differ in which thread runs a callback.

    Entities of the nodes hang on one Cyclone DDS waitset, which tells which of them are ready. One round collects
    what is due (timers, then DDS), and every item is run once before the next round, so that none starves.
    """

    def __init__(self, *, context: Any = None) -> None:
        from pocket_ros2 import dds

        self._context = get_default_context() if context is None else context
        if self._context._participant is None:
            raise NotInitializedException("cannot create executor")
        self._dds = dds
        owner = self._context._participant.domain_handle
        self._guard = dds.create_guard(owner)
        self._waitset = dds.Waitset(owner)
        self._waitset.attach(self._guard, _WAKE)
        self._wait_lock = threading.Lock()
        self._nodes: dict[Any, None] = {}  # an ordered set
        self._nodes_lock = threading.RLock()
        self._known: tuple = ()
        self._attached: dict[int, Any] = {}
        self._blocked: dict[int, Any] = {}  # ready, but their callback group is busy: detached meanwhile
        self._timers: list[Any] = []
        self._guards: list[Any] = []
        self._timer_blocked = False
        self._tasks: deque[Task] = deque()
        self._ready: deque[Any] = deque()
        self._begun: Any = None  # what the last callback belongs to
        self._running = 0
        self._idle = threading.Condition()
        self._is_shutdown = False
        self._context._executors.add(self)

    @property
    def context(self) -> Any:
        """The executor's context."""
        return self._context

    # --- nodes and tasks -------------------------------------------------------------------------------------------

    def add_node(self, node: Any) -> bool:
        """Take care of a node's callbacks; False if it is there already."""
        with self._nodes_lock:
            if node in self._nodes:
                return False
            self._nodes[node] = None
            node.executor = self
        self.wake()
        return True

    def remove_node(self, node: Any) -> None:
        """Take care of a node's callbacks no longer."""
        with self._nodes_lock:
            if self._nodes.pop(node, self) is self:
                return
        self.wake()

    def get_nodes(self) -> list[Any]:
        """Return the executor's nodes."""
        with self._nodes_lock:
            return list(self._nodes)

    def create_task(self, callback: Any, *args: Any, **kwargs: Any) -> Task:
        """Have a function or coroutine run while spinning; returns its future."""
        task = Task(callback, args, kwargs, executor=self)
        self._schedule(task)
        return task

    def _schedule(self, task: Task) -> None:
        self._tasks.append(task)
        self.wake()

    def wake(self) -> None:
        """Make a waiting executor look at its nodes and tasks again."""
        if not self._is_shutdown:
            self._dds.set_guard(self._guard)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop, and wait for running callbacks to end; False if they did not in time."""
        self.wake()
        self._is_shutdown = True
        self._dds.set_guard(self._guard)
        with self._idle:
            forever = timeout_sec is None or timeout_sec < 0
            if not self._idle.wait_for(lambda: self._running == 0, None if forever else timeout_sec):
                return False
        with self._nodes_lock:
            self._nodes.clear()
        with self._wait_lock:
            if self._guard:
                self._waitset.close()
                self._dds.delete(self._guard)
                self._guard = 0
        self._context._executors.discard(self)
        return True

    def __del__(self) -> None:
        if getattr(self, "_guard", 0) and not self._is_shutdown:
            self._waitset.close()
            self._dds.delete(self._guard)

    # --- waiting ---------------------------------------------------------------------------------------------------

    def _synchronize(self) -> None:
        """Bring the waitset in line with the entities of the nodes, if any came or went."""
        with self._nodes_lock:
            nodes = list(self._nodes)
        known = tuple((node, node._entities_version) for node in nodes)
        if known == self._known:
            return
        self._known = known
        wanted = {entity._number: entity for node in nodes for entity in node._waitable_entities()}
        for number in self._attached.keys() - wanted.keys():
            entity = self._attached.pop(number)
            if self._blocked.pop(number, None) is None:
                self._waitset.detach(entity._condition)
        for number in wanted.keys() - self._attached.keys():
            entity = wanted[number]
            if self._waitset.attach(entity._condition, number):  # another thread may have destroyed it meanwhile
                self._attached[number] = entity
        self._timers = [timer for node in nodes for timer in node.timers]
        self._guards = [guard for node in nodes for guard in node.guards]

    def _unblock(self) -> None:
        for number, entity in list(self._blocked.items()):
            if entity.callback_group.can_execute(entity):
                del self._blocked[number]
                self._waitset.attach(entity._condition, number)

    def _collect_timers(self) -> int:
        """Queue the timers that are due and return the nanoseconds until the next one."""
        wait = _FOREVER
        self._timer_blocked = False
        for timer in self._timers:
            left = timer._nanoseconds_left()
            if left is None:
                continue
            if not timer.callback_group.can_execute(timer):
                self._timer_blocked = True
            elif left <= 0:
                self._ready.append(timer)
                wait = 0
            elif left < wait:
                wait = left
        for guard in self._guards:
            if guard._is_ready():
                if guard.callback_group.can_execute(guard):
                    self._ready.append(guard)
                    wait = 0
                else:
                    self._timer_blocked = True
        return wait

    def _round(self, limit: int) -> bool:
        """Wait at most `limit` ns for something to be ready and queue it; True if time ran out."""
        with self._wait_lock:
            if self._is_shutdown:
                raise ShutdownException()
            self._synchronize()
            if self._blocked:
                self._unblock()
            wait = self._collect_timers()
            if self._tasks:
                wait = 0
            wait = min(wait, limit)
            if not wakes_on_signal():
                wait = min(wait, _SIGNAL_POLL)
            for number in self._waitset.wait(wait):
                if number == _WAKE:
                    self._dds.take_guard(self._guard)
                else:
                    entity = self._attached.get(number)
                    if entity is not None:
                        self._ready.append(entity)
        return wait >= limit

    def _begin(self, entity: Any) -> Callable[[], None] | None:
        """Take what a ready entity has and return the call that handles it; None if there is nothing to do now."""
        group = entity.callback_group
        if not group.beginning_execution(entity):
            number = getattr(entity, "_number", None)
            if number is None:
                self._timer_blocked = True
            elif number in self._attached and number not in self._blocked:
                self._blocked[number] = entity
                self._waitset.detach(entity._condition)
            return None
        try:
            job = entity._take_job()
        except CorruptMessage as error:  # Cyclone DDS's middleware for ROS 2 drops it, too, without a word
            self._report_dropped(entity, error)
            job = None
        except BaseException:
            self._end(entity)
            raise
        if job is None:
            self._end(entity)
            return None
        callback, arguments = job
        with self._idle:
            self._running += 1
        return lambda: self._run(entity, callback, arguments)

    def _report_dropped(self, entity: Any, error: CorruptMessage) -> None:
        sender = entity._sender()
        node = self._context._participant.graph.node_of(sender, writer=True) if sender is not None else None
        name = "a publisher that has left" if sender is None else f"no ROS node: GUID {sender.hex()}"
        if node is not None:
            name = f"{node.namespace.rstrip('/')}/{node.name}"
        what = entity.topic_name if hasattr(entity, "topic_name") else entity.service_name
        get_logger("rclpy").warning(
            f"malformed data on {what} is dropped: {error}; it came from {name}", throttle_duration_sec=5.0
        )

    def _end(self, entity: Any) -> None:
        entity.callback_group.ending_execution(entity)
        if self._blocked or self._timer_blocked:
            self.wake()

    def _stopped(self) -> None:
        with self._idle:
            self._running -= 1
            self._idle.notify_all()

    def _run(self, entity: Any, callback: Callable[..., Any], arguments: tuple) -> None:
        """Run a callback to its end, or up to its first `await`; its group stays claimed until its end."""
        task = None
        try:
            result = callback(*arguments)
            if inspect.iscoroutine(result):
                task = Task(result, executor=self, ended=lambda: self._end(entity))
        finally:
            if task is None:
                self._end(entity)
                self._stopped()
        if task is not None:
            try:
                self._run_task(task)
            finally:
                self._stopped()

    @staticmethod
    def _run_task(task: Task) -> None:
        task()
        if task.done() and task._exception is not None:
            raise task.exception()

    def _next(self, limit: int, condition: Callable[[], bool]) -> Callable[[], None]:
        """Return the next thing to do; raises TimeoutException and others if there is none."""
        end = None if limit == _FOREVER else time.monotonic_ns() + limit
        last = False
        while True:
            if not self._context._valid:
                raise ExternalShutdownException()
            if self._is_shutdown:
                raise ShutdownException()
            if condition():
                raise ConditionReachedException()
            if self._tasks:
                task, self._begun = self._tasks.popleft(), None
                return lambda: self._run_task(task)
            while self._ready:
                self._begun = self._ready.popleft()
                job = self._begin(self._begun)
                if job is not None:
                    return job
            if last:
                raise TimeoutException()
            remaining = _FOREVER if end is None else max(0, end - time.monotonic_ns())
            self._round(remaining)
            last = end is not None and time.monotonic_ns() >= end

    # --- spinning --------------------------------------------------------------------------------------------------

    def spin(self) -> None:
        """Run callbacks until shutdown; ExternalShutdownException if the context ended while waiting."""
        while self._context.ok() and not self._is_shutdown:
            self.spin_once()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback, waiting for it at most so long (None or negative: for ever, 0: not at all)."""
        self._spin(timeout_sec_to_nsec(timeout_sec), _never)

    def spin_once_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        """Run one callback, unless the future is done before."""
        future._call_when_done(self.wake)
        self._spin(timeout_sec_to_nsec(timeout_sec), future.done)

    def spin_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        """Run callbacks until a future is done, at most so long (None or negative: for ever)."""
        future._call_when_done(self.wake)
        limit = timeout_sec_to_nsec(timeout_sec)
        end = time.monotonic_ns() + limit
        while self._context.ok() and not future.done() and not self._is_shutdown:
            left = limit if limit < 0 else max(0, end - time.monotonic_ns())
            self._spin(left, future.done)
            if limit >= 0 and time.monotonic_ns() >= end:
                return

    def _spin(self, limit: int, condition: Callable[[], bool]) -> None:
        try:
            job = self._next(_FOREVER if limit < 0 else limit, condition)
        except (ShutdownException, TimeoutException, ConditionReachedException):
            return
        self._execute(job)

    def _execute(self, job: Callable[[], None]) -> None:
        raise NotImplementedError

    def wait_for_ready_callbacks(self, timeout_sec: float | None = None, nodes: Any = None) -> tuple[Task, Any, Any]:
        """Wait for a callback that is due; return the task that runs it, its entity and the entity's node.

        What executors of one's own are built on. Entity and node are None for a task of `create_task`. Raises
        TimeoutException, ShutdownException, ExternalShutdownException.
        """
        if nodes is not None:
            raise NotCovered("wait_for_ready_callbacks(nodes=...)")
        limit = timeout_sec_to_nsec(timeout_sec)
        job = self._next(_FOREVER if limit < 0 else limit, _never)
        entity = self._begun
        owners = (node for node in self.get_nodes() for each in node._entities() if each is entity)
        return Task(job, executor=self), entity, next(owners, None)

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: Any) -> None:
        self.shutdown()


class SingleThreadedExecutor(Executor):
    """Runs callbacks in the thread that spins."""

    def _execute(self, job: Callable[[], None]) -> None:
        job()


class MultiThreadedExecutor(Executor):
    """Runs callbacks in a pool of threads, as far as their callback groups allow."""

    def __init__(self, num_threads: int | None = None, *, context: Any = None) -> None:
        super().__init__(context=context)
        self._pool = ThreadPoolExecutor(num_threads or os.cpu_count() or 2, thread_name_prefix="rclpy executor")
        self._failed: deque[BaseException] = deque()

    def _next(self, limit: int, condition: Callable[[], bool]) -> Callable[[], None]:
        if self._failed:
            raise self._failed.popleft()
        return super()._next(limit, lambda: bool(self._failed) or condition())

    def _execute(self, job: Callable[[], None]) -> None:
        self._pool.submit(job).add_done_callback(self._finished)

    def _spin(self, limit: int, condition: Callable[[], bool]) -> None:
        super()._spin(limit, condition)
        if self._failed:
            raise self._failed.popleft()

    def _finished(self, result: PoolFuture) -> None:
        error = None if result.cancelled() else result.exception()
        if error is not None:
            self._failed.append(error)
            self.wake()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop, and wait for running callbacks to end; False if they did not in time."""
        done = super().shutdown(timeout_sec)
        if done:
            self._pool.shutdown(wait=False)
        return done
