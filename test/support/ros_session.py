"""What the node tests share: a domain of their own, processes that are surely ended, a probe that hears and asks."""

import contextlib
import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from support.waiting import PATIENCE
from support.waiting import wait_until as wait_until  # for the tests of nodes

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hexapod_dynamics.process_environment import URI
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NEWEST = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
DOMAINS = range(40, 100)
RCLPYS_OWN = {"use_sim_time", "start_type_description_service"}  # parameters of every node, the second since Jazzy
RESERVED = []  # the locks of `reserve_domain`, the oldest first
LEASE = 10.0  # [s] for which ROS knows the nodes of a killed process, as if they were alive


def is_used(domain):
    """Return True if a program of this machine is in a ROS domain: it has one of the UDP ports of the domain."""
    first = 7400 + 250 * domain  # for multicast; then those of the first programs (RTPS 2.2, 9.6.1.1)
    with contextlib.ExitStack() as held:
        try:
            for port in (first, *range(first + 10, first + 50, 2)):
                held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)).bind(("", port))
        except OSError:
            return True
    return False


def reserve_domain():
    """Return a ROS domain number that no other test and no other program on this machine has, until this process ends
    or releases it.

    The one that was released longest ago is taken, because ROS knows the nodes of killed processes for LEASE seconds.
    """
    files = [Path(tempfile.gettempdir(), f"hexapod_dynamics_test_domain_{domain}") for domain in DOMAINS]
    random.SystemRandom().shuffle(files)
    for path in sorted(files, key=lambda path: path.stat().st_mtime if path.exists() else 0.0):
        file = open(path, "a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        domain = int(path.name.rpartition("_")[2])
        if not is_used(domain):
            os.utime(path)
            RESERVED.append(file)
            return domain
        file.close()
    raise RuntimeError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use on this machine")


def release_domain():
    """Release the domain that was reserved first."""
    file = RESERVED.pop(0)
    os.utime(file.name)
    file.close()


def separate():
    """Choose a ROS domain for this test module that no other test is in, and no other robot or user is likely to be.

    The domain of the module before the last is released.
    """
    while len(RESERVED) > 1:
        release_domain()
    os.environ["ROS_DOMAIN_ID"] = str(reserve_domain())
    if os.environ.get("ROS_DISTRO") == "humble":
        os.environ["ROS_LOCALHOST_ONLY"] = "1"
    else:  # Jazzy and later; with PyPI's wheels a profile of Fast DDS has done it (with_ros2)
        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    # Without multicast on the loopback interface a real ROS 2 sees ten processes only, unless it is told otherwise.
    # The user's own setting is not added to: with another interface in it no participant may come about at all.
    os.environ["CYCLONEDDS_URI"] = URI


def ask(client, request, timeout=10.0, pause=0.02):
    """Call a service and return its response.

    For 10 s `wait_for_service` takes a killed server for alive. A request that is sent before the node in its place is
    discovered is lost, on a real ROS 2, too: requests that begin in this time after `Process.kill` are repeated.
    """
    assert client.wait_for_service(timeout_sec=PATIENCE * timeout), f"no server for {client.srv_name}"
    now = time.monotonic()
    end, futures = now + PATIENCE * timeout, []
    patience = 1.0 if now < Process.killed_at + LEASE else PATIENCE * timeout
    while now < end:
        futures.append(client.call_async(request))
        again = min(end, now + patience)
        while now < again:
            for future in futures:
                if future.done():
                    return future.result()
            time.sleep(pause)
            now = time.monotonic()
    raise AssertionError(f"not within {PATIENCE * timeout} s: {client.srv_name} answers")


class Process:
    """A process group with its output in a file."""

    killed_at = -LEASE  # monotonic time [s] of the last `kill` of any process

    def __init__(self, *command, cwd=None, **environment):
        self._command = {"args": command, "env": os.environ | environment, "cwd": cwd}
        self.start()

    def start(self):
        """Start the process; again after its end, with another log."""
        self.log = tempfile.TemporaryFile()
        self.popen = subprocess.Popen(
            **self._command, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
        )

    @classmethod
    def node(cls, name, *ros_arguments, environment=None):
        """Start a node of this package."""
        ros = ("--ros-args", *ros_arguments) if ros_arguments else ()
        nodes = () if name == "companions" else (name,)
        return cls(sys.executable, "-m", "hexapod_dynamics.nodes", *nodes, *ros, **(environment or {}))

    @property
    def pid(self):
        return self.popen.pid

    @property
    def output(self):
        # Not `seek` and `read`: the process writes at the position of the file, which it shares with this one.
        file = self.log.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def running(self):
        return self.popen.poll() is None

    def interrupt(self, timeout=10.0):
        """Send SIGINT to the process alone; return (seconds it took to end, exit code)."""
        start = time.monotonic()
        self.popen.send_signal(signal.SIGINT)
        code = self.popen.wait(timeout)
        return time.monotonic() - start, code

    def kill(self):
        """Kill the process alone, as a crash does."""
        self.popen.kill()
        self.popen.wait(10.0)
        Process.killed_at = time.monotonic()

    def end(self):
        """End the whole group, by force if need be."""
        for number, patience in ((signal.SIGINT, 5.0), (signal.SIGKILL, 5.0)):
            try:
                os.killpg(self.popen.pid, number)
                self.popen.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def parameters_of(values):
    """Parameters as messages of {name: value}."""
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]


class Statuses:
    """The newest status of each node, as /diagnostics has it."""

    def __init__(self, probe):
        self.heard = probe.hear(DiagnosticArray, "/diagnostics", 50, keep=200)

    def __call__(self, name):
        """Return the newest status of a node; its level is STALE where it has published none."""
        found = [status for _, array in list(self.heard) for status in array.status if status.name == name]
        return found[-1] if found else DiagnosticStatus(name=name, level=DiagnosticStatus.STALE)

    def value(self, name, key):
        """Return a value of the newest status of a node; None where it has none."""
        return next((pair.value for pair in self(name).values if pair.key == key), None)

    def says(self, name, words, timeout=10.0, level=None):
        """Wait until a node says these words, at this level where one is given; return that status."""

        def said():
            status = self(name)
            return status if words in status.message and level in (None, status.level) else None

        return wait_until(said, timeout, lambda: f"{name} says {words!r} at {level or 'any level'} but {self(name)}")


class Probe:
    """A node in this process that keeps the messages of topics and calls services."""

    def __init__(self, name="probe"):
        rclpy.init()
        try:
            self.node = rclpy.create_node(name)
        except BaseException:
            rclpy.try_shutdown()  # else every later test fails too: the context is initialised already
            raise
        self.messages, self._clients, self._statuses = {}, {}, None
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        while True:
            try:
                return self._executor.spin()
            except ExternalShutdownException:
                return None
            except InvalidHandle:  # Humble: a test destroyed a publisher while the executor collected what to wait for
                continue

    def hear(self, kind, topic, qos=10, keep=None):
        """Keep (arrival time, message) of a topic in messages[topic], the last `keep` of them."""
        heard = self.messages.setdefault(topic, [])

        def take(message):
            heard.append((time.monotonic(), message))
            if keep is not None:
                del heard[:-keep]

        self.node.create_subscription(kind, topic, take, qos)
        return heard

    def last(self, topic):
        """The last message of a topic that is heard."""
        return self.messages[topic][-1][1]

    def _create(self, kind, topic, qos):
        for _ in range(50):
            with contextlib.suppress(RuntimeError):  # the participant still has one of another type, that was destroyed
                return self.node.create_publisher(kind, topic, qos)
            time.sleep(0.1)
        return self.node.create_publisher(kind, topic, qos)

    @contextlib.contextmanager
    def publishing(self, topic, make, every=0.1, qos=10):
        """Publish make() on a topic every so many seconds."""
        publisher = self._create(type(make()), topic, qos)
        timer = self.node.create_timer(every, lambda: publisher.publish(make()))
        try:
            yield
        finally:
            self.node.destroy_timer(timer)
            self.node.destroy_publisher(publisher)

    def publisher(self, kind, topic, qos=10):
        """Return a publisher to which a node has subscribed."""
        publisher = self._create(kind, topic, qos)
        wait_until(lambda: publisher.get_subscription_count() > 0, 10, f"{topic} has a subscriber")
        return publisher

    @property
    def statuses(self):
        """What nodes say in /diagnostics, from the first call on."""
        if self._statuses is None:
            self._statuses = Statuses(self)
        return self._statuses

    def accept_stops(self):
        """Offer the service emergency_stop; return the list of what it was asked for."""
        asked = []

        def stop(request, response):
            asked.append(request.data)
            response.success = True
            return response

        self.node.create_service(SetBool, "emergency_stop", stop)
        return asked

    def client(self, kind, name):
        """Return the client of a service."""
        # Clients are kept. To destroy one whose server was killed takes Cyclone DDS 1 s (it waits for acknowledgement
        # of the request, until it finds the server dead after 10 s), and rclpy holds the interpreter all that time:
        # devices that this process simulates answer nothing.
        client = self._clients.get((kind, name))
        if client is None:
            client = self._clients[kind, name] = self.node.create_client(kind, name)
        return client

    def call(self, kind, name, request, timeout=10.0):
        """Call a service and return its response."""
        return ask(self.client(kind, name), request, timeout)

    def begin_call(self, kind, name, request):
        """Call a service and return the Future of its response."""
        client = self.client(kind, name)
        assert client.wait_for_service(10 * PATIENCE)
        return client.call_async(request)

    def set(self, service, values, timeout=10.0):
        """Call set_morphology or set_damage with {name: value}; return (accepted, reason)."""
        request = SetParametersAtomically.Request(parameters=parameters_of(values))
        result = self.call(SetParametersAtomically, service, request, timeout).result
        return result.successful, result.reason

    def morphology(self, topic="morphology"):
        """Start to hear the latched morphology; return a function that gives the last whole set, or None."""
        heard = self.hear(ParameterEvent, topic, LATCHED)

        def last():
            if not heard:
                return None
            return {p.name: Parameter.from_parameter_msg(p).value for p in heard[-1][1].new_parameters}

        return last

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._executor.shutdown()
        self._thread.join(5.0)
        self.node.destroy_node()
        rclpy.try_shutdown()
