"""Whether a healthy robot on a computer that is too busy is left alone, and what its software says of it.

    ./with_ros2 python3 benchmark/busy_computer.py [--load 8] [--minutes 30] [LAUNCH_ARGUMENT ...]

Launches the robot, starts `stress-ng --cpu LOAD` beside it, commands walks, turns and pauses, and counts what is
declared broken, how long the robot sat, lay or was stopped, and the reasons in /diagnostics. At the end RM is torn off
in the simulation, and told to nobody. The truth is the simulator: nothing is broken before. Progress goes to stderr,
the table to stdout. Needs stress-ng (apt).
"""

import collections
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter, ParameterEvent, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.qos import DurabilityPolicy, QoSProfile

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Forward [m/s], to the left [m/s], turn [rad/s], one after the other, each for PIECE [s].
COMMANDS = ((0.05, 0.0, 0.0), (0.05, 0.0, 0.2), (0.0, 0.0, 0.0), (0.0, 0.03, 0.0), (0.05, 0.0, -0.2), (0.08, 0.0, 0.0))
PIECE, FOUND = 15.0, 90.0  # [s]; longest wait until the torn-off leg is declared


class Robot:
    """The launched robot, and what was heard of it."""

    def __init__(self, arguments):
        self.node = rclpy.create_node("benchmark_busy_computer")
        self._damaged = set()
        self.declared, self.states, self.reasons = [], collections.Counter(), collections.Counter()
        self.state, self.way, self.place, self.turned_over = "nothing yet", 0.0, None, 0
        heard = self.node.create_subscription
        heard(ParameterEvent, "morphology", self._morphology, LATCHED)
        heard(DiagnosticStatus, "gait_state", self._gait_state, LATCHED)
        heard(DiagnosticArray, "/diagnostics", self._diagnostics, 50)
        heard(Odometry, "simulator/odom", self._odometry, 1)
        self.cmd_vel = self.node.create_publisher(Twist, "cmd_vel", 10)
        self.set_damage = self.node.create_client(SetParametersAtomically, "simulator/set_damage")
        command = ["ros2", "launch", "hexapod_dynamics", "walk.launch.py", "status:=false", *arguments]
        self.output = Path(tempfile.gettempdir(), f"busy_computer_{os.getpid()}.log")
        with self.output.open("w") as file:
            self.launch = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)

    def _morphology(self, message):
        damaged = {p.name for p in message.new_parameters if self._is_damage(p)}  # the whole set each time
        new, self._damaged = sorted(damaged - self._damaged), damaged
        if new:
            self.declared.append((time.monotonic(), new))

    @staticmethod
    def _is_damage(parameter):
        kind, _, _ = parameter.name.partition(".")
        value = parameter.value
        if kind in ("legs", "links"):
            return not value.bool_value
        if kind == "remaining":
            return value.double_value < 1.0
        return kind in ("locked", "limp") and value.bool_value

    def _gait_state(self, message):
        self.state = message.message.partition(":")[0]

    def _diagnostics(self, message):
        for status in message.status:
            level = status.level if isinstance(status.level, int) else status.level[0]
            if level and "busy" in status.message:
                self.reasons[status.name] += 1

    def _odometry(self, message):
        point, turn = message.pose.pose.position, message.pose.pose.orientation
        place = (point.x, point.y)
        if self.place is not None:
            self.way += math.dist(place, self.place)
        self.place = place
        self.turned_over += 1.0 - 2.0 * (turn.x**2 + turn.y**2) < 0.5

    def spin(self, seconds, done=lambda: False):
        """Hear for so many seconds, or until done(); return whether it is done. The gait's state is counted in [s]."""
        end = last = time.monotonic()
        end += seconds
        while (now := time.monotonic()) < end and not done():
            rclpy.spin_once(self.node, timeout_sec=0.05)
            self.states[self.state] += now - last
            last = now
            if self.launch.poll() is not None:
                sys.exit("the launch has ended by itself: run it by hand to see why")
        return done()

    def command(self, x, y, turn):
        """Command a velocity [m/s, m/s, rad/s]."""
        message = Twist()
        message.linear.x, message.linear.y, message.angular.z = x, y, turn
        self.cmd_vel.publish(message)

    def tear_off(self, leg):
        """Tear a leg off in the simulation."""
        request = SetParametersAtomically.Request()
        value = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=False)
        request.parameters = [Parameter(name=f"legs.{leg}", value=value)]
        return self.set_damage.call_async(request)

    def close(self):
        """End the launch."""
        self.launch.send_signal(2)
        try:
            self.launch.wait(30)
        except subprocess.TimeoutExpired:
            self.launch.kill()
        self.node.destroy_node()


def measure(load, minutes, arguments, file):
    """Print a table of one run."""
    rclpy.init()
    robot, stress = Robot(arguments), None
    try:
        if not robot.spin(120.0, lambda: robot.way > 0.1):
            sys.exit("it does not walk")
        robot.states.clear()
        stress = subprocess.Popen(["stress-ng", "--quiet", "--cpu", str(load)]) if load else None
        begin, robot.way, loads = time.monotonic(), 0.0, []
        while (now := time.monotonic()) < begin + 60.0 * minutes:
            robot.command(*COMMANDS[int((now - begin) / PIECE) % len(COMMANDS)])
            robot.spin(0.2)
            if now - begin > 60.0 * (len(loads) + 1):
                loads.append(os.getloadavg()[0])
                print(f"{(now - begin) / 60:4.0f} min: {robot.state}, {robot.declared}", file=sys.stderr)
        healthy, states, way = list(robot.declared), robot.states.copy(), robot.way
        robot.tear_off("RM")
        torn = time.monotonic()
        found = False
        while not found and time.monotonic() < torn + FOUND:
            robot.command(*COMMANDS[0])
            found = robot.spin(0.2, lambda: any("RM" in name for _, names in robot.declared for name in names))
        names = sorted({name for _, names in robot.declared[len(healthy) :] for name in names})
        print(f"| load {load}, {minutes:g} min | |\n|---|---|")
        print(f"| healthy parts declared broken | {len(healthy)} {[names for _, names in healthy] or ''} |")
        print(f"| load average, largest | {sum(loads) / max(len(loads), 1):.1f}, {max(loads, default=0.0):.1f} |")
        print(f"| way, samples turned over | {way:.1f} m, {robot.turned_over} |")
        walking = 100.0 * states["walking"] / max(sum(states.values()), 1e-9)
        results.record(file, f"busy {load}", declared=len(healthy), minutes=minutes, walking=walking)
        shares = (f"{state} {100 * seconds / sum(states.values()):.0f} %" for state, seconds in states.most_common(6))
        print(f"| gait | {'; '.join(shares)} |")
        print(f"| `busy` in /diagnostics | {dict(robot.reasons)} |")
        after = (
            f"after {time.monotonic() - torn:.1f} s: {', '.join(names)}" if found else f"not within {FOUND:g} s {names}"
        )
        print(f"| RM torn off, declared | {after} |", flush=True)
        print(f"what the launch has printed: {robot.output}", file=sys.stderr)
    finally:
        if stress is not None:
            stress.terminate()
        robot.close()
        rclpy.shutdown()


def main():
    """Read the command line."""
    parser = results.parser(__doc__)
    parser.add_argument("--load", type=int, default=8, help="processes of stress-ng")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("arguments", nargs="*", help="of the launch")
    options = parser.parse_args()
    if options.load and shutil.which("stress-ng") is None:
        sys.exit("stress-ng is missing: sudo apt install stress-ng")
    measure(options.load, options.minutes, options.arguments, options.json)


if __name__ == "__main__":
    main()
