"""How long the emergency stop takes, on a quiet and on a loaded computer.

    ./with_ros2 python3 benchmark/stopping.py [--load 0 8 20] [--stops 50] [--tool-calls 10] [--users-rights]

The node `servos` runs as usual, beside `--load` processes that compute; this process has the simulated servo bus, on a
pty, and publishes the joint_commands of a robot in motion. It asks for a real-time priority, so that what is measured
is the node and not the starving simulation; `--starving` does without.

  call      from the call of the service `emergency_stop` to: the first MOVE_STOP on the pty, the end of that frame on
            the simulated wire (the last motion of a joint), the answer
  socket    the same by the local stop socket
  tool      from the start of the process `ros2 run hexapod_dynamics stop` to its end, and to the first MOVE_STOP
  direct    the same by `hexapod-stop`, without `ros2 run`
  terminal  as tool, in a session of its own: Linux shares the processors between sessions first (autogroup), so that
            the tool does not compete with each busy process of the launch's session

--users-rights: the node may not raise its own priority, as of a user without CAP_SYS_NICE.
"""

import argparse
import contextlib
import ctypes
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import rclpy
from hexapod_dynamics.devices.lx_bus import ServoBusDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.device_paths import SERVO_BUS, device_directory
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.runtime_directory import VARIABLE
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

ROBOT = Robot.jethexa()
NAMES, MAP = list(ROBOT.joint_names), ServoMap.from_robot(ROBOT)
HERE = np.full(18, 0.1)
MOVES = (Command.MOVE_TIME_WRITE, Command.MOVE_START)
WAYS, TOOL = ["call", "socket", "tool", "direct", "terminal"], ["ros2", "run", "hexapod_dynamics", "stop"]
PRIORITY = 40  # real-time priority of this process


class Bus:
    """Servos without dynamics on a pty. stops, moves: time [s] at which each such frame was complete on the wire."""

    def __init__(self):
        self.servos = VirtualServos(MAP.ids, MAP.directions, HERE.copy(), loaded=True)
        self.stops, self.moves = [], []
        self.device = ServoBusDevice(self.servos, device_directory() / SERVO_BUS, on_frame=self._note)
        self.device.start()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _note(self, frame, end):
        if frame.command == Command.MOVE_STOP:
            self.stops.append(end)
        elif frame.command in MOVES:
            self.moves.append(end)

    def _follow(self):
        while not self._ending.wait(0.005):
            self.servos.set_angles(self.servos.setpoints(time.monotonic()))

    def close(self):
        self._ending.set()
        self._thread.join()
        self.device.stop()


class Commander:
    """Publishes a waving pose 50 times a second and calls services, in a node of its own."""

    def __init__(self):
        rclpy.init()
        self.node = rclpy.create_node("stopping_benchmark")
        self._publisher = self.node.create_publisher(JointState, "joint_commands", 10)
        self.client = self.node.create_client(SetBool, "emergency_stop")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._publish, self._spin)]
        for thread in self._threads:
            thread.start()

    def _spin(self):
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def _publish(self):
        message = JointState(name=NAMES)
        while not self._ending.wait(0.02):
            pose = HERE + 0.2 * np.sin(6.0 * time.monotonic() + np.arange(18))
            message.position = pose.tolist()
            message.header.stamp = self.node.get_clock().now().to_msg()
            self._publisher.publish(message)

    def call(self, on, timeout=20.0):
        """Call the emergency stop; return when it was answered (monotonic [s]) and the answer."""
        future, done = self.client.call_async(SetBool.Request(data=on)), []
        answered = threading.Event()
        future.add_done_callback(lambda _: (done.append(time.monotonic()), answered.set()))
        if not answered.wait(timeout):
            raise RuntimeError(f"no answer within {timeout} s")
        return done[0], future.result()

    def close(self):
        self._ending.set()
        self._executor.shutdown()
        for thread in self._threads:
            thread.join(5.0)
        self.node.destroy_node()
        rclpy.try_shutdown()


def wait_until(condition, what, timeout=60.0):
    """Wait until condition() is true; RuntimeError says what did not happen."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {timeout} s: {what}")
        time.sleep(0.01)


@contextlib.contextmanager
def computing(processes):
    """So many processes that each keep a processor busy."""
    running = [
        subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"], preexec_fn=as_usual)
        for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def as_usual():
    """In a child before it runs: not the real-time priority of this process."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def in_another_terminal():
    """In a child before it runs: a session of its own, as of a person who stops from another terminal."""
    as_usual()
    os.setsid()


def without_rights():
    """In a child before it runs: no capability, no limit that lets it raise its priority."""
    as_usual()
    for capability in range(41):  # PR_CAPBSET_DROP: what an executable could have after exec
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_NICE, (0, 0))


def one_stop(bus, commander, ask, pause):
    """Stop once by ask() -> (answered, text); return [first stop frame out, last motion, answered] after the call."""
    begin = time.monotonic()
    wait_until(lambda: bus.moves and bus.moves[-1] > begin + pause, "the robot moves")
    called = time.monotonic()
    answered, text = ask()
    wait_until(lambda: bus.stops and bus.stops[-1] > called, f"a MOVE_STOP after {text!r}")
    time.sleep(0.1)
    first = next(end for end in list(bus.stops) if end > called)
    last = max([first, *[end for end in list(bus.moves) if end > first]])
    commander.call(False)
    return first - called, last - called, answered - called


def ask_service(commander):
    answered, response = commander.call(True)
    return answered, response.message


def ask_tool(words, start):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, preexec_fn=start)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.returncode} {done.stderr}")
    return time.monotonic(), done.stdout


def ask_socket():
    from hexapod_dynamics.drivers.stop_request import request_stop

    answer = request_stop("/", 20.0)
    return time.monotonic(), answer[1]


def report(name, rows):
    """Print median, 95th percentile and largest of each column, in milliseconds."""
    columns = 1e3 * np.array(rows).T
    for what, values in zip(("first stop frame", "last motion", "answered"), columns, strict=True):
        middle, high = np.percentile(values, [50, 95])
        late = np.count_nonzero(values > 60.0)
        print(
            f"{name:18} {what:17} median {middle:7.1f}  95 % {high:7.1f}  largest {values.max():7.1f} ms"
            f"  above 60 ms: {late} of {len(values)}",
            flush=True,
        )


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", type=int, nargs="+", default=[0, 8, 20], help="processes that compute beside")
    parser.add_argument("--stops", type=int, default=50)
    parser.add_argument("--tool-calls", type=int, default=10)
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--starving", action="store_true", help="no real-time priority for the simulated servo bus")
    parser.add_argument("--users-rights", action="store_true", help="the node may not raise its priority")
    given = parser.parse_args()
    os.environ["ROS_DOMAIN_ID"], os.environ["ROS_LOCALHOST_ONLY"] = "121", "1"
    with tempfile.TemporaryDirectory(prefix="stopping") as place:
        os.environ[VARIABLE] = place
        measure(given)


def measure(given):
    limit = without_rights if given.users_rights else as_usual
    with open(os.path.join(os.environ[VARIABLE], "..", "stopping_servos.log"), "w") as log:
        if not given.starving:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
            except OSError as error:
                print(f"no real-time priority for the simulated servo bus ({error}): as with --starving")
        bus, commander = Bus(), Commander()
        words = [sys.executable, "-m", "hexapod_dynamics.nodes", "servos", "--ros-args", "-p", "session:=stopping"]
        node = subprocess.Popen(words, stdout=log, stderr=log, preexec_fn=limit)
        try:
            wait_until(commander.client.service_is_ready, "servos offers emergency_stop")
            commander.call(False)
            wait_until(lambda: bus.moves, "the robot moves")
            ways = {
                "call": (given.stops, lambda: ask_service(commander)),
                "socket": (given.stops, ask_socket),
                "tool": (given.tool_calls, lambda: ask_tool(TOOL, as_usual)),
                "direct": (given.tool_calls, lambda: ask_tool(["hexapod-stop"], as_usual)),
                "terminal": (given.tool_calls, lambda: ask_tool(TOOL, in_another_terminal)),
            }
            for load in given.load:
                with computing(load):
                    time.sleep(1.0)
                    for way in given.ways:
                        count, ask = ways[way]
                        rows = [one_stop(bus, commander, ask, 0.15 + 0.02 * math.fmod(k, 7)) for k in range(count)]
                        report(f"load {load:2d}, {way}", rows)
        finally:
            node.terminate()
            node.wait()
            commander.close()
            bus.close()


if __name__ == "__main__":
    main()
