"""Timers, tasks, futures, guard conditions, rates and callback groups."""

import threading
import time

import pytest
from conftest import spin_until

import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import (
    ExternalShutdownException,
    MultiThreadedExecutor,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
)
from rclpy.parameter import Parameter
from rclpy.task import Future
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock as ClockMsg
from std_msgs.msg import String


def test_a_timer_does_not_drift(node, monkeypatch):
    """However late the calls come, the next is due on the grid of the start; periods missed are left out."""
    now = [10**9]
    monkeypatch.setattr(Timer, "_now", lambda self: now[0])
    timer = node.create_timer(0.01, lambda: None)
    due = []
    for late in (0, 1, 4_000_000, 9_999_999, 0, 25_000_000, 3):
        now[0] = timer._next + late
        due.append(timer._next - 10**9)
        assert timer._take_job() is not None
        assert timer._take_job() is None
    assert due == [10_000_000 * n for n in (1, 2, 3, 4, 5, 6, 9)]


def test_a_timer_keeps_its_rate(node):
    """Over a second of calls that take a while, none comes early and few are missed."""
    calls = []

    def call():
        calls.append(time.monotonic())
        time.sleep(0.002)

    start = time.monotonic()
    node.create_timer(0.02, call)
    spin_until(node, lambda: len(calls) == 50, timeout=20)
    assert all(t - start >= 0.02 * (n + 1) - 1e-6 for n, t in enumerate(calls))


def test_a_busy_subscription_does_not_starve_others(node):
    counts = {"a": 0, "b": 0, "timer": 0}
    publishers = {}

    def again(topic):
        counts[topic] += 1
        publishers[topic].publish(String())

    for topic in "ab":
        publishers[topic] = node.create_publisher(String, topic, 10)
        node.create_subscription(String, topic, lambda _, t=topic: again(t), 10)
        publishers[topic].publish(String())
    node.create_timer(0.0, lambda: counts.update(timer=counts["timer"] + 1))
    for _ in range(300):
        rclpy.spin_once(node, timeout_sec=1.0)
    assert min(counts.values()) > 50, counts


def test_spin_once_without_waiting(node):
    start = time.monotonic()
    rclpy.spin_once(node, timeout_sec=0)
    rclpy.spin_once(node, timeout_sec=0.1)
    assert 0.09 < time.monotonic() - start < 5


def test_an_exception_of_a_callback_comes_out(node):
    def fail():
        raise ZeroDivisionError("in the callback")

    node.create_timer(0.0, fail)
    with pytest.raises(ZeroDivisionError, match="in the callback"):
        rclpy.spin(node)
    executor = MultiThreadedExecutor(2)
    executor.add_node(node)
    with pytest.raises(ZeroDivisionError, match="in the callback"):
        executor.spin()
    executor.shutdown()


def test_tasks_and_futures(node):
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    future, order = Future(), []

    async def wait():
        order.append("waiting")
        order.append(await future)
        return "done"

    task = executor.create_task(wait)
    executor.create_task(lambda a, b: order.append(a + b), 1, b=2)
    node.create_timer(0.05, lambda: future.done() or future.set_result("set"))
    executor.spin_until_future_complete(task, timeout_sec=10)
    assert order == ["waiting", 3, "set"] and task.result() == "done"
    called = []
    task.add_done_callback(lambda t: called.append(t.result()))
    executor.spin_once(timeout_sec=1)
    assert called == ["done"]
    executor.shutdown()


def test_a_future_set_elsewhere_wakes_the_executor(node):
    future = Future()
    threading.Timer(0.1, lambda: future.set_result(1)).start()
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    assert future.done()


def test_guard_conditions_wake_from_another_thread(node):
    calls = []
    guard = node.create_guard_condition(lambda: calls.append(threading.get_ident()))
    rclpy.spin_once(node, timeout_sec=0.01)
    assert not calls
    threading.Timer(0.05, guard.trigger).start()
    rclpy.spin_once(node, timeout_sec=10)
    spin_until(node, lambda: calls)
    assert calls == [threading.get_ident()]


@pytest.mark.parametrize(("group", "together"), [(MutuallyExclusiveCallbackGroup, 1), (ReentrantCallbackGroup, 2)])
def test_callback_groups(node, group, together):
    running, most, calls, lock = [0], [0], [0], threading.Lock()
    shared = group()

    def work(_):
        with lock:
            running[0] += 1
            calls[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.05)
        with lock:
            running[0] -= 1

    publishers = []
    for topic in "ab":
        node.create_subscription(String, topic, work, 10, callback_group=shared)
        publishers.append(node.create_publisher(String, topic, 10))
    executor = MultiThreadedExecutor(4)
    executor.add_node(node)
    for publisher in publishers * 3:
        publisher.publish(String())
    end = time.monotonic() + 10
    while calls[0] < 6 and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    assert calls[0] == 6
    assert most[0] == 1 if together == 1 else most[0] >= 2


def test_a_rate_keeps_its_period(node):
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    spinner = threading.Thread(target=lambda: pytest.raises(ExternalShutdownException, executor.spin), daemon=True)
    spinner.start()
    rate = node.create_rate(50)
    start = time.monotonic()
    for _ in range(10):
        rate.sleep()
    assert 0.15 < time.monotonic() - start < 5
    sleeper = threading.Thread(target=lambda: pytest.raises(ROSInterruptException, endless, rate))
    sleeper.start()
    node.get_clock().sleep_for(rclpy.duration.Duration(seconds=0.05))
    rclpy.shutdown()
    sleeper.join(5)
    spinner.join(5)
    assert not sleeper.is_alive() and not spinner.is_alive()


def endless(rate):
    while True:
        rate.sleep()


def test_simulated_time_drives_timers(node):
    node.set_parameters([Parameter("use_sim_time", value=True)])
    clock = node.create_publisher(ClockMsg, "/clock", 10)
    calls, steady = [], []
    node.create_timer(1.0, lambda: calls.append(node.get_clock().now().nanoseconds))
    node.create_timer(0.02, lambda: steady.append(0), clock=Clock(clock_type=ClockType.STEADY_TIME))
    spin_until(node, lambda: len(steady) > 3)
    assert not calls and node.get_clock().now().nanoseconds == 0
    for second in (1, 2, 3):
        message = ClockMsg()
        message.clock.sec = second
        clock.publish(message)
        spin_until(node, lambda s=second: len(calls) == s)
    assert calls == [10**9, 2 * 10**9, 3 * 10**9]
    node.set_parameters([Parameter("use_sim_time", value=False)])
    assert node.get_clock().now().nanoseconds > 10**18
    spin_until(node, lambda: node.count_subscribers("/clock") == 0)  # the graph is told of it, not asked


def test_shutdown_from_another_thread_ends_spinning(node):
    threading.Timer(0.1, rclpy.shutdown).start()
    start = time.monotonic()
    with pytest.raises(ExternalShutdownException):
        rclpy.spin(node)
    assert time.monotonic() - start < 5 and not rclpy.ok()


def test_an_executor_that_is_shut_down_returns(node):
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    spinner = threading.Thread(target=executor.spin)
    spinner.start()
    time.sleep(0.1)
    assert executor.shutdown(timeout_sec=5)
    spinner.join(5)
    assert not spinner.is_alive() and executor.get_nodes() == []


def test_entities_may_come_and_go_while_spinning(node):
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    spinner = threading.Thread(target=executor.spin)
    spinner.start()
    for number in range(30):
        got = threading.Event()
        subscription = node.create_subscription(String, f"t{number}", lambda _, e=got: e.set(), 10)
        publisher = node.create_publisher(String, f"t{number}", 10)
        publisher.publish(String())
        assert got.wait(10)
        assert node.destroy_subscription(subscription) and node.destroy_publisher(publisher)
    executor.shutdown()
    spinner.join(5)


def test_two_contexts_live_beside_each_other(node, domain):
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    other = rclpy.create_node("elsewhere", context=context)
    got = []
    other.create_subscription(String, "words", got.append, 10)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(other)
    publisher = node.create_publisher(String, "words", 10)
    end = time.monotonic() + 10
    while not got and time.monotonic() < end:
        publisher.publish(String())
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    rclpy.shutdown(context=context)
    assert got and rclpy.ok()


def test_callbacks_that_are_due_are_handed_out_instead_of_run(node):
    executor, called = SingleThreadedExecutor(), []
    executor.add_node(node)
    with pytest.raises(TimeoutException):
        executor.wait_for_ready_callbacks(timeout_sec=0.05)
    timer = node.create_timer(0.01, lambda: called.append(1))
    task, entity, owner = executor.wait_for_ready_callbacks(timeout_sec=5.0)
    assert entity is timer and owner is node and not called
    task()
    assert called == [1] and task.done() and task.exception() is None
    node.destroy_timer(timer)
    executor.create_task(lambda: 1 / 0)
    task, entity, owner = executor.wait_for_ready_callbacks(timeout_sec=5.0)
    assert entity is None and owner is None
    task()
    assert isinstance(task.exception(), ZeroDivisionError)
    executor.shutdown()
    with pytest.raises(ShutdownException):
        executor.wait_for_ready_callbacks()
