"""Turns cmd_vel into joint commands, 50 times a second; walks with the legs that are there."""

import math
import time

from geometry_msgs.msg import Twist
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.nodes.common import LATCHED, Diagnostics, declare, load_robot, run
from hexapod_dynamics.nodes.morphology import values_of
from hexapod_dynamics.robot import Morphology
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from sensor_msgs.msg import JointState


class GaitNode(Node):
    """Publishes `joint_commands` for the joints that exist and move; hears `cmd_vel` and `morphology`."""

    def __init__(self):
        super().__init__('gait')
        self.robot = load_robot(self)
        kind = declare(self, 'gait', 'tripod', 'how legs walk: tripod, or optimal (tripod with swings of least effort)',
                       read_only=True)
        if kind not in ('tripod', 'optimal'):
            raise HexapodError(f"parameter gait is {kind!r}: allowed is 'tripod' or 'optimal'")
        settings = {
            'step_length': (0.05, 'stroke of a foot at the nominal speed [m]', 0.0, 0.2),
            'step_height': (0.012, 'lift of the swinging foot [m]', 0.0, 0.1),
            'step_depth': (0.0001, 'how far standing feet push into the ground [m]', 0.0, 0.02),
            'period': (1.3, 'time of a whole cycle [s]', 0.2, 10.0),
            'body_height': (0.12, 'height of the hips over the feet [m]', 0.02, 0.5),
            'response_time': (0.2, 'how softly speed follows a command [s]', 0.01, 5.0),
        }
        values = {name: declare(self, name, default, text, low=low, high=high, read_only=True)
                  for name, (default, text, low, high) in settings.items()}
        self.period = 1.0 / declare(self, 'rate', 50.0, 'joint commands a second', low=10.0, high=100.0, read_only=True)
        self.timeout = declare(self, 'cmd_vel_timeout', 1.0, 'a cmd_vel older than this stops the walk [s]', low=0.1,
                               high=60.0, read_only=True)
        velocity = declare(self, 'velocity', 0.0, 'forward speed [m/s] until the first cmd_vel is heard', low=-1.0,
                           high=1.0, read_only=True)
        self._waits_for = declare(self, 'wait_for', [''], 'topics that somebody must publish before the first step by '
                                  'itself, so that the prediction starts with the robot at rest', read_only=True)
        if kind == 'optimal':
            from hexapod_dynamics.gait.optimal import Background, OptimalGait
            self.gait = OptimalGait(planner=Background(), **values)
        else:
            self.gait = TripodGait(**values)
        self.gait.bind(self.robot)
        self._default = self.gait.scaled(velocity, 0.0, 0.0)
        self._heard = None                          # time of the last cmd_vel, once there was one
        self._started = time.monotonic()
        self._released = None                       # time at which everything waited for was there
        self._ticks = 0
        self._refusals = 0
        self._last_refusal = ''
        self._message = JointState(name=list(self.robot.joint_names))
        self._moving = list(range(self.robot.joint_count))
        self._publisher = self.create_publisher(JointState, 'joint_commands', 10)
        self.create_subscription(Twist, 'cmd_vel', self._on_cmd_vel, 10)
        self.create_subscription(ParameterEvent, 'morphology', self._on_morphology, LATCHED)
        self._diagnostics = Diagnostics(self, self.robot.name, self._look)
        self.create_timer(self.period, self._tick)

    def _on_cmd_vel(self, message):
        try:
            self.gait.command(message.linear.x, message.linear.y, message.angular.z)
        except HexapodError as error:
            self._refuse(error)
            return
        self._heard = time.monotonic()

    def _on_morphology(self, message):
        angles = dict(zip(self.robot.joint_names, self.gait.position.tolist(), strict=True))
        try:
            morphology = Morphology.from_parameters(self.robot, values_of(message.new_parameters), angles)
        except HexapodError as error:
            self._refuse(error)
            return
        self.gait.set_morphology(morphology)
        self._moving = morphology.moving_mask.nonzero()[0].tolist()
        self._message.name = [self.robot.joint_names[j] for j in self._moving]

    def _refuse(self, error):
        self._refusals += 1
        self._last_refusal = str(error)
        self.get_logger().warning(str(error), throttle_duration_sec=5.0)

    def _tick(self):
        now = time.monotonic()
        due = round((now - self._started) / self.period) - self._ticks
        if due <= 0:                                # called early: the grid of command times stays even
            return
        self._ticks += due
        self._choose_speed(now)
        # A stall is not caught up: legs would leap.
        position, velocity = self.gait.step(min(due * self.period, 0.25 * self.gait.period))
        message = self._message
        message.header.stamp = self.get_clock().now().to_msg()
        message.position = position[self._moving].tolist()
        message.velocity = velocity[self._moving].tolist()
        self._publisher.publish(message)

    def _choose_speed(self, now):
        if self._heard is not None:
            if now - self._heard > self.timeout:
                self.gait.command(0.0, 0.0, 0.0)
        elif self._released is None:
            if all(self.count_publishers(topic) for topic in self._waits_for if topic):
                self._released = now
        elif now - self._released > 1.0:
            self.gait.command(*self._default)

    def _look(self):
        vx, vy, wz = self.gait.twist
        values = {'walking': self.gait.walking, 'forward [m/s]': vx, 'left [m/s]': vy, 'turn [deg/s]': math.degrees(wz),
                  'refused messages': self._refusals, 'last refusal': self._last_refusal}
        unplanned = getattr(self.gait, 'refused', ())
        if unplanned:
            values['swings without a plan'] = '; '.join(unplanned)
        if self._refusals:
            return 'warn', f'refused {self._refusals} messages, the last: {self._last_refusal}', values
        return 'ok', 'walking' if self.gait.walking else 'standing', values

    def destroy_node(self):
        """End what plans swings in the background."""
        if hasattr(self.gait, 'planner'):
            self.gait.planner.cancel()
        super().destroy_node()


def main(args=None):
    """Run the node."""
    run(GaitNode, args)


if __name__ == '__main__':
    main()
