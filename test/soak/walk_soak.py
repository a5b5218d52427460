"""A long walk of the launched robot with random faults of its devices; prints what grows, what is lost and what heals.

    ./with_ros2 python test/soak/walk_soak.py --minutes 60

Every 10 to 20 seconds one or two faults come for 2 to 6 s (by the simulator's parameters). Each minute a line: memory,
threads and descriptors of every node, and where a fault's end was not followed by fresh joint_states and imu/data
within 2 s. At the end the table for the documents. (Memory goes up and down by 1 MiB: a DDS receive buffer that fills
and is given back.)
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil

import rclpy
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState

NODES = ("simulator", "imu", "servos", "gait", "dynamics", "companions")
FAULTS = {
    "bus.drop_rate": (0.01, 0.0),
    "bus.flip_rate": (0.005, 0.0),
    "bus.insert_rate": (0.01, 0.0),
    "bus.late_rate": (0.3, 0.0),
    "bus.echo": (True, False),
    "bus.unplugged": (True, False),
    "servo.silent": ("femur_joint_RM", ""),
    "servo.duplicate": ("coxa_joint_LF tibia_joint_RF", ""),
    "servo.hot": ("tibia_joint_LR", ""),
    "imu.error_rate": (0.05, 0.0),
    "imu.locked": (True, False),
    "imu.absent": (True, False),
    "imu.brown_out": (True, False),
    "imu.shake": (20.0, 0.0),
    "imu.drift": (1e-4, 0.0),
}


class Watch:
    """Hears the robot and sets faults."""

    def __init__(self):
        rclpy.init()
        self.node = rclpy.create_node("soak")
        self.last, self.counts = {}, {}
        newest = qos_profile_sensor_data
        for topic, kind in (
            ("joint_states", JointState),
            ("imu/data", Imu),
            ("predicted_state", Odometry),
            ("simulator/odom", Odometry),
        ):
            self.node.create_subscription(kind, topic, lambda message, topic=topic: self._heard(topic, message), newest)
        self._client = self.node.create_client(SetParametersAtomically, "simulator/set_parameters_atomically")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass

    def close(self):
        """End the listening."""
        self._executor.shutdown()
        self._thread.join(5.0)
        self.node.destroy_node()
        rclpy.try_shutdown()

    def _heard(self, topic, message):
        self.last[topic] = time.monotonic(), message
        self.counts[topic] = self.counts.get(topic, 0) + 1

    def set(self, values):
        """Set faults of the simulator; False when it does not answer."""
        request = SetParametersAtomically.Request()
        request.parameters = [
            Parameter(f"faults.{name}", value=value).to_parameter_msg() for name, value in values.items()
        ]
        future = self._client.call_async(request)
        end = time.monotonic() + 5.0
        while not future.done() and time.monotonic() < end:
            time.sleep(0.02)
        return future.done() and future.result().result.successful

    def fresh(self):
        """All joints and the IMU are measured now."""
        now = time.monotonic()
        joints, imu = self.last.get("joint_states"), self.last.get("imu/data")
        return bool(joints and imu and now - joints[0] < 0.2 and len(joints[1].name) == 18 and now - imu[0] < 0.2)


def processes(launch):
    """The nodes' processes by name."""
    found = {}
    for process in psutil.Process(launch.pid).children(recursive=True):
        line = " ".join(process.cmdline())
        for name in NODES:
            if f"__node:={name}" in line or f"/{name} " in line:
                found[name] = process
    return found


def sample(found):
    """Memory of its own [MiB] (file pages come and go with what the machine does), threads, descriptors by node."""
    return {name: (p.memory_full_info().uss / 2**20, p.num_threads(), p.num_fds()) for name, p in found.items()}


def main():
    """Walk, disturb, watch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    launch = subprocess.Popen(
        ["ros2", "launch", "hexapod_dynamics", "walk.launch.py", "status:=false"],
        start_new_session=True,
        # A script's background jobs ignore SIGINT, and a launch that inherits that never ends.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    watch = Watch()
    try:
        begin = time.monotonic()
        while not watch.fresh():
            if time.monotonic() - begin > 180.0 or launch.poll() is not None:
                sys.exit("the robot does not come up")
            time.sleep(0.2)
        time.sleep(20.0)
        found, faults, recoveries, rows = processes(launch), 0, [], []
        pids = {name: process.pid for name, process in found.items()}
        begin = minute = time.monotonic()
        cpu = {name: sum(p.cpu_times()[:2]) for name, p in found.items()}
        rows.append(sample(found))
        try:
            while time.monotonic() - begin < 60.0 * options.minutes:
                time.sleep(chance.uniform(5.0, 12.0))
                names = chance.sample(sorted(FAULTS), chance.choice((1, 1, 2)))
                if not watch.set({name: FAULTS[name][0] for name in names}):
                    print("the simulator did not take the faults", names, flush=True)
                time.sleep(chance.uniform(2.0, 6.0))
                watch.set({name: FAULTS[name][1] for name in names})
                ended = time.monotonic()
                while not watch.fresh() and time.monotonic() - ended < 15.0:
                    time.sleep(0.02)
                recoveries.append(time.monotonic() - ended)
                faults += len(names)
                if recoveries[-1] > 2.0:
                    print(f"{recoveries[-1]:.1f} s until all was measured again after {names}", flush=True)
                if time.monotonic() - minute > 60.0:
                    minute = time.monotonic()
                    rows.append(sample(found))
                    x = watch.last["simulator/odom"][1].pose.pose.position
                    state = ", ".join(
                        f"{name} {memory:.1f} MiB {threads} threads {files} files"
                        for name, (memory, threads, files) in rows[-1].items()
                    )
                    print(
                        f"{(minute - begin) / 60:5.1f} min, {faults} faults; {state}; at {x.x:.2f} {x.y:.2f} m",
                        flush=True,
                    )
        except KeyboardInterrupt:
            print("broken off")
        took = time.monotonic() - begin
        rows.append(sample(found))
        print(
            f"\n{took / 60:.0f} minutes, {faults} faults; all measured again after a median of "
            f"{np.median(recoveries):.2f} s, at most {np.max(recoveries):.2f} s\n\n"
            "| node | memory [MiB], first and last quarter | threads | descriptors | processor [%] | restarted |\n"
            "|---|---|---|---|---|---|"
        )
        now = processes(launch)
        for name in NODES:
            if name not in now or now[name].pid != pids[name]:
                print(f"| {name} | | | | | yes |")
                continue
            memory = np.array([row[name][0] for row in rows])
            quarter = max(2, len(memory) // 4)
            first, last = memory[:quarter], memory[-quarter:]
            used = (sum(now[name].cpu_times()[:2]) - cpu[name]) / took
            print(
                f"| {name} | {first.min():.1f} to {first.max():.1f}, {last.min():.1f} to {last.max():.1f} | "
                f"{rows[0][name][1]} -> {rows[-1][name][1]} | {rows[0][name][2]} -> {rows[-1][name][2]} | "
                f"{100 * used:.1f} | no |"
            )
    finally:
        os.killpg(launch.pid, signal.SIGINT)
        launch.wait(20)
        watch.close()


if __name__ == "__main__":
    main()
