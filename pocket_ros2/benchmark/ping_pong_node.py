"""One side of the ping-pong, in plain rclpy: `ping` publishes at 100 Hz and times the answers of `pong`.

Prints one JSON object: CPU seconds and messages of this process, and for ping the round-trip times in seconds.
"""

import json
import sys
import time

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState

WARM_UP = 50
NAMES = [f"{part}_joint_{leg}" for leg in ("LF", "LM", "LR", "RR", "RM", "RF") for part in ("coxa", "femur", "tibia")]


def joint_state():
    return JointState(name=NAMES, position=[0.1] * 18, velocity=[0.2] * 18, effort=[0.3] * 18)


CASES = {
    "joint_state": (JointState, joint_state, ReliabilityPolicy.RELIABLE),
    "imu": (Imu, Imu, ReliabilityPolicy.BEST_EFFORT),
}


def pong(node, kind, qos, count):
    answers = node.create_publisher(kind, "pong", qos)
    seen = [0]

    def answer(message):
        seen[0] += 1
        if seen[0] == WARM_UP:
            seen.append(time.process_time())
        answers.publish(message)
        if seen[0] == WARM_UP + count:
            print(json.dumps({"cpu": time.process_time() - seen[1], "messages": count}), flush=True)

    node.create_subscription(kind, "ping", answer, qos)
    rclpy.spin(node)


def ping(node, kind, make, qos, count):
    publisher = node.create_publisher(kind, "ping", qos)
    sent, times, marks = {}, [], []
    done = rclpy.task.Future()

    def send():
        number = len(sent)
        if number == WARM_UP:
            marks.append(time.process_time())
        message = make()
        message.header.stamp.sec = number
        sent[number] = time.perf_counter()
        publisher.publish(message)

    def answered(message):
        arrived = time.perf_counter()
        number = message.header.stamp.sec
        if number >= WARM_UP:
            times.append(arrived - sent[number])
        if number >= WARM_UP + count - 1 and not done.done():
            marks.append(time.process_time())
            done.set_result(None)

    node.create_subscription(kind, "pong", answered, qos)
    while not (publisher.get_subscription_count() and node.count_publishers("pong")):
        time.sleep(0.05)
    time.sleep(0.5)
    node.create_timer(0.01, send)
    rclpy.spin_until_future_complete(node, done, timeout_sec=count * 0.01 + 20)
    print(json.dumps({"cpu": marks[1] - marks[0], "messages": count, "times": times}), flush=True)


def main():
    side, case, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    kind, make, reliability = CASES[case]
    qos = QoSProfile(depth=10, reliability=reliability)
    rclpy.init(args=[])
    node = rclpy.create_node(side)
    try:
        if side == "pong":
            pong(node, kind, qos, count)
        else:
            ping(node, kind, make, qos, count)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    import rclpy.executors

    main()
