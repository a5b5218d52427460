"""A node with a bit of everything for the command `ros2` to look at; runs on any rclpy."""

import contextlib
import math

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry, Path
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String, UInt8MultiArray
from std_srvs.srv import SetBool, Trigger

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Everything(Node):
    """Publishes at 20 Hz, latches one text, serves two services, has parameters of all types."""

    def __init__(self):
        super().__init__("everything", namespace="/ns")
        floats = [FloatingPointRange(from_value=0.0, to_value=10.0, step=0.5)]
        integers = [IntegerRange(from_value=0, to_value=10, step=1)]
        for name, value, descriptor in (
            ("gain", 1.5, {"description": "a gain", "floating_point_range": floats}),
            ("count", 3, {"integer_range": integers, "additional_constraints": "odd only"}),
            ("fixed", 7, {"read_only": True}),
            ("any", 7, {"dynamic_typing": True}),
            ("name", "some text", {}),
            ("flag", True, {}),
            ("many.i", [1, 2, 3], {}),
            ("many.d", [1.0, 2.5], {}),
            ("many.s", ["a", "b c"], {}),
            ("many.b", [True, False], {}),
            ("many.y", [b"\x01", b"\x02"], {}),
        ):
            self.declare_parameter(name, value, ParameterDescriptor(**descriptor))
        self.add_on_set_parameters_callback(self.judge)
        self.text = self.create_publisher(String, "text", 10)
        self.hidden = self.create_publisher(String, "_hidden", 10)
        self.feedback = self.create_publisher(String, "walk/_action/feedback", 10)  # an action is known by it
        self.odometry = self.create_publisher(Odometry, "odometry", 10)
        self.joints = self.create_publisher(JointState, "joints", qos_profile_sensor_data)
        self.diagnostics = self.create_publisher(DiagnosticArray, "diagnostics", 10)
        self.path = self.create_publisher(Path, "path", 10)
        self.octets = self.create_publisher(UInt8MultiArray, "octets", 10)
        self.latched = self.create_publisher(String, "latched", LATCHED)
        self.latched.publish(String(data="stays"))
        self.heard = self.create_publisher(String, "heard", LATCHED)
        self.create_subscription(String, "listen", self.heard.publish, 10)
        self.create_subscription(String, "/elsewhere/listen", lambda message: None, LATCHED)
        self.create_service(SetBool, "switch", self.switch)
        self.create_service(Trigger, "~/trigger", lambda _, response: Trigger.Response(success=True, message="done"))
        self.create_client(Trigger, "/elsewhere/trigger")
        self.create_timer(0.05, self.publish)

    @staticmethod
    def judge(parameters):
        good = all(p.name != "name" or p.value != "bad" for p in parameters)
        return SetParametersResult(successful=good, reason="" if good else "no bad names")

    @staticmethod
    def switch(request, response):
        response.success, response.message = request.data, "switched"
        return response

    def publish(self):
        self.text.publish(String(data='héllo: "w"\nline2' + "x" * 200))
        self.hidden.publish(String(data="h"))
        odometry = Odometry()
        odometry.header.stamp.sec, odometry.header.frame_id = 5, "odom"
        odometry.pose.covariance[3], odometry.twist.twist.linear.x = 2.0, 1e-7
        odometry.pose.pose.position.x, odometry.pose.pose.position.y = math.nan, math.inf
        self.odometry.publish(odometry)
        self.joints.publish(JointState(name=["a", "b"], position=[1.0, 2.0]))
        status = DiagnosticStatus(level=DiagnosticStatus.WARN, name="n", values=[KeyValue(key="k", value="v")])
        self.diagnostics.publish(DiagnosticArray(status=[status]))
        self.path.publish(Path(poses=[PoseStamped(), PoseStamped()]))
        self.octets.publish(UInt8MultiArray(data=[*range(200)]))


if __name__ == "__main__":
    rclpy.init()
    node = Everything()
    print("ready", flush=True)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException, RCLError):  # RCLError: it was publishing
        rclpy.spin(node)
    node.destroy_node()
    rclpy.try_shutdown()
