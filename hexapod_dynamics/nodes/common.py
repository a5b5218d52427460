"""What every node does alike: start and stop, parameters with descriptions, diagnostics, latched topics."""

import gc
import math
import os
import sys
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.nodes import start
from hexapod_dynamics.robot import Robot
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

LATCHED = QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)
LEVELS = {'ok': DiagnosticStatus.OK, 'warn': DiagnosticStatus.WARN, 'error': DiagnosticStatus.ERROR,
          'stale': DiagnosticStatus.STALE}


def run(node_class, args=None):
    """Start a node, spin it, and leave cleanly on SIGINT and SIGTERM; a refused parameter ends it with its reason."""
    start.hear_signals()
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    status = 0
    try:
        node = node_class()
    except HexapodError as error:
        rclpy.logging.get_logger(node_class.__name__).fatal(str(error))
        status = 1
        # A launch file that starts nodes again and again is to say this now and then, not all the time.
        time.sleep(float(os.environ.get('HEXAPOD_REFUSED_PAUSE', '0')))
    else:
        start.running()
        # What is alive now stays alive: else the collector looks at all of it again and again, and stops every thread
        # for 70 ms (0.4 s on a Jetson Nano).
        gc.collect()
        gc.freeze()
        try:
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            while rclpy.ok() and not start.stopping():
                executor.spin_once(timeout_sec=0.2)         # a signal is noted when the wait is over
            if start.left_behind():
                node.get_logger().warning('the launch process has gone: this node ends too')
        finally:
            if hasattr(node, 'close'):
                node.close()
            node.destroy_node()
    rclpy.try_shutdown()
    # All is closed. Python would now take the objects of numba, casadi and LLVM down one by one: 0.5 s of CPU a node,
    # 2 s for the launch file, which is to end at once.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def declare(node, name, default, description, *, low=None, high=None, read_only=False):
    """Declare a parameter with its description and, for numbers, its range; return its value.

    Every parameter is read once at start unless the node says otherwise, hence `read_only`.
    """
    descriptor = ParameterDescriptor(description=description, read_only=read_only)
    if isinstance(default, bool):
        pass
    elif isinstance(default, int) and low is not None:
        descriptor.integer_range = [IntegerRange(from_value=low, to_value=high, step=0)]
    elif isinstance(default, float) and low is not None:
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high, step=0.0)]
    return node.declare_parameter(name, default, descriptor).value


def load_robot(node):
    """Declare the parameter `robot` and load what it names; empty: the JetHexa that comes with the package."""
    path = declare(node, 'robot', '', "the robot's YAML file; empty: the JetHexa that comes with the package",
                   read_only=True)
    return Robot.load(path) if path else Robot.jethexa()


def stamp_seconds(stamp):
    """Return a builtin_interfaces/Time as seconds (float; a microsecond is kept until the year 2100)."""
    return stamp.sec + 1e-9 * stamp.nanosec


def text_of(value):
    """Write a diagnostic value: floats short, the rest as it is."""
    return f'{value:.6g}' if isinstance(value, float) and math.isfinite(value) else str(value)


class Diagnostics:
    """Publishes one status a second on /diagnostics under the node's name; worst of what was reported since.

    `look` is called at each period and returns (level, message, {key: value}), level one of ok, warn, error, stale.
    """

    def __init__(self, node, hardware_id, look, period=1.0):
        self._node, self._look = node, look
        self._status = DiagnosticStatus(name=node.get_fully_qualified_name().lstrip('/'), hardware_id=hardware_id)
        self._array = DiagnosticArray(status=[self._status])
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._timer = node.create_timer(period, self.publish)

    def publish(self):
        """Look and publish now."""
        level, message, values = self._look()
        self._status.level, self._status.message = LEVELS[level], message
        self._status.values = [KeyValue(key=key, value=text_of(value)) for key, value in values.items()]
        self._array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(self._array)
