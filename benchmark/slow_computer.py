"""How the running robot does on a slow computer: the launch, watched without and with a limit on each process.

    ./with_ros2 python3 benchmark/slow_computer.py [--share 0.167] [--seconds 20]        # as root

Every process of the robot's software gets `--share` of one core (a Jetson Nano's core is five to six times slower than
a PC's). The process `simulator` has no limit: it stands for the world and is not on the robot; nor has the launch
process. The status line is left out, as deploy/compose.yaml does.
"""

import argparse
import os
import subprocess
import sys
import time

import numpy as np
import psutil
from cpu_limit import CpuLimit

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion
from nav_msgs.msg import Odometry
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState

LIMITED = ("imu", "servos", "gait", "dynamics", "companions")
LEVELS = ("ok", "warn", "error", "stale")
MANY = QoSProfile(depth=200, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)
BEGUN, SETTLED = 180.0, 12.0  # [s] longest wait for the first prediction; time to get going before each measurement


class Watch:
    """Launches the robot, and keeps what it publishes with its time of arrival [s] in `heard`."""

    TOPICS = (
        (Odometry, "simulator/odom"),
        (Odometry, "predicted_state"),
        (JointState, "servos/measurements"),
        (Imu, "imu/data"),
        (DiagnosticArray, "/diagnostics"),
    )

    def __init__(self, arguments):
        self.node, self.heard = rclpy.create_node("benchmark_slow_computer"), {}
        for kind, topic in self.TOPICS:
            kept = self.heard[topic] = []
            self.node.create_subscription(kind, topic, self._keeper(kept), MANY)
        self.launch = subprocess.Popen(
            ["ros2", "launch", "hexapod_dynamics", "walk.launch.py", "status:=false", *arguments],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _keeper(self, kept):
        clock = self.node.get_clock()

        def keep(message):
            stamp = message.header.stamp
            kept.append((1e-9 * clock.now().nanoseconds, stamp.sec + 1e-9 * stamp.nanosec, message))

        return keep

    def spin(self, done):
        """Hear until done() is true."""
        while not done():
            rclpy.spin_once(self.node, timeout_sec=0.1)
            if self.launch.poll() is not None:
                sys.exit("the launch has ended by itself: run it by hand to see why")

    def wait(self, seconds):
        """Hear for so long."""
        end = time.monotonic() + seconds
        self.spin(lambda: time.monotonic() > end)

    def begin(self):
        """Wait until it predicts."""
        end = time.monotonic() + BEGUN
        self.spin(lambda: self.heard["predicted_state"] or time.monotonic() > end)
        if not self.heard["predicted_state"]:
            sys.exit(f"no prediction within {BEGUN} s")

    def processes(self):
        """{name: psutil.Process} of the nodes that are limited."""
        return {
            name: process
            for process in psutil.Process(self.launch.pid).children(recursive=True)
            for name in LIMITED
            if f"__node:={name}" in process.cmdline()
            or any(word.endswith(f"/hexapod_dynamics/{name}") for word in process.cmdline())
        }

    def measure(self, seconds):
        """Hear for `seconds`; return the figures of that time."""
        for kept in self.heard.values():
            kept.clear()
        before = {name: sum(process.cpu_times()[:2]) for name, process in self.processes().items()}
        begin = time.monotonic()
        self.wait(seconds)
        took = time.monotonic() - begin
        shares = {
            name: (sum(process.cpu_times()[:2]) - before[name]) / took
            for name, process in self.processes().items()
            if name in before
        }
        return figures(self.heard, took), shares, complaints(self.heard["/diagnostics"])

    def close(self):
        """End the launch."""
        self.launch.send_signal(2)
        try:
            self.launch.wait(15)
        except subprocess.TimeoutExpired:
            self.launch.kill()
        self.node.destroy_node()


def values_of(kept, node, key):
    """The values of a key in the diagnostics of a node, as numbers."""
    return [
        float(value.value)
        for _, _, message in kept
        for status in message.status
        if status.name == node
        for value in status.values
        if value.key == key
    ]


def complaints(kept):
    """{node: (seconds at each level but ok, messages)} of /diagnostics."""
    found = {}
    for _, _, message in kept:
        for status in message.status:
            level = LEVELS[int.from_bytes(status.level, "little") if isinstance(status.level, bytes) else status.level]
            if level != "ok":
                found.setdefault(status.name, {}).setdefault((level, status.message), 0)
                found[status.name][level, status.message] += 1
    return found


def figures(heard, seconds):
    """{what: number} of what was heard in so many seconds."""
    predicted, imu = heard["predicted_state"], heard["imu/data"]
    read, oldest = {}, []
    for arrival, stamp, message in heard["servos/measurements"]:
        for name in message.name:
            if name in read:
                oldest.append(arrival - read[name])
            read[name] = stamp
    left_out = values_of(heard["/diagnostics"], "dynamics", "predictions left out")
    wanted = values_of(heard["/diagnostics"], "dynamics", "predictions a second")
    delays = np.array([arrival - stamp for arrival, stamp, _ in predicted])
    true_time, true, yaw = track(heard["simulator/odom"])
    guess_time, guess, guess_yaw = track(predicted)
    inside = (guess_time > true_time[0]) & (guess_time < true_time[-1])
    there = np.column_stack([np.interp(guess_time[inside], true_time, column) for column in true.T])
    error = guess[inside] - there
    way = true[-1, :2] - true[0, :2]
    return {
        "predictions a second": len(predicted) / seconds,
        "predictions a second that are wanted": wanted[-1] if wanted else np.nan,
        "predictions left out": left_out[-1] - left_out[0] if left_out else np.nan,
        "arrive more than 20 ms after their time": int(np.count_nonzero(delays > 0.02)),
        "median time from a prediction's stamp to its arrival [ms]": 1e3 * float(np.median(delays)),
        "oldest servo reading, worst [s]": max(oldest, default=np.nan),
        "servo readings a second": len(heard["servos/measurements"]) / seconds,
        "IMU samples a second": len(imu) / seconds,
        "greatest gap between IMU samples [ms]": 1e3 * float(np.max(np.diff([stamp for _, stamp, _ in imu]))),
        "greatest gap between states of the simulated world [ms]": 1e3 * float(np.max(np.diff(true_time))),
        "speed of walking [cm/s]": 100.0 * float(np.linalg.norm(way)) / (true_time[-1] - true_time[0]),
        "change of heading [deg]": float(np.degrees(yaw[-1] - yaw[0])),
        "prediction off by at most, position [cm]": 100.0 * float(np.linalg.norm(error - error[0], axis=1).max()),
        "prediction off by at most, yaw [deg]": float(
            np.degrees(np.abs(guess_yaw[inside] - np.interp(guess_time[inside], true_time, yaw)).max())
        ),
    }


def track(kept):
    """Times (T,), positions (T, 3) and unwrapped yaw (T,) of odometry messages."""
    poses = [message.pose.pose for _, _, message in kept]
    turns = [(o.x, o.y, o.z, o.w) for o in (pose.orientation for pose in poses)]
    return (
        np.array([stamp for _, stamp, _ in kept]),
        np.array([[p.x, p.y, p.z] for p in (pose.position for pose in poses)]),
        np.unwrap([euler_zyx(rotation_from_quaternion(turn))[0] for turn in turns]),
    )


def compare(share, seconds, arguments=()):
    """Print the figures without the limit and with it."""
    os.environ.setdefault("ROS_LOCALHOST_ONLY", "1")
    rclpy.init()
    watch, limit = Watch(arguments), None
    try:
        watch.begin()
        watch.wait(SETTLED)
        free, free_shares, free_complaints = watch.measure(seconds)
        limit = CpuLimit({name: process.pid for name, process in watch.processes().items()}, share)
        watch.wait(SETTLED)
        tight, shares, tight_complaints = watch.measure(seconds)
    finally:
        watch.close()
        if limit is not None:
            limit.close()
        rclpy.try_shutdown()
    print(
        f"each process limited to {share:.3f} of a core: 1 ms in every {1e3 * limit.period:.1f} ms; {seconds:g} s each"
    )
    print(f"{'':58s} {'free':>9s} {'limited':>9s}")
    for what, number in free.items():
        print(f"{what:58s} {number:9.2f} {tight[what]:9.2f}")
    for name, used in free_shares.items():
        print(f"{'of a core: ' + name:58s} {100 * used:7.1f} % {100 * shares.get(name, np.nan):7.1f} %")
    for label, found in (("free", free_complaints), ("limited", tight_complaints)):
        print(f"diagnostics that are not ok, {label}: {'' if found else 'none'}")
        for name, told in found.items():
            for (level, message), count in sorted(told.items(), key=lambda each: -each[1])[:5]:
                print(f"  {name}, {level}, {count} times: {message}")


def main():
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.167, help="of one core, for each process")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the robot is watched, each time")
    parser.add_argument("launch", nargs="*", help="arguments of the launch file, as gait:=tripod")
    given = parser.parse_args()
    compare(given.share, given.seconds, given.launch)


if __name__ == "__main__":
    main()
