"""The loop of the nodes with a fast period: one callback at a time, and no request waits for a tick. What may take long
is not done in a thread that ticks: files; a calibration: test_nodes_drivers.py. Messages between nodes of one process:
handed over while nobody else subscribes, else through the middleware.
"""

import sys
import threading
import time
from collections import deque
from concurrent.futures import CancelledError, ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from support.driver_session import Robots
from support.ros_session import LATCHED, Process, wait_until

from geometry_msgs.msg import PoseStamped
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.nodes.dynamics import DynamicsNode
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.ros import guarded_node, node_functions
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.running import end_nodes
from hexapod_dynamics.ros.tick_loop import HandingPublisher, TickLoop, copy_message
from nav_msgs.msg import Path
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rclpy.time import Time
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger


class Looped:
    """A node whose loop runs in a thread of this process."""

    def __init__(self, period, tick=lambda: None):
        self.node = GuardedNode("looped")
        self.ticks, self.error = deque(maxlen=10000), None
        self.inside, self.met = 0, 0  # callbacks and ticks that run now, and that met another one
        self.loop = TickLoop(self.node, period, lambda: (self.note(), self.ticks.append(time.monotonic()), tick()))
        self._end = threading.Event()
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._run)

    def note(self):
        """Stay for a while, and count whoever is here meanwhile."""
        self.inside += 1
        self.met += self.inside > 1
        time.sleep(0.002)
        self.met += self.inside > 1
        self.inside -= 1

    def start(self):
        self._thread.start()
        return self

    def _run(self):
        try:
            self.loop.run(self._executor, lambda: not self._end.is_set())
        except Exception as error:
            self.error = error

    def subscribe_rare(self, kind, topic, callback):
        self.node.create_subscription(kind, topic, callback, 10)

    def subscribe_polled(self, kind, topic, callback):
        self.loop.subscribe(kind, topic, callback, 10)

    def serve(self, _request, response):
        self.note()
        response.success = True
        return response

    def close(self):
        self._end.set()
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._executor.shutdown()
        self.node.destroy_node()


@pytest.fixture
def looped():
    """Makes Looped."""
    made = []

    def make(*arguments):
        made.append(Looped(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.close()


def answer_times(probe, looped, count=10):
    looped.node.create_service(Trigger, "ask", looped.serve)
    looped.start()
    client, took = probe.node.create_client(Trigger, "ask"), []
    assert client.wait_for_service(10)
    for _ in range(count):
        begin = time.monotonic()
        future = client.call_async(Trigger.Request())
        wait_until(future.done, 10, "an answer")
        took.append(time.monotonic() - begin)
        assert future.result().success
    probe.node.destroy_client(client)
    return took


def test_a_request_is_answered_between_two_ticks(probe, looped):
    each = looped(1.0)
    took = answer_times(probe, each)
    assert np.median(took) < 0.1, took  # `wait_until` looks every 20 ms
    assert each.met == 0


def test_a_tick_that_takes_longer_than_its_period_leaves_the_requests_their_turn(probe, looped):
    each = looped(0.01, lambda: time.sleep(0.02))
    took = answer_times(probe, each)
    assert np.median(took) < 0.2, took
    assert each.met == 0 and len(each.ticks) > 3


def test_polled_messages_and_slow_calls_come_with_the_ticks(probe, looped):
    each, heard, slow, rare = looped(0.02), [], [], []
    each.loop.subscribe(JointState, "joints", lambda m: (each.note(), heard.append(m.position.tolist())), 10)
    each.node.create_subscription(String, "rare", lambda m: (each.note(), rare.append(m.data)), 10)
    each.loop.call_every(0.1, lambda: (each.note(), slow.append(time.monotonic())))
    each.start()
    joints, words = (
        probe.node.create_publisher(kind, name, 10) for kind, name in ((JointState, "joints"), (String, "rare"))
    )
    for publisher in (joints, words):
        wait_until(publisher.get_subscription_count, 10, "a subscription")
    joints.publish(JointState(name=["a", "b"], position=[1.0, 2.0]))
    words.publish(String(data="word"))
    wait_until(lambda: heard and rare and len(slow) > 5, 10, lambda: f"{heard} {rare} {slow}")
    assert heard == [[1.0, 2.0]] and rare == ["word"]
    assert each.met == 0
    assert 0.08 < np.median(np.diff(slow)) < 0.3
    for publisher in (joints, words):
        probe.node.destroy_publisher(publisher)


def test_a_topic_that_is_not_needed_has_no_subscription(probe, looped):
    each, heard, wanted = looped(0.02), [], threading.Event()
    each.loop.subscribe(Imu, "at_times", lambda m: heard.append(m.header.frame_id), 10, needed=wanted.is_set)
    publisher = probe.node.create_publisher(Imu, "at_times", 10)
    each.start()
    message = Imu()
    for name in ("first", "second"):
        time.sleep(0.3)
        assert publisher.get_subscription_count() == 0
        publisher.publish(message)  # for nobody
        wanted.set()
        wait_until(publisher.get_subscription_count, 10, "a subscription")
        message.header.frame_id = name
        wait_until(lambda: publisher.publish(message) or message.header.frame_id in heard, 10, f"hear the {name}")
        wanted.clear()
        wait_until(lambda: publisher.get_subscription_count() == 0, 10, "its end")
    assert set(heard) == {"first", "second"} and each.error is None
    probe.node.destroy_publisher(publisher)


@pytest.mark.parametrize("subscribe", [Looped.subscribe_rare, Looped.subscribe_polled])
def test_a_device_error_in_a_callback_ends_the_loop_with_that_error(probe, looped, subscribe):
    def fail(_):
        raise DeviceError("the bus is gone")

    each = looped(0.02)
    subscribe(each, String, "fails", fail)
    each.start()
    publisher = probe.node.create_publisher(String, "fails", 10)
    wait_until(publisher.get_subscription_count, 10, "a subscription")
    publisher.publish(String())
    wait_until(lambda: each.error is not None, 10, "the error")
    assert isinstance(each.error, DeviceError)
    probe.node.destroy_publisher(publisher)


@pytest.mark.parametrize("phase", np.linspace(0.0, 0.02, 9).tolist())
@pytest.mark.parametrize("poll_period", [0.0, 0.02])
def test_ticks_are_aligned_with_periodic_messages(phase, poll_period):
    """Messages come every 20 ms, ticks every 10: whatever the phase at the start, each is soon 2 ms old when taken."""
    loop = TickLoop(None, 0.01, poll_period=poll_period)
    loop._due, newest, ages = 1.0 + phase, -1, []
    for _ in range(300):
        now, loop._due = loop._due, loop._due + max(loop.period, poll_period)
        message = np.floor((now - 1.0) / 0.02)
        if message > newest:
            newest = message
            ages.append(now - 1.0 - 0.02 * message)
            loop.align(ages[-1], 0.002)
    assert np.abs(np.array(ages[-50:]) - 0.002).max() < 5e-4


def test_another_thread_calls_functions_between_two_ticks(probe, looped):
    mine, early = looped(0.05), []
    caller = threading.Thread(target=mine.loop.call, args=(lambda: early.append(1), 0.1))
    caller.start()  # as a stop button that is pressed while the node starts
    time.sleep(0.2)
    mine.start()
    wait_until(lambda: early, 10, "the early call")
    begin = time.monotonic()
    for _ in range(20):
        mine.loop.call(mine.note, 10)
    assert mine.met == 0, "none during a tick"
    assert time.monotonic() - begin < 10 * 0.05, "none waits for a tick"


def test_a_call_before_a_start_that_never_comes_is_cancelled(probe):
    node = GuardedNode("ended")
    node.loop = TickLoop(node, 0.05)
    with ThreadPoolExecutor() as threads:
        called = threads.submit(node.loop.call, lambda: 1, 0.1)
        time.sleep(0.1)
        assert not called.done() and end_nodes([node])
        try:
            assert isinstance(called.exception(5.0), CancelledError)
        finally:
            node.loop.cancel()


def test_a_function_that_waits_too_long_is_not_called(probe, looped):
    mine, held = looped(0.01, lambda: time.sleep(2.0)).start(), []
    time.sleep(0.2)
    first = threading.Thread(target=lambda: pytest.raises(TimeoutError, mine.loop.call, lambda: held.append(1), 0.6))
    first.start()
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        mine.loop.call(lambda: held.append(2), 0.6)
    assert time.monotonic() - begin < 1.0, "it waited for its turn, and then for the lock as long again"
    first.join()
    assert not held


def test_a_function_after_the_end_is_cancelled_and_one_that_fails_ends_the_loop(probe, looped):
    mine = looped(0.01).start()
    wait_until(lambda: mine.ticks, 10, "it ticks")
    with pytest.raises(ZeroDivisionError):
        mine.loop.call(lambda: 1 / 0, 10)
    wait_until(lambda: isinstance(mine.error, ZeroDivisionError), 10, "the loop has ended")
    with pytest.raises(CancelledError):
        mine.loop.call(lambda: 1, 10)


def test_ticks_keep_their_turn_beside_a_thread_that_calls_without_a_pause(probe, looped):
    mine = looped(0.02).start()
    wait_until(lambda: mine.ticks, 10, "it ticks")
    before, end = len(mine.ticks), time.monotonic() + 1.0
    while time.monotonic() < end:
        mine.loop.call(mine.note, 10)
    assert len(mine.ticks) - before > 20 and mine.met == 0


@pytest.fixture
def dynamics(probe, monkeypatch):
    """The class TickLoop, from which a node `dynamics` with a command period of 0.1 s has made its loop: a mock."""
    slow = {"command_period": 0.1}
    monkeypatch.setattr(
        "hexapod_dynamics.nodes.robot_node.declare_all",
        lambda *of: node_functions.Values(node_functions.declare_all(*of) | slow),
    )
    with patch("hexapod_dynamics.nodes.dynamics.TickLoop") as made:
        node = DynamicsNode()
        yield made
        node.session_state.close()
        node.destroy_node()


def test_the_queue_of_dynamics_holds_the_samples_of_a_fast_imu_while_two_ticks_are_late(dynamics):
    depths = {call.args[1]: call.args[3] for call in dynamics.return_value.subscribe.call_args_list}
    poll_period, tick_period = dynamics.call_args.kwargs["poll_period"], dynamics.call_args.args[1]
    assert depths["imu/data"] >= 250 * (poll_period + 2 * tick_period)


def test_dynamics_aligns_its_ticks_to_the_newest_command_that_it_has_not_refused(dynamics):
    loop, tick = dynamics.return_value, dynamics.call_args.args[2]
    on_command = {call.args[1]: call.args[2] for call in loop.subscribe.call_args_list}["joint_commands"]
    names = list(Robot.jethexa().joint_names)

    def receive(age, angle):
        message = JointState(name=names, position=[angle] * len(names))
        message.header.stamp = Time(seconds=time.time() - age).to_msg()
        on_command(message)

    receive(0.01, 9.0)
    tick()
    assert not loop.align.called
    for age in (0.3, 0.2):
        receive(age, 0.1)
    tick()
    tick()
    loop.align.assert_called_once()
    assert 0.2 <= loop.align.call_args.args[0] < 0.3


def test_dynamics_predicts_once_a_command_while_nobody_subscribes_to_its_state(probe):
    with patch("hexapod_dynamics.nodes.dynamics.TickLoop"):
        node = DynamicsNode()
    for watched, period in ((False, 0.02), (True, 0.01), (False, 0.02)):
        node._messages.has_state_subscribers = lambda now, watched=watched: watched
        node._adapt(time.monotonic())
        assert node.loop.period == period
    node.session_state.close()
    node.destroy_node()


# The node in a process that writes down which thread renames a file (as every write of a state does).
AUDITED = """
import sys, threading
record, name = sys.argv[1:3]
def hook(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith("audited:dynamics.json"):
        with open(record, "a") as file:
            file.write(f"{threading.current_thread() is threading.main_thread()}\\n")
sys.addaudithook(hook)
sys.argv[1:] = sys.argv[3:]
from hexapod_dynamics.ros import start
getattr(start, name)()
"""


def test_the_position_is_not_stored_in_the_thread_that_predicts(probe, tmp_path):
    robot, record = Robots(), tmp_path / "record"
    place = {"HEXAPOD_DYNAMICS_RUNTIME": str(tmp_path / "run")}
    arguments = ("--ros-args", "-p", "session:=audited")
    servos, imu = Process.node("servos"), Process.node("imu")
    dynamics = Process(sys.executable, "-c", AUDITED, record, "dynamics", *arguments, **place)
    try:
        wait_until(lambda: record.exists() and len(record.read_text().splitlines()) > 2, 180, lambda: dynamics.output)
        assert set(record.read_text().splitlines()) == {"False"}, "the main thread ticks 100 times a second"
    finally:
        for process in (servos, imu, dynamics):
            process.end()
        robot.close()


@pytest.fixture
def pair(probe):
    """Two nodes: one publishes JointStates on the topic `handed`, one hears their efforts when its loop polls."""
    nodes = GuardedNode("publishes"), GuardedNode("polls")
    publisher, loop, heard = nodes[0].create_publisher(JointState, "handed", 100), TickLoop(nodes[1], 1.0), []
    loop.subscribe(JointState, "handed", lambda message: heard.append(message.effort[0]), QoSProfile(depth=100))
    wait_until(lambda: publisher.get_subscription_count() == 1, 10, "a subscription")
    yield publisher, loop, heard
    for node in nodes:
        node.destroy_node()


def test_a_message_is_handed_over_without_being_written_or_read_and_may_be_changed_afterwards(pair):
    publisher, loop, heard = pair
    message = JointState()
    with patch.object(guarded_node, "read_message", side_effect=AssertionError("it was read from bytes")):
        for number in (1.0, 2.0):
            message.effort = [number]
            publisher.publish(message)
        loop.poll()
    assert heard == [1.0, 2.0]


def test_all_hear_each_message_once_and_in_order_while_others_come_and_go(pair, probe):
    publisher, loop, heard = pair
    sent = 0

    def publish():
        nonlocal sent
        publisher.publish(JointState(effort=[float(sent)]))
        sent += 1

    for turn in range(6):
        others, outside = [], None
        if turn % 2:
            outside = probe.node.create_subscription(JointState, "handed", others.append, 100)
        wait_until(lambda n=1 + turn % 2: publisher.get_subscription_count() == n, 10, "the subscriptions")
        first = sent
        publish()
        wait_until(lambda: loop.poll() or len(heard) == sent, 10, "the first one is heard")
        for _ in range(4):  # they wait, with those of the next turn, which come the other way
            publish()
        if outside is not None:
            wait_until(lambda count=sent - first, others=others: len(others) == count, 10, "the others hear all")
            assert [message.effort[0] for message in others] == list(range(first, sent))
            probe.node.destroy_subscription(outside)
    wait_until(lambda: loop.poll() or len(heard) == sent, 10, "all were heard")
    time.sleep(0.2)
    loop.poll()
    assert heard == list(range(sent))


def test_after_the_end_of_a_node_that_polled_others_hear_all(pair, probe):
    publisher, loop, heard = pair
    loop._node.destroy_node()
    others = []
    outside = probe.node.create_subscription(JointState, "handed", lambda m: others.append(m.effort[0]), 100)
    wait_until(lambda: publisher.get_subscription_count() == 1, 10, "the other subscription")
    publisher.publish(JointState(effort=[3.0]))
    wait_until(lambda: others == [3.0], 10, "the message")
    assert heard == []
    probe.node.destroy_subscription(outside)


def test_latched_topics_are_not_handed_over(pair):
    assert isinstance(pair[0], HandingPublisher)
    latched = pair[1]._node.create_publisher(JointState, "latched", LATCHED)
    assert not isinstance(latched, HandingPublisher)


def test_a_copy_has_all_fields_and_shares_nothing_that_can_change():
    message = Imu(orientation_covariance=np.arange(9.0))
    message.header.frame_id, message.header.stamp.sec, message.linear_acceleration.z = "chip", 7, np.float64(9.8)
    copy = copy_message(message)
    assert serialize_message(copy) == serialize_message(message)
    message.header.stamp.sec, message.linear_acceleration.z = 8, 1.0
    message.orientation_covariance[4] = 0.5
    assert (copy.header.stamp.sec, copy.linear_acceleration.z, copy.orientation_covariance[4]) == (7, 9.8, 4.0)
    assert type(copy.linear_acceleration.z) is float, "as read from bytes"
    states, path = JointState(name=["a"], position=[1.0]), Path(poses=[PoseStamped()])
    copies = copy_message(states), copy_message(path)
    states.name[0], states.position[0], path.poses[0].pose.position.x = "b", 2.0, 3.0
    assert (copies[0].name, list(copies[0].position), copies[1].poses[0].pose.position.x) == (["a"], [1.0], 0.0)
