"""One quiet line a second: speed, attitude, prediction against truth, what is missing."""

import math

import numpy as np

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hexapod_dynamics.estimation.attitude import euler_zyx, rotation_from_quaternion, rotation_vector
from hexapod_dynamics.nodes.common import LATCHED, run, stamp_seconds
from hexapod_dynamics.nodes.morphology import values_of
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# A pose older than this [s] is not shown; a complaint is repeated after this [s].
SILENT_AFTER, REPEAT = 3.0, 30.0


class Pose:
    """What the line needs of an Odometry."""

    def __init__(self, message):
        p, o = message.pose.pose.position, message.pose.pose.orientation
        self.time = stamp_seconds(message.header.stamp)
        self.position = np.array([p.x, p.y, p.z])
        self.rotation = rotation_from_quaternion(np.array([o.x, o.y, o.z, o.w]))
        v = message.twist.twist.linear
        self.velocity = self.rotation @ np.array([v.x, v.y, v.z])

    def at(self, time):
        """Return the position moved on to another time, a few milliseconds away, at its velocity."""
        return self.position + self.velocity * (time - self.time)


def losses(values):
    """Name what a whole set of named values says to be missing, locked or broken, without what hangs on it."""
    lost = [name.partition('.')[2] for name, value in values.items() if name.startswith('legs.') and not value]
    gone = set(lost)
    for name, value in values.items():
        kind, _, part = name.partition('.')
        leg = part.partition('.')[0]
        if kind == 'legs' or leg in gone:
            continue
        if kind == 'links' and not value:
            lost.append(part)
            gone.add(leg)                           # links are named from the body outward: the rest hangs on this one
        elif kind == 'locked' and value:
            lost.append(f'{part} locked')
        elif kind == 'remaining' and 0.0 < value < 1.0:
            lost.append(f'{part} {value:.0%} left')
    return lost


def line(elapsed, predicted, true, speed, lost, complaints):
    """Write the status line.

    elapsed [s] since the start; predicted, true: Pose or None; speed (2,): forward speed [m/s] and turn rate [rad/s]
    over the last second, or None; lost: what the software knows to be missing; complaints: names of nodes.
    """
    parts = [f'{elapsed:5.0f} s']
    shown = true or predicted
    if shown is None:
        parts.append('no pose heard yet')
    else:
        if speed is not None:
            parts.append(f'{100 * speed[0]:5.1f} cm/s {math.degrees(speed[1]):5.1f} deg/s')
        yaw, pitch, roll = np.degrees(euler_zyx(shown.rotation))
        parts.append(f'roll {roll:5.1f} pitch {pitch:5.1f} yaw {yaw:6.1f} deg')
        if true is not None and predicted is not None:
            gap = np.linalg.norm(true.at(predicted.time) - predicted.position)
            turn = np.linalg.norm(rotation_vector(true.rotation.T @ predicted.rotation))
            parts.append(f'prediction off by {100 * gap:.1f} cm {math.degrees(turn):.1f} deg')
        elif predicted is None:
            parts.append('no prediction')
    parts.append('missing: ' + (' '.join(lost) if lost else 'nothing'))
    if complaints:
        parts.append('not well: ' + ' '.join(sorted(complaints)))
    return ' | '.join(parts)


class WalkStatus(Node):
    """Hears predictions, truth and diagnostics; prints. Its name is hidden from `ros2 node list`."""

    def __init__(self):
        super().__init__('_walk_status')
        self._predicted = self._true = None
        self._before = None
        self._lost = []
        self._complaints, self._told = {}, {}
        self._started = self.get_clock().now()
        self.create_subscription(Odometry, 'predicted_state', self._hear_prediction, NEWEST)
        self.create_subscription(Odometry, 'simulator/odom', self._hear_truth, NEWEST)
        self.create_subscription(ParameterEvent, 'morphology', self._hear_morphology, LATCHED)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._hear_diagnostics, 10)
        self.create_timer(1.0, self._print)

    def _hear_prediction(self, message):
        self._predicted = message

    def _hear_truth(self, message):
        self._true = message

    def _hear_morphology(self, message):
        self._lost = losses(values_of(message.new_parameters))

    def _hear_diagnostics(self, message):
        prefix = self.get_namespace().strip('/')
        for status in message.status:
            name = status.name
            if prefix and not name.startswith(prefix + '/'):
                continue
            if status.level == DiagnosticStatus.OK:
                self._complaints.pop(name, None)
            else:
                self._complaints[name] = status.message

    def _print(self):
        now = self.get_clock().now()
        poses = [Pose(message) if message is not None and
                 stamp_seconds(now.to_msg()) - stamp_seconds(message.header.stamp) < SILENT_AFTER else None
                 for message in (self._predicted, self._true)]
        shown, speed = poses[1] or poses[0], None
        if shown is not None and self._before is not None and shown.time > self._before.time:
            moved = self._before.rotation.T @ (shown.position - self._before.position)
            turned = rotation_vector(self._before.rotation.T @ shown.rotation)
            speed = np.array([moved[0], turned[2]]) / (shown.time - self._before.time)
        self._before = shown
        elapsed = (now - self._started).nanoseconds * 1e-9
        for name, message in self._complaints.items():
            at = self._told.get(name, -math.inf)
            if elapsed - at > REPEAT:                       # said once, then only the node's name in the line
                print(f'        {name}: {message}')
                self._told[name] = elapsed
        self._told = {name: told for name, told in self._told.items() if name in self._complaints}
        known = {f'{prefix}damage_manager' for prefix in ('', self.get_namespace().strip('/') + '/')}
        print(line(elapsed, *poses, speed, self._lost, self._complaints.keys() - known), flush=True)


def main(args=None):
    """Print until the launch ends."""
    run(WalkStatus, args)


if __name__ == '__main__':
    main()
