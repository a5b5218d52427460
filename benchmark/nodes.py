"""What the running robot costs and how well it is predicted: one tick of `dynamics` part by part, then the launch file.

    ./with_ros2 python3 benchmark/nodes.py [--seconds 20] [--slow 6]

First, without ROS: the parts of a 100 Hz prediction, warm, median and 99th percentile, beside the 10 ms that are there;
--slow multiplies them for a computer that many times slower (a Jetson Nano's core). Then walk.launch.py: the share of a
core of each node, first while nobody else subscribes to anything fast, then while this program does; rates, delays from
a message's stamp to its arrival, prediction against truth.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import results

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.estimation.observer import Observer, ObserverSettings
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = ("imu", "servos", "gait", "dynamics", "damage_manager")  # without these a robot does not walk
NODES = ("imu", "servos", "gait", "dynamics", "companions", "simulator", "ros2 launch")


def timed(samples, name, function, *arguments):
    """Call a function, note what it took, return what it returns."""
    begin = time.perf_counter()
    result = function(*arguments)
    samples.setdefault(name, []).append(time.perf_counter() - begin)
    return result


def ticks(count=2000):
    """Time the parts of so many predictions of a walking robot; {part: seconds of each}."""
    robot, samples = Robot.jethexa(), {}
    gait, observer, forward = TripodGait().bind(robot), Observer(robot, ObserverSettings(patience=0.0)), None
    forward = Feedforward(robot)
    gait.walk()
    morphologies = [Morphology.whole(robot), Morphology.whole(robot).without("RM", "LM")]
    observer.measure_joints(0.0, gait.position)
    observer.advance(0.0)
    for k in range(count):
        t = 0.01 * k
        if k % 2 == 0:
            position, rates = gait.step(0.02)
            timed(samples, "a command heard (50 Hz)", observer.command, t, position, rates)
            timed(samples, "joints heard (50 Hz)", observer.measure_joints, t, position)
        timed(samples, "an attitude heard", observer.measure_attitude, t, observer.rotation.copy())
        felt = (0.01 * k % 0.3, 0.0, robot.gravity), (0.0, 0.01, 0.0)
        timed(samples, "acceleration and rate heard", observer.measure_motion, t, *felt)
        timed(samples, "state: 10 steps of 1 ms", observer.advance, t + 0.01)
        timed(
            samples,
            "torques: inverse dynamics, foot forces",
            forward.solve,
            observer.rotation,
            observer.position[2],
            observer.nu[:6],
            observer.commands.commanded,
            observer.commands.commanded_rate,
            np.zeros(18),
            observer.q,
        )
        timed(samples, "path: 0.5 s ahead in steps of 5 ms", observer.predict_path, t + 0.01)
        if k % 100 == 50:
            timed(samples, "a change of morphology", observer.set_morphology, morphologies[(k // 100) % 2])
            forward.set_morphology(observer.morphology)
    return {name: np.array(values[len(values) // 5 :]) for name, values in samples.items()}


def print_ticks(slow, file):
    """Print the table of parts, and their sum as a share of the period."""
    print(f"{'part of a prediction':42s} {'median':>9s} {'99 %':>9s} {f'x {slow:g}':>9s}")
    samples = ticks()
    for name, values in samples.items():
        median, worst = 1e3 * np.median(values), 1e3 * np.percentile(values, 99)
        print(f"{name:42s} {median:6.3f} ms {worst:6.3f} ms {slow * median:6.2f} ms")
    state = [name for name in samples if name.startswith(("state", "torques", "an attitude"))]
    path = [name for name in samples if name.startswith("path")]
    results.record(file, "parts", state_ms=1e3 * sum(np.median(samples[name]) for name in state))
    for label, parts in (("state and torques", state), ("with the path", state + path)):
        total = 1e3 * sum(np.median(samples[name]) for name in parts)
        print(f"{label:42s} {total:6.3f} ms {'':12s} {slow * total:6.2f} ms of 10 ms")


def seconds_of(process, thread=None):
    """Processor time [s] of a process; of its threads with this name (15 characters at most), if one is given."""
    if thread is None:
        return sum(process.cpu_times()[:2])
    return sum(
        each.user_time + each.system_time
        for each in process.threads()
        if Path(f"/proc/{process.pid}/task/{each.id}/comm").read_text().strip() == thread[:15]
    )


def node_processes(launch):
    """{name: psutil.Process} of a launch, in the order of NODES."""
    children = psutil.Process(launch.pid).children(recursive=True)
    found = {
        name: process
        for name in NODES
        for process in children
        if f"__node:={name}" in process.cmdline()
        or any(word.endswith(f"/hexapod_dynamics/{name}") for word in process.cmdline())
    }
    return found | {"ros2 launch": psutil.Process(launch.pid)}


def shares(processes, wait, seconds):
    """Shares of a core [%] of the processes and of damage_manager's thread, while wait(seconds) lasts."""

    def now():
        used = {name: seconds_of(process) for name, process in processes.items()}
        return used | {ROBOT[4]: seconds_of(processes["companions"], ROBOT[4])}

    before, begin = now(), time.monotonic()
    wait(seconds)
    after, took = now(), time.monotonic() - begin
    return {name: 100.0 * (after[name] - before[name]) / took for name in after}


def print_shares(alone, watched, processes, file):
    """Print both tables of `shares`, with each process's memory."""
    print(f"\n{'share of a core':16s} {'alone':>9s} {'watched':>9s} {'PSS':>9s}")
    memory = {name: process.memory_full_info().pss / 2**20 for name, process in processes.items()}
    for name in processes:
        print(f"{name:16s} {alone[name]:7.1f} % {watched[name]:7.1f} % {memory[name]:5.0f} MiB")
    sums = [sum(table[name] for name in processes) for table in (alone, watched)]
    print(f"{'all':16s} {sums[0]:7.1f} % {sums[1]:7.1f} % {sum(memory.values()):5.0f} MiB")
    of_robot = sum(memory.values()) - memory["simulator"]
    results.record(file, "launch", memory=sum(memory.values()), memory_of_robot=of_robot, shares=alone)
    five = [sum(table[name] for name in ROBOT) for table in (alone, watched)]
    print(f"{'the five nodes':16s} {five[0]:7.1f} % {five[1]:7.1f} %    {', '.join(ROBOT[:4])}, and of companions")
    print(f"{'':16s} {alone[ROBOT[4]]:7.1f} % {watched[ROBOT[4]]:7.1f} %    {ROBOT[4]}")


def launched(seconds, file):
    """Launch, let it walk, print shares of a core, rates, delays and the prediction's error."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion
    from nav_msgs.msg import Odometry
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import Imu, JointState

    rclpy.init()
    node, heard, predicting = rclpy.create_node("benchmark_nodes"), {}, []

    def hear(kind, topic):
        kept = heard[topic] = []

        def take(message):
            now = node.get_clock().now().nanoseconds * 1e-9
            kept.append((now, message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec, message))

        node.create_subscription(kind, topic, take, qos_profile_sensor_data)

    def read(message):
        predicting.extend(s for s in message.status if s.name == "dynamics" and s.message == "predicting")

    node.create_subscription(DiagnosticArray, "/diagnostics", read, 10)
    launch = subprocess.Popen(
        ["ros2", "launch", "hexapod_dynamics", "walk.launch.py"], stdout=subprocess.DEVNULL, start_new_session=True
    )

    def spin(until):
        while not until():
            rclpy.spin_once(node, timeout_sec=0.1)
            if launch.poll() is not None:
                sys.exit("the launch file has ended by itself: run it by hand to see why")

    def wait(duration):
        end = time.monotonic() + duration
        spin(lambda: time.monotonic() > end)

    try:
        begin = time.monotonic()
        spin(lambda: predicting or time.monotonic() - begin > 180)
        wait(5.0)
        processes = node_processes(launch)
        alone = shares(processes, wait, seconds)
        hear(Odometry, "simulator/odom")
        hear(Odometry, "predicted_state")
        for topic in ("joint_commands", "joint_states", "feedforward_torques"):
            hear(JointState, topic)
        hear(Imu, "imu/data")
        wait(3.0)
        for kept in heard.values():
            kept.clear()
        watched = shares(processes, wait, seconds)
        print_shares(alone, watched, processes, file)
        print(f"\n{'topic':22s} {'a second':>9s} {'stamp to arrival, median and 99 %':>34s}")
        for topic, kept in heard.items():
            delays = 1e3 * np.array([arrival - stamp for arrival, stamp, _ in kept])
            middle, worst = np.median(delays), np.percentile(delays, 99)
            print(f"{topic:22s} {len(kept) / seconds:9.1f} {middle:24.2f} ms {worst:6.1f} ms")
    finally:
        launch.send_signal(2)
        launch.wait(10)
        node.destroy_node()
        rclpy.try_shutdown()

    def track(topic):
        poses = [m.pose.pose for _, _, m in heard[topic]]
        rotations = [rotation_from_quaternion((o.x, o.y, o.z, o.w)) for o in (pose.orientation for pose in poses)]
        return (
            np.array([stamp for _, stamp, _ in heard[topic]]),
            np.array(
                [
                    [*(p.x, p.y, p.z), *euler_zyx(r)]
                    for p, r in zip((pose.position for pose in poses), rotations, strict=True)
                ]
            ),
        )

    true_time, true = track("simulator/odom")
    time_, predicted = track("predicted_state")
    inside = (time_ > true_time[0]) & (time_ < true_time[-1])
    gap = np.column_stack([np.interp(time_[inside], true_time, c) for c in true.T]) - predicted[inside]
    speed = 100 * (true[-1, 0] - true[0, 0]) / (true_time[-1] - true_time[0])
    yaw, pitch, roll = np.degrees(np.abs(gap[:, 3:]).max(axis=0))
    print(
        f"\nspeed {speed:.2f} cm/s; in {seconds:g} s the prediction was off by at most "
        f"{100 * np.linalg.norm(gap[:, :3], axis=1).max():.2f} cm and yaw {yaw:.2f}, pitch {pitch:.2f}, "
        f"roll {roll:.2f} degrees"
    )


def main():
    """Run both parts."""
    parser = results.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the launched robot is watched")
    parser.add_argument("--slow", type=float, default=6.0, help="how many times slower the other computer is")
    parser.add_argument("--no-launch", action="store_true", help="the parts of a prediction only")
    given = parser.parse_args()
    os.environ.setdefault("ROS_LOCALHOST_ONLY", "1")
    print_ticks(given.slow, given.json)
    if not given.no_launch:
        launched(given.seconds, given.json)


if __name__ == "__main__":
    main()
