"""A node that publishes, serves and logs until it is told to end; says how it ended. Plain rclpy.

Arguments, before --ros-args: `spin` (default), `executor` (a multi-threaded one), `thread` (spins in a thread),
`forgetful` (neither destroys the node nor shuts down).
"""

import sys
import threading

import rclpy
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


def build():
    node = rclpy.create_node("talker", namespace="/ns")
    limits = FloatingPointRange(from_value=0.0, to_value=2.0)
    node.declare_parameter("gain", 1.5, ParameterDescriptor(description="how much", floating_point_range=[limits]))
    node.declare_parameter("legs.RM", True)
    node.declare_parameter("names", ["a", "b"])
    words = node.create_publisher(String, "words", 10)
    joints = node.create_publisher(JointState, "joints", BEST_EFFORT)
    node.create_publisher(String, "kept", LATCHED).publish(String(data="kept for you"))
    node.create_subscription(String, "heard", lambda message: words.publish(String(data=f"heard {message.data}")), 10)

    def answer(request, response):
        response.success, response.message = request.data, node.get_name()
        return response

    node.create_service(SetBool, "~/switch", answer)

    def tick():
        words.publish(String(data="tick"))
        message = JointState(name=["knee", "hip"], position=[0.5, -0.5])
        message.header.stamp = node.get_clock().now().to_msg()
        joints.publish(message)

    node.create_timer(0.05, tick)
    return node


def spin(node, how):
    if how == "executor":
        executor = MultiThreadedExecutor(2)
        executor.add_node(node)
        executor.spin()
    elif how == "thread":
        spinner = threading.Thread(target=lambda: spin(node, "spin"), daemon=True)
        spinner.start()
        spinner.join()
    else:
        rclpy.spin(node)


def main():
    rclpy.init()
    how = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "spin"
    node = build()
    try:
        print("ready", flush=True)
        spin(node, how)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    except ExternalShutdownException:
        print("shut down", flush=True)
    finally:
        if how != "forgetful":
            node.destroy_node()
            rclpy.try_shutdown()


if __name__ == "__main__":
    main()
