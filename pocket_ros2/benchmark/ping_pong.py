"""Cost per message and latency of pocket ROS 2, and side by side of a real one.

    python benchmark/ping_pong.py [--messages 500] [--repetitions 2]
    REAL_ROS2_SETUP=/opt/ros/humble/setup.bash python benchmark/ping_pong.py

Two processes on this machine, a 100 Hz timer in `ping`, which `pong` answers by deserialising and publishing again.
CPU is the processes' own (all threads, DDS's included). Repetitions of the stacks are interleaved.
"""

import argparse
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NODE = HERE / "ping_pong_node.py"
SOURCE = HERE.parent / "src"


def start(stack, *arguments):
    """Start one side of the ping-pong on a stack."""
    environment = {**os.environ, "ROS_LOCALHOST_ONLY": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    words = [str(NODE), *map(str, arguments)]
    if stack == "pocket":
        environment["PYTHONPATH"] = str(SOURCE)
        for name in ("AMENT_PREFIX_PATH", "ROS_DISTRO"):
            environment.pop(name, None)
        command = [sys.executable, *words]
    else:
        environment.pop("PYTHONPATH", None)
        setup = shlex.quote(os.environ["REAL_ROS2_SETUP"])
        command = ["bash", "-c", f"source {setup} && exec python3 {shlex.join(words)}"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def measure(ping, pong, case, messages):
    """Return round-trip times in ms and CPU in us per message of both sides."""
    answering = start(pong, "pong", case, messages)
    asking = start(ping, "ping", case, messages)
    asked = json.loads(asking.communicate(timeout=120)[0])
    answering.send_signal(signal.SIGINT)
    answered = json.loads(answering.communicate(timeout=20)[0] or '{"cpu": NaN, "messages": 1}')
    times = sorted(1e3 * t for t in asked["times"])
    return {
        "median": statistics.median(times),
        "p99": times[int(0.99 * (len(times) - 1))],
        "ping": 1e6 * asked["cpu"] / messages,
        "pong": 1e6 * answered["cpu"] / messages,
    }


def main():
    """Run all combinations of the stacks there are and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=2)
    options = parser.parse_args()
    stacks = ["pocket"]
    if os.environ.get("REAL_ROS2_SETUP"):
        stacks.append("real")
    else:
        print("REAL_ROS2_SETUP is not set (the setup file of a real ROS 2): pocket ROS 2 alone")
    print("case            ping    pong   RTT median   p99 ms    CPU ping pong us/message")
    for case in ("joint_state", "imu"):
        for _ in range(options.repetitions):
            for ping in stacks:
                for pong in stacks:
                    r = measure(ping, pong, case, options.messages)
                    print(
                        f"{case:12} {ping:>7} {pong:>7}   {r['median']:10.3f} {r['p99']:8.3f}   "
                        f"{r['ping']:9.0f} {r['pong']:15.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
