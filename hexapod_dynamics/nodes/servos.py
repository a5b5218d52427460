"""Moves and reads the bus servos: joint_commands in, measured joint_states out; holds the pose when commands stop.

`joint_states` has all joints that answer, stamped with the newest measurement; because the bus reads them one after
another, `~/measurements` has in each message only the joints read since the one before, stamped with their own time:
what a filter should use. How old the oldest one is stands in /diagnostics.
"""

import time

import numpy as np

from hexapod_dynamics.devices.paths import SERVO_BUS, device_directory
from hexapod_dynamics.drivers import lx_frames
from hexapod_dynamics.drivers.chain_state import FAULTS, ChainSettings
from hexapod_dynamics.drivers.line_direction import AdapterDirection, GpioDirection
from hexapod_dynamics.drivers.pose_guard import GuardSettings, PoseGuard
from hexapod_dynamics.drivers.posture import SitDown, SupplyJudge, SupplyLimits
from hexapod_dynamics.drivers.servo_bus import ServoBus
from hexapod_dynamics.drivers.servo_chain import ServoChain
from hexapod_dynamics.drivers.servo_health import ServoHealth
from hexapod_dynamics.drivers.servo_map import ServoMap
from hexapod_dynamics.errors import DeviceError, HexapodError
from hexapod_dynamics.nodes.common import LATCHED, Diagnostics, declare, load_robot, run
from hexapod_dynamics.nodes.morphology import values_of
from hexapod_dynamics.nodes.stamps import Stamps
from hexapod_dynamics.robot import Morphology
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from sensor_msgs.msg import BatteryState, JointState
from std_srvs.srv import SetBool, Trigger

SEVERITY = ('ok', 'warn', 'error')


class ServosNode(Node):
    """Owns the servo bus; see the module."""

    def __init__(self):
        super().__init__('servos')
        self.robot = load_robot(self)
        self._declare_parameters()
        names = self.robot.joint_names
        self._index = {name: i for i, name in enumerate(names)}
        self._names, self._last_known = list(names), None
        joints = [joint for leg in self.robot.legs for joint in leg.joints]
        self._stamps = Stamps(self)
        self.guard = PoseGuard([j.lower for j in joints], [j.upper for j in joints], self.robot.servo.stiffness,
                               self._guard_settings)
        self.chain = ServoChain(self._make_bus(), ServoMap.from_robot(self.robot), self._chain_settings)
        self._state, self._published = self.chain.snapshot(), np.full(len(names), -np.inf)
        self._command, self._torques = np.full(len(names), np.nan), np.zeros(len(names))
        self._command_time = self._torque_time = -np.inf
        self._order, self._order_names = None, None
        self._torque_order, self._torque_names = None, None
        self._holding, self._unknown_names = True, 0
        self._sitting, self._sit_reason = None, ''
        self._settled_epoch = -1
        self._supply = SupplyJudge(self._supply_limits)
        self._supply_level = 'ok'
        self._level, self._next_news = None, 0.0
        self._health = ServoHealth(names)
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
        self.diagnostics = Diagnostics(self, f'{self.robot.name} servo bus {self.port}', self._look)
        self.create_timer(1.0 / self.rate, self._publish)
        self.create_timer(self.period, self._sit)
        self.create_timer(1.0, self._publish_battery)
        self.chain.start()

    def _declare_parameters(self):
        def number(name, default, text, low, high):
            return declare(self, name, default, text, low=low, high=high, read_only=True)

        self.port = declare(self, 'port', '', "serial port, best a stable path; empty: the simulator's", read_only=True)
        if not self.port:
            self.port = str(device_directory(self.get_namespace()) / SERVO_BUS)
        self._baudrate = number('baudrate', lx_frames.DEFAULT_BAUDRATE, 'bits a second', 9600, 1000000)
        self._direction = declare(self, 'direction', 'adapter', 'who switches between sending and listening: adapter, '
                                  'or gpio (two pins of a Jetson)', read_only=True)
        self._pins = (number('transmit_pin', 27, 'BCM number of the pin that enables sending', 0, 64),
                      number('receive_pin', 17, 'BCM number of the pin that enables listening', 0, 64))
        self._reply_timeout = number('reply_timeout', 0.006, 'wait for an answer after the request is out [s]', 0.001,
                                     0.1)
        self.period = number('command_period', 0.02, 'time in which a servo moves to a new target [s]', 0.005, 0.2)
        self.command_timeout = number('command_timeout', 0.3, 'commands older than this: hold [s]', 0.05, 5.0)
        self.rate = number('rate', 50.0, 'joint_states a second', 1.0, 200.0)
        self._stale = number('stale_age', 1.0, 'a joint measured longer ago is left out of joint_states [s]', 0.1, 10.0)
        self._on_shutdown = declare(self, 'on_shutdown', 'hold', 'when the node ends: hold the pose, or release (let '
                                    'go)', read_only=True)
        self._guard_settings = GuardSettings(
            speed_limit=number('speed_limit', self.robot.servo.speed_limit, 'fastest set-point [rad/s]', 0.1, 20.0),
            approach_speed=number('approach_speed', 0.8, 'set-point speed until a joint has met its command [rad/s]',
                                  0.01, 5.0),
            step_limit=number('step_limit', 0.5, 'a command that leaps further is approached slowly [rad]', 0.01, 3.2),
            offset_limit=number('feedforward_limit', 0.1, 'largest set-point offset from feed-forward torque [rad]',
                                0.0001, 0.3))
        self._use_torques = declare(self, 'use_feedforward', True, 'shift set-points by feed-forward torque over '
                                    'stiffness', read_only=True)
        self._chain_settings = ChainSettings(
            position_rate=number('position_rate', 20.0, 'position reads a second of each joint, at most', 1.0, 100.0),
            slow_interval=number('slow_interval', 0.2, 'between reads of voltage, temperature or load state [s]', 0.02,
                                 10.0))
        self._supply_limits = SupplyLimits(
            warn=number('warn_voltage', 10.2, 'supply below this: warn [V]', 0.0, 14.0),
            sit=number('sit_voltage', 9.6, 'supply below this: sit down [V]', 0.0, 14.0),
            release=number('release_voltage', 9.1, 'supply below this: let go [V]', 0.0, 14.0))
        self._sit_speed = number('sit_speed', 0.6, 'of the joint with furthest to go when sitting down [rad/s]', 0.05,
                                 2.0)
        self._seated = self._seated_pose(declare(
            self, 'sit_pose', [0.0, 1.2, -0.45], "a leg's joints, from the body outward, when the belly is on the "
            'ground [rad]; further joints stay', read_only=True))
        for name, value, allowed in (('direction', self._direction, ('adapter', 'gpio')),
                                     ('on_shutdown', self._on_shutdown, ('hold', 'release'))):
            if value not in allowed:
                raise DeviceError(f'parameter {name} is {value!r}: allowed is {" or ".join(allowed)}')

    def _seated_pose(self, leg_pose):
        pose = []
        for leg in self.robot.legs:
            for joint, angle in zip(leg.joints, leg_pose, strict=False):
                if not joint.lower <= angle <= joint.upper:
                    raise DeviceError(f'parameter sit_pose: {angle} rad is outside {joint.name}\'s limits '
                                      f'{joint.lower}..{joint.upper}')
                pose.append(angle)
            pose += [float('nan')] * (len(leg.joints) - len(leg_pose))
        return np.array(pose)

    def _make_bus(self):
        direction = GpioDirection(*self._pins) if self._direction == 'gpio' else AdapterDirection()
        return ServoBus(self.port, self._baudrate, direction, self._reply_timeout)

    # In --------------------------------------------------------------------------------------------------------------

    def _indices(self, names):
        unknown = [name for name in names if name not in self._index]
        if unknown:
            self._unknown_names += 1
            self.get_logger().warning(f'joint {unknown[0]!r} is not one of this robot; its joints are '
                                      f'{", ".join(self._names)}', throttle_duration_sec=5.0)
            return None
        return np.array([self._index[name] for name in names], np.intp)

    def _may_move(self, state):
        """Nothing moves before the whole pose has been understood once since the port was opened."""
        if state.settled:
            self._settled_epoch = state.epoch
        return state.torque and state.connected and self._settled_epoch == state.epoch

    def _on_command(self, message):
        now = time.monotonic()
        if message.name != self._order_names:
            order = self._indices(message.name)
            if order is None:
                return
            self._order, self._order_names = order, message.name
        if len(message.position) != len(self._order):
            self.get_logger().warning(f'joint_commands has {len(self._order)} names and {len(message.position)} '
                                      'positions; as many are needed', throttle_duration_sec=5.0)
            return
        interval = min(max(now - self._command_time, 0.5 * self.period), 2.0 * self.period)
        if self._holding:
            interval = self.period
            self._holding = False
        self._command_time = now
        self._command[:] = np.nan
        self._command[self._order] = message.position
        state = self.chain.snapshot(self._state)
        if self._sitting is not None or not self._may_move(state):
            return
        self.guard.meet(state.generation, state.start_angle, state.known)
        if now - self._torque_time > self.command_timeout:
            self._torques[:] = 0.0
        self.chain.set_targets(self.guard.update(self._command, self._torques, interval), max(interval, self.period),
                               state.epoch)

    def _on_torques(self, message):
        if not self._use_torques:
            return
        if message.name != self._torque_names:
            order = self._indices(message.name)
            if order is None:
                return
            self._torque_order, self._torque_names = order, message.name
        if len(message.effort) == len(self._torque_order):
            self._torques[:] = 0.0
            self._torques[self._torque_order] = message.effort
            self._torque_time = time.monotonic()

    def _on_morphology(self, message):
        try:
            # Where a locked joint stands does not matter here.
            morphology = Morphology.from_parameters(self.robot, values_of(message.new_parameters),
                                                    dict.fromkeys(self.robot.joint_names, 0.0))
        except HexapodError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            return
        self.chain.set_gone(~morphology.existing_mask)

    # Sitting down and letting go --------------------------------------------------------------------------------------

    def _on_torque(self, request, response):
        response.success = True
        if request.data:
            if self._supply_level in ('sit', 'release'):
                response.success = False
                response.message = f'the supply is at {self._state.supply:.1f} V: charge the battery first'
                return response
            self._sitting = None
            self.chain.set_torque(True)
            self.guard.pause()
            response.message = 'holding where it stands'
        elif self._sit_down('asked to let go'):
            response.message = (f'sitting down first, letting go in {self._sitting.duration + 0.5:.1f} s; ~/release '
                                'lets go at once')
        else:
            self._let_go()
            response.message = 'let go'
        return response

    def _on_release(self, _request, response):
        self._let_go()
        response.success, response.message = True, 'let go at once'
        return response

    def _let_go(self):
        self._sitting = None
        self.chain.set_torque(False)
        self.guard.pause()

    def _sit_down(self, reason):
        """Begin to sit down; False where there is nothing to do, because the robot sits or lies already or is limp."""
        state = self.chain.snapshot(self._state)
        if self._sitting is not None:
            return True
        if not self._may_move(state):
            return False
        self.guard.meet(state.generation, state.start_angle, state.known)
        sitting = SitDown(self.guard.setpoint, self._seated, self._sit_speed, time.monotonic())
        if sitting.duration < 0.1 / self._sit_speed:
            return False
        self.guard.pause()
        self._sitting, self._sit_reason = sitting, reason
        self.get_logger().warning(f'sitting down: {reason}')
        return True

    def _sit(self):
        """Watch the supply, and move on while sitting down."""
        now = time.monotonic()
        state = self.chain.snapshot(self._state)
        if state.connected:
            level = self._supply.update(state.supply, now)
            if level != self._supply_level:
                self._supply_level = level
                if not state.torque:
                    pass
                elif level == 'release' or (level == 'sit' and not self._sit_down(f'supply at {state.supply:.1f} V')):
                    self._let_go()
        if self._sitting is None or not self._may_move(state):
            return
        if self._sitting.done(now):
            self._let_go()
            return
        self.guard.meet(state.generation, state.start_angle, state.known)
        self._torques[:] = 0.0
        pose = self.guard.update(self._sitting.pose(now), self._torques, self.period)
        self.chain.set_targets(pose, self.period, state.epoch)

    # Out -------------------------------------------------------------------------------------------------------------

    def _publish(self):
        now = time.monotonic()
        if not self._holding and now - self._command_time > self.command_timeout:
            self._holding = True
            self.guard.pause()
            self.get_logger().warning(f'no joint_commands for {self.command_timeout} s: holding the pose')
        state = self.chain.snapshot(self._state)
        known = state.known & (now - state.stamp < self._stale)
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
        if now > self._next_news and self._judge(state) != self._level:     # a change is told soon
            self._next_news = now + 0.3
            self.diagnostics.publish()

    def _fill(self, message, state, mask):
        message.header.stamp = self._stamps.of(float(state.stamp[mask].max()))
        message.position = state.angle[mask].tolist()
        message.velocity = state.rate[mask].tolist()

    def _publish_battery(self):
        if not np.isfinite(self._state.supply):
            return
        self._battery.header.stamp = self.get_clock().now().to_msg()
        self._battery.voltage = float(self._state.supply)
        self._battery_publisher.publish(self._battery)

    def _judge(self, state):
        """Level and message: the bus first, then the supply, then what the node is doing."""
        level, wrong = self._health.judge(state, time.monotonic())
        if self._supply_level in ('sit', 'release'):
            level, wrong = 'error', [*wrong, f'supply at {state.supply:.1f} V: sat down, let go; charge the battery']
        elif self._supply_level == 'warn':
            level = max(level, 'warn', key=SEVERITY.index)
            wrong = [*wrong, f'supply at {state.supply:.1f} V: charge soon']
        if self._sitting is not None:
            level, doing = max(level, 'warn', key=SEVERITY.index), f'sitting down: {self._sit_reason}'
        elif state.connected and not state.torque:
            level, doing = max(level, 'warn', key=SEVERITY.index), 'torque is off'
        else:
            doing = 'holding the pose, no commands' if self._holding else 'following commands'
        return level, '; '.join([*wrong, doing])

    def _look(self):
        state = self.chain.snapshot(self._state)
        level, message = self._judge(state)
        self._level = level, message
        now, known = time.monotonic(), state.known
        values = {
            'oldest measurement [s]': float(np.max(now - state.stamp[known])) if known.any() else float('nan'),
            'supply [V]': float(state.supply), 'bus load': state.bus_load, 'poses sent': state.writes,
            'answers': state.reads, 'port errors': state.port_errors, 'last port error': state.last_port_error,
            'port opened': state.epoch,
            'silent': ' '.join(name for name, mute in zip(self._names, state.silent, strict=True) if mute),
            'commands with unknown joints': self._unknown_names,
        }
        values |= {f'errors {kind}': int(count) for kind, count in zip(FAULTS, state.errors.sum(axis=0), strict=True)}
        values |= {f'clamped {kind}': count for kind, count in self.guard.clamped.items()}
        for i, name in enumerate(self._names):
            values[f'{name} voltage [V]'] = float(state.voltage[i])
            values[f'{name} temperature [deg C]'] = float(state.temperature[i])
            values[f'{name} errors'] = int(state.errors[i].sum())
        return level, message, values

    def close(self):
        """Leave the pose held, or let go where so configured, and give the port back."""
        if self._on_shutdown == 'release':
            self.chain.set_torque(False)
        self.chain.stop()


def main(args=None):
    """Run the node."""
    run(ServosNode, args)


if __name__ == '__main__':
    main()
