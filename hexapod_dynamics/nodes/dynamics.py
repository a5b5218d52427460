"""Predicts the present state, the path and the torques of the commanded motion, 100 times a second."""

import math
import time
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.control.automatic_rate import AutomaticRate
from hexapod_dynamics.control.command_check import CommandCheck, stamp_refusal
from hexapod_dynamics.control.deadline_monitor import DeadlineMonitor
from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.control.soft_servo import TorqueRates
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.observer import Gains, Observer
from hexapod_dynamics.estimation.pose_uncertainty import Spread
from hexapod_dynamics.nodes import predicted_pose
from hexapod_dynamics.nodes.morphology_messages import values_of
from hexapod_dynamics.nodes.prediction_messages import PredictionMessages
from hexapod_dynamics.nodes.shared_parameters import declare_command_period, declare_guard
from hexapod_dynamics.nodes.support_markers import SupportMarkers
from hexapod_dynamics.parameters.dynamics import PARAMETERS
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.malformed import subscribe
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, declare_all, load_robot, stamp_seconds
from hexapod_dynamics.ros.running import run
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion
from rcl_interfaces.msg import ParameterEvent
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool

# An input silent for longer than this [s] is named in the diagnostics; a complaint is shown for this time [s].
SILENT, KEPT = 0.5, 2.5
# Publications of `support` a second, at the most.
SUPPORT_RATE = 25.0
# Orders of joints in messages that are remembered: `servos` publishes a message for each joint.
ORDERS = 100
# A message stamped longer ago than this [s], or as far in the future, is refused.
OLDEST = 0.5


class Order(NamedTuple):
    """Positions in a message and joint indices of the joints of this robot, as lists and as arrays."""

    places: list
    joints: list
    places_array: np.ndarray
    joints_array: np.ndarray


class DynamicsNode(GuardedNode):
    """Runs the observer under `joint_commands`, `joint_states`, `imu/data` and `morphology`."""

    def __init__(self):
        super().__init__("dynamics")
        robot = load_robot(self)
        self.robot, self._n = robot, robot.joint_count

        values = declare_all(self, PARAMETERS)
        rate, self._path_every = values["rate"], values["path_every"]
        self._use_torques, self._use_rates = values["feedforward"], values["feedforward_rates"]
        self.observer = Observer(
            robot,
            gains=Gains(joint=values["joint_gain"], tilt=values["tilt_gain"], yaw=values["yaw_gain"]),
            command_period=declare_command_period(self),
            guard=declare_guard(self, robot),
            command_delay=values["command_delay"],
            timestep=values["timestep"],
            horizon=values["horizon"],
            horizon_period=0.025,
            horizon_timestep=values["horizon_timestep"],
            spread=Spread(
                mounting=math.radians(values["imu_mounting_error"]), angles=math.radians(values["servo_angle_error"])
            ),
        )
        self._feedforward = Feedforward(robot, model=self.observer.model)
        self._torque_rates = TorqueRates(self._feedforward)
        self._lag = robot.servo.damping / robot.servo.stiffness
        self._index = {name: j for j, name in enumerate(robot.joint_names)}
        self._all = list(range(self._n))
        self._check = CommandCheck.of_robot(robot)
        self._chip = np.asarray(robot.imu.rotation)
        self._command, self._rates = np.full(self._n, np.nan), np.full(self._n, np.nan)
        self._last_rates, self._accelerations = np.zeros(self._n), np.zeros(self._n)
        self._orders = {}
        self._heard = dict.fromkeys(("joint_commands", "joint_states", "imu/data"), None)
        self._timed = -np.inf  # time of the last servos/measurements
        self._complaints = {}
        self._ticks, self._deadlines = 0, DeadlineMonitor(1.0 / rate)
        self._rate, self._automatic = AutomaticRate(rate), values["automatic_rate"]
        self._support_every = math.ceil(rate / SUPPORT_RATE)
        self._cost = self._worst_cost = 0.0
        self._support = SupportMarkers(self, self.observer)
        self._warm_up()
        self._session_state = SessionState(self, lasting=False)
        place = self._session_state.load()
        if place is not None:  # after a crash odom continues at the stored position
            numbers = [place.get(name) for name in ("x", "y", "yaw")]
            if all(isinstance(number, float) and math.isfinite(number) for number in numbers):
                self.observer.begin_at(*numbers)
            else:
                self.get_logger().warning(f"the stored position is invalid ({place}): odom starts at zero")

        self._messages = PredictionMessages(self, self.observer, values["publish_tf"])
        self.loop = TickLoop(self, 1.0 / rate, self._tick)
        self.loop.subscribe(JointState, "joint_commands", self._on_command, 5)
        # A message for each joint that was read; some come at once when this node was busy.
        self.loop.subscribe(JointState, "servos/measurements", self._on_measurements, 20)
        self.loop.subscribe(JointState, "joint_states", self._on_joints, 5, needed=self._untimed)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, qos_profile_sensor_data)
        subscribe(self, ParameterEvent, "morphology", self._on_morphology, LATCHED)
        subscribe(self, Bool, "servos/following", lambda m: self.observer.follow(m.data), LATCHED)
        self._diagnostics = Diagnostics(self, robot.name, self._look, every=self.loop.every)

    def _warm_up(self):
        """Compile and load everything before the first message is received."""
        self.observer.warm_up()
        zero = np.zeros(self._n)
        self._feedforward.solve(np.eye(3), 0.12, np.zeros(6), zero, zero, zero, zero)
        self._torque_rates.solve(np.eye(3), np.zeros(6), zero, zero, zero)
        self._support.warm_up()

    # ---- in ----------------------------------------------------------------------------------------------------------

    def _complain(self, about, what):
        """Remember the fault of an input for the diagnostics."""
        self._complaints[about] = (time.monotonic(), what)

    def _order(self, topic, names):
        """Return the Order of the names of a message."""
        key = (topic, *names)
        order = self._orders.get(key)
        if order is None:
            if len(self._orders) >= ORDERS:
                self._orders.clear()
            unknown = [name for name in names if name not in self._index]
            if unknown:
                self._complain(
                    topic,
                    f"{topic} names the joint {unknown[0]!r}, which this robot has not; it has "
                    f"{self.robot.joint_names[0]}, ...",
                )
            known = [k for k, name in enumerate(names) if name in self._index]
            joints = [self._index[names[k]] for k in known]
            order = Order(known, joints, np.array(known, np.intp), np.array(joints, np.intp))
            self._orders[key] = order
        return order

    def _as_many(self, topic, names, values):
        """Whether a message has as many values as names; complain if not."""
        if len(values) == len(names):
            return True
        self._complain(topic, f"{topic} has {len(names)} names and {len(values)} values; as many are needed")
        return False

    def _complain_not_finite(self, topic, joint):
        name = self.robot.joint_names[joint]
        self._complain(topic, f"{topic} has a value that is not finite for {name}; it is left out")

    def _scatter(self, topic, names, values, out):
        """Write the values of a message in joint order, NaN if missing; return False if it is rejected."""
        order = self._order(topic, names)
        if not self._as_many(topic, names, values):
            return False
        if order.joints == self._all and order.places == self._all and math.isfinite(sum(values)):
            out[:] = values
            return True
        out[:] = np.nan
        given = np.asarray(values, float)[order.places_array]
        out[order.joints_array] = given
        good = np.isfinite(given)
        if not good.all():
            self._complain_not_finite(topic, order.joints[int(np.argmin(good))])
            out[~np.isfinite(out)] = np.nan
        return True

    def _time_of(self, topic, stamp):
        """Monotonic time of a stamp, of the arrival if there is none; None if it is too old and rejected."""
        now = time.monotonic()
        if stamp.sec == 0 and stamp.nanosec == 0:
            return now
        age = time.time() - stamp_seconds(stamp)
        refusal = stamp_refusal(age, OLDEST)
        if refusal:
            self._complain(topic, f"{topic} is refused: {refusal}")
            return None
        return now - max(age, 0.0)

    def _refused_command(self, order, positions, velocities):
        """Refuse a command that no joint can follow, as `servos` does, with a complaint."""
        places = order.places
        given = [velocities[k] for k in places] if velocities else ()
        refusal = self._check.refusal(order.joints, [positions[k] for k in places], given)
        if refusal:
            self._complain("joint_commands", f"joint_commands is refused: {refusal}")
        return bool(refusal)

    def _on_command(self, message):
        at = self._time_of("joint_commands", message.header.stamp)
        if at is None:
            return
        names, positions, velocities = message.name, message.position.tolist(), message.velocity.tolist()
        if len(velocities) != len(names):
            velocities = []
        enough = len(positions) == len(names)  # else _scatter refuses it by name
        if enough and self._refused_command(self._order("joint_commands", names), positions, velocities):
            return
        self._heard["joint_commands"] = time.monotonic()
        if not self._scatter("joint_commands", names, positions, self._command):
            return
        self._rates[:] = 0.0
        if velocities:
            self._scatter("joint_commands", names, velocities, self._rates)
        self.observer.command(at, self._command, self._rates)
        np.subtract(self.observer.commanded_rate, self._last_rates, out=self._accelerations)
        self._accelerations /= self.observer.period
        self._last_rates[:] = self.observer.commanded_rate

    def _on_measurements(self, message):
        """Process joints that were read at the time of the stamp."""
        self._timed = time.monotonic()
        self._measure("servos/measurements", message)

    def _untimed(self):
        """Whether no driver publishes the time of each reading: then all joints are measured at the time of a stamp."""
        return time.monotonic() - self._timed > SILENT

    def _on_joints(self, message):
        self._measure("joint_states", message)

    def _measure(self, topic, message):
        names, angles = message.name, message.position.tolist()
        at = self._time_of(topic, message.header.stamp)
        if at is None or not self._as_many(topic, names, angles):
            return
        self._heard["joint_states"] = time.monotonic()
        order = self._order(topic, names)
        for k, joint in zip(order.places, order.joints, strict=True):  # mostly one
            if math.isfinite(angles[k]):
                self.observer.measure_joint(at, joint, angles[k])
            else:
                self._complain_not_finite(topic, joint)

    def _on_imu(self, message):
        if message.orientation_covariance[0] == -1.0:
            self._complain("imu/data", "imu/data carries no orientation yet (covariance -1)")
            return
        o = message.orientation
        try:
            rotation = rotation_from_quaternion((o.x, o.y, o.z, o.w)) @ self._chip.T
        except HexapodError as error:
            self._complain("imu/data", f"imu/data: {error}")
            return
        at = self._time_of("imu/data", message.header.stamp)
        if at is not None:
            self._heard["imu/data"] = time.monotonic()
            self.observer.measure_attitude(at, rotation)

    def _on_morphology(self, message):
        try:
            self.observer.set_morphology(values_of(message.new_parameters))
        except HexapodError as error:
            self._complain("morphology", f"morphology: {error}")
            return
        self._messages.name_joints()

    # ---- out ---------------------------------------------------------------------------------------------------------

    def _tick(self):
        begin = time.monotonic()
        self._deadlines.call(begin)
        observer = self.observer
        try:
            if not observer.advance(begin):
                return
            try:
                torques = self._needed_torques(begin)
            except HexapodError as error:  # the prediction continues without them
                self._complain("torques", f"no feed-forward torques: {error}")
                torques = None
            due = self._ticks % self._path_every == 0 and self._messages.path_wanted(begin)
            ahead = observer.look_ahead(begin) if due else None
        except HexapodError as error:
            self._complain("model", str(error))
            observer.restart()
            return
        cost = time.monotonic() - begin
        self._cost += 0.01 * (cost - self._cost)
        self._worst_cost = max(self._worst_cost, cost)
        self._ticks += 1
        self._messages.publish(torques, ahead)
        if self._ticks % self._support_every == 0 and self._support.wanted:
            self._support.publish(self._messages.stamp)
        if self._automatic:
            self._adapt(begin)

    def _adapt(self, now):
        """Predict at half the rate while this machine cannot hold it."""
        before = self._rate.rate
        said = self._rate.call(now)
        if self._rate.rate != before:
            self.loop.period = 1.0 / self._rate.rate
            self._deadlines.set_period(self.loop.period)
        if said:
            self.get_logger().warning(f"predictions: {said}")

    def _needed_torques(self, now):
        """Torques for the commanded motion; None while nothing is commanded."""
        observer, heard = self.observer, self._heard["joint_commands"]
        moving = observer.morphology.moving_mask
        if not self._use_torques or heard is None or not np.isfinite(observer.commanded[moving]).all():
            return None
        if now - heard > SILENT:
            self._accelerations[:] = observer.commanded_rate[:] = 0.0
        joints = np.where(moving, observer.commanded, observer.q)
        torques = self._feedforward.solve(
            observer.rotation,
            observer.model.height,
            observer.nu[:6],
            joints,
            observer.commanded_rate,
            self._accelerations,
            observer.q,
        )
        if self._use_rates:
            torques += (observer.period - self._lag) * self._torque_rates.solve(
                observer.rotation, observer.nu[:6], joints, observer.commanded_rate, self._accelerations
            )
        observer.feed_forward(torques)
        return torques

    def _predicted_pose(self, now):
        """Return the pose as diagnostic values, while it is predicted: for who shows it once a second."""
        observer = self.observer
        if not observer.started or now - observer.time > SILENT:
            return {}
        return predicted_pose.values(self._messages.seconds, observer.position, observer.rotation)

    def forget(self):
        """Delete the stored position: nothing starts this node again."""
        self._session_state.forget()

    def _look(self):
        now, observer = time.monotonic(), self.observer
        if observer.started:
            x, y, _ = observer.position.tolist()
            self._session_state.post({"x": x, "y": y, "yaw": float(euler_zyx(observer.rotation)[0])})
        self._complaints = {about: (at, what) for about, (at, what) in self._complaints.items() if now - at < KEPT}
        offsets = observer.joint_filter.offsets
        worst = int(np.argmax(np.abs(offsets)))
        values = {
            "morphology": observer.morphology.describe(),
            "mean time of a prediction [ms]": 1e3 * self._cost,
            "worst [ms]": 1e3 * self._worst_cost,
            "predictions left out": self._deadlines.missed,
            "predictions a second": self._rate.rate,
            "skipped time [s]": observer.skipped,
            "restarts of a tumbled model": observer.restarts,
            "largest set-point offset [rad]": float(offsets[worst]),
            "of": self.robot.joint_names[worst],
            "attitude, IMU less model [rad]": float(np.linalg.norm(observer.attitude_filter.innovation)),
            "estimated slope [deg]": float(np.degrees(np.arctan(np.hypot(*observer.model.slope)))),
            "learnt dead band of the servos [deg]": float(np.degrees(observer.dead_band.band)),
            "standard deviation of x, y [m]": float(np.sqrt(np.trace(observer.covariance[:2, :2]))),
            "standard deviation of yaw [deg]": float(np.degrees(np.sqrt(observer.covariance[5, 5]))),
            "in doubt": " ".join(observer.doubts.doubted),
            "yaw alignments": observer.attitude_filter.alignments,
            "period of the commands [s]": observer.history.lag or 0.0,
        } | self._predicted_pose(now)
        self._worst_cost = 0.0
        silent = [topic for topic, at in self._heard.items() if at is None or now - at > SILENT]
        wrong = [what for _, what in self._complaints.values()]
        if "joint_states" in silent:
            return "error", "; ".join(["no joint_states: the prediction is paused", *wrong]), values
        if not observer.started:
            missing = observer.morphology.existing_mask & ~np.isfinite(observer.joint_filter.latest)
            names = ", ".join(np.array(self.robot.joint_names)[missing]) or "the attitude"
            return "error", f"waiting for the first measurement of {names}", values
        late = self._deadlines.assess("predictions")
        if self._rate.halved:
            wrong.insert(0, f"predictions: {self._rate.assess(now)}")
        if late:
            wrong.insert(0, late)
        if "imu/data" in silent:
            wrong.insert(0, "no imu/data: the attitude comes from the model alone")
        level, doubt = observer.confidence
        if level != "ok":
            return level, "; ".join([doubt, *wrong]), values
        if wrong:
            return "warn", "; ".join(wrong), values
        return "ok", "predicting" if "joint_commands" not in silent else "predicting, no commands", values


def main(args=None):
    """Run the node."""
    run(DynamicsNode, args)


if __name__ == "__main__":
    main()
