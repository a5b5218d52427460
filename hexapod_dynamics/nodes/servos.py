"""Moves and reads the bus servos: joint_commands in, measured joint_states out; holds the pose when commands stop.

`joint_states` has all joints that answer, stamped with the newest measurement; because the bus reads them one after
another, `~/measurements` has in each message only the joints read since the one before, stamped with their own time:
what a filter should use. How old the oldest one is stands in /diagnostics.
"""

import time

import numpy as np

from hexapod_dynamics.drivers.pose_guard import PoseGuard
from hexapod_dynamics.drivers.servo_chain import ServoChain
from hexapod_dynamics.drivers.servo_control import ServoControl
from hexapod_dynamics.drivers.servo_health import SEVERITY, ServoHealth, figures
from hexapod_dynamics.drivers.servo_map import ServoMap
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.nodes.common import LATCHED, Diagnostics, load_robot, run
from hexapod_dynamics.nodes.morphology import values_of
from hexapod_dynamics.nodes.servos_parameters import declare_parameters
from hexapod_dynamics.nodes.stamps import Stamps
from hexapod_dynamics.robot import Morphology
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from sensor_msgs.msg import BatteryState, JointState
from std_srvs.srv import SetBool, Trigger


class ServosNode(Node):
    """Owns the servo bus; see the module."""

    def __init__(self):
        super().__init__('servos')
        self.robot = load_robot(self)
        self.parameters = parameters = declare_parameters(self, self.robot)
        self._names = list(self.robot.joint_names)
        self._index = {name: i for i, name in enumerate(self._names)}
        joints = [joint for leg in self.robot.legs for joint in leg.joints]
        self.guard = PoseGuard([j.lower for j in joints], [j.upper for j in joints], self.robot.servo.stiffness,
                               parameters.guard)
        self.chain = ServoChain(parameters.bus, ServoMap.from_robot(self.robot), parameters.chain)
        self.control = ServoControl(self.chain, self.guard, parameters.control, self.get_logger().warning)
        self._command_joints = self._torque_joints = None, None         # names of the last message, their indices
        self._unknown_names = 0
        self._health, self._level, self._next_news = ServoHealth(self._names), None, 0.0
        self._stamps, self._last_known = Stamps(self), None
        self._published = np.full(len(self._names), -np.inf)
        self._states, self._fresh = JointState(), JointState()
        self._battery = BatteryState(power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO, present=True,
                                     location='servo bus')
        for field in ('current', 'charge', 'capacity', 'design_capacity', 'percentage', 'temperature'):
            setattr(self._battery, field, float('nan'))     # not measured

        self._state_publisher = self.create_publisher(JointState, 'joint_states', 10)
        self._fresh_publisher = self.create_publisher(JointState, '~/measurements', 10)
        self._battery_publisher = self.create_publisher(BatteryState, 'battery_state', 10)
        self.create_subscription(JointState, 'joint_commands', self._on_command, 1)
        self.create_subscription(JointState, 'feedforward_torques', self._on_torques, 1)
        self.create_subscription(ParameterEvent, 'morphology', self._on_morphology, LATCHED)
        self.create_service(SetBool, '~/torque', self._on_torque)
        self.create_service(Trigger, '~/release', self._on_release)
        self.diagnostics = Diagnostics(self, f'{self.robot.name} servo bus {parameters.bus.port}', self._look)
        self.create_timer(1.0 / parameters.rate, self._publish)
        self.create_timer(parameters.control.period, lambda: self.control.step(time.monotonic()))
        self.create_timer(1.0, self._publish_battery)
        self.chain.start()

    # In --------------------------------------------------------------------------------------------------------------

    def _joints(self, names, last):
        """Names and their indices; `last` where the names are the same, None where one is unknown."""
        if names == last[0]:
            return last
        unknown = [name for name in names if name not in self._index]
        if unknown:
            self._unknown_names += 1
            self.get_logger().warning(f'joint {unknown[0]!r} is not one of this robot; its joints are '
                                      f'{", ".join(self._names)}', throttle_duration_sec=5.0)
            return None
        return names, np.array([self._index[name] for name in names], np.intp)

    def _on_command(self, message):
        joints = self._joints(message.name, self._command_joints)
        if joints is None:
            return
        self._command_joints = joints
        if len(message.position) != len(joints[1]):
            self.get_logger().warning(f'joint_commands has {len(joints[1])} names and {len(message.position)} '
                                      'positions; as many are needed', throttle_duration_sec=5.0)
            return
        bad = np.flatnonzero(~np.isfinite(message.position))
        if bad.size:
            self.get_logger().warning(f'joint_commands asks {message.position[bad[0]]} of {message.name[bad[0]]}: the '
                                      'joint holds; leave it out of the message instead', throttle_duration_sec=5.0)
        self.control.follow(joints[1], message.position, time.monotonic())

    def _on_torques(self, message):
        joints = self._joints(message.name, self._torque_joints) if self.parameters.use_feedforward else None
        if joints is None:
            return
        self._torque_joints = joints
        if len(message.effort) == len(joints[1]):
            self.control.feed_forward(joints[1], message.effort, time.monotonic())

    def _on_morphology(self, message):
        try:
            # Where a locked joint stands does not matter here.
            morphology = Morphology.from_parameters(self.robot, values_of(message.new_parameters),
                                                    dict.fromkeys(self.robot.joint_names, 0.0))
        except HexapodError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            return
        self.chain.set_gone(~morphology.existing_mask)

    def _on_torque(self, request, response):
        if request.data:
            refusal, done = self.control.stand(), 'holding where it stands'
        else:
            refusal, done = self.control.sit_down('asked to let go', time.monotonic()), 'let go'
            if self.control.sitting is not None:
                done = (f'sitting down first, letting go in {self.control.sitting.duration + 0.5:.1f} s; '
                        '~/release lets go at once')
        response.success, response.message = not refusal, refusal or done
        return response

    def _on_release(self, _request, response):
        refusal = self.control.let_go()
        response.success, response.message = not refusal, refusal or 'let go at once'
        return response

    # Out -------------------------------------------------------------------------------------------------------------

    def _publish(self):
        now = time.monotonic()
        self.control.hold_when_commands_stop(now)
        state = self.chain.snapshot(self.control.state)
        known = state.known & (now - state.stamp < self.parameters.stale)
        if known.any():
            if self._last_known is None or (known != self._last_known).any():
                self._last_known = known
                self._states.name = [name for name, there in zip(self._names, known, strict=True) if there]
            self._fill(self._states, state, known)
            self._state_publisher.publish(self._states)
            fresh = known & (state.stamp > self._published)
            if fresh.any():
                self._fresh.name = [self._names[i] for i in np.flatnonzero(fresh)]
                self._fill(self._fresh, state, fresh)
                self._fresh_publisher.publish(self._fresh)
                self._published[fresh] = state.stamp[fresh]
        if now > self._next_news and self._judge(now) != self._level:       # a change is told soon
            self._next_news = now + 0.3
            self.diagnostics.publish()

    def _fill(self, message, state, mask):
        message.header.stamp = self._stamps.of(float(state.stamp[mask].max()))
        message.position = state.angle[mask].tolist()
        message.velocity = state.rate[mask].tolist()

    def _publish_battery(self):
        supply = self.control.state.supply
        if np.isfinite(supply):
            self._battery.header.stamp = self.get_clock().now().to_msg()
            self._battery.voltage = float(supply)
            self._battery_publisher.publish(self._battery)

    def _judge(self, now):
        """Level and message: the bus first, then the supply, then what the robot is doing."""
        level, wrong = self._health.judge(self.control.state, now)
        doing_level, doing = self.control.doing()
        return max(level, doing_level, key=SEVERITY.index), '; '.join([*wrong, *doing])

    def _look(self):
        now, state = time.monotonic(), self.chain.snapshot(self.control.state)
        self._level = self._judge(now)
        values = figures(state, self._names, now)
        values |= {f'clamped {kind}': count for kind, count in self.guard.clamped.items()}
        return *self._level, values | {'commands with unknown joints': self._unknown_names}

    def close(self):
        """Leave the pose held, or let go where so configured, and give the port back."""
        if self.parameters.release_on_shutdown:
            self.chain.set_torque(False)
        self.chain.stop()


def main(args=None):
    """Run the node."""
    run(ServosNode, args)


if __name__ == '__main__':
    main()
