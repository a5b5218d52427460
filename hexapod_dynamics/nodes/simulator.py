"""The simulated robot as a node: it publishes ground truth and can be damaged; `servos` and `imu` open its
devices.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from geometry_msgs.msg import Quaternion, Wrench
from hexapod_dynamics.devices.simulated_robot import SimulatedRobot
from hexapod_dynamics.drivers.thread_priority import raise_process_priority
from hexapod_dynamics.errors import DeviceError, HexapodError, RobotError
from hexapod_dynamics.nodes.messages import fill_odometry, read_rotation
from hexapod_dynamics.nodes.morphology_messages import make_morphology_event, read_values
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.onboard.declarations import apply
from hexapod_dynamics.parameters.simulator import FAULT_PARAMETERS, LOAD_PARAMETERS, PARAMETERS
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, make_frame_name
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.runtime_directory import device_directory
from hexapod_dynamics.simulation import Truth
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent, SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String

if TYPE_CHECKING:
    from builtin_interfaces.msg import Time as Stamp
    from hexapod_dynamics.devices.simulated_robot import State
    from rclpy.parameter import Parameter


class SimulatorNode(RobotNode):
    """Publishes `~/odom`, `~/joint_states`, and at each change `~/damage` and `~/robot_description` (latched).

    Also latched: `~/truth`, how the simulated robot and its ground differ from the model (`Truth.describe`).

    The service `~/set_damage` breaks and repairs the robot; a geometry_msgs/Wrench on `~/push` (base_link
    axes) pushes its body for 0.2 s. The parameters `faults.*` set faults of its devices, at the
    start or at any time (`devices.faults`); `load.mass`, `load.x`, `load.y` put a load on its body.
    """

    def __init__(self) -> None:
        super().__init__("simulator", PARAMETERS)
        sys.setswitchinterval(0.001)  # [s] after which the physics lets the threads of the devices answer
        robot, values = self.robot, self.values
        physics, truth = values.read("physics", str), values.read("truth", str)
        morphology = Morphology.whole(robot).without(*values.read_texts("damage"))
        self.simulated = SimulatedRobot(
            robot,
            morphology,
            values.read("device_directory", str) or device_directory(self.get_namespace()),
            timestep=values.read("timestep", float),
            session=values.read("session", str),
            bus=values.read("bus", str),
            physics=physics,
            truth=Truth.parse(truth),
        )
        self.ending.callback(self.simulated.stop)
        self._simulates = f"{physics}, truth: {truth or 'as the model'}"
        self.simulated.faults.set({spec.name.removeprefix("faults."): values[spec.name] for spec in FAULT_PARAMETERS})
        self._load = {spec.name: values.read(spec.name, float) for spec in LOAD_PARAMETERS}
        self._put_on()
        self.add_on_set_parameters_callback(self._on_parameters)
        self._odometry = Odometry(child_frame_id=make_frame_name(self, "base_link"))
        self._odometry.header.frame_id = "world"
        self._joints = JointState()
        self._shown: Morphology | None = None  # the morphology that was published last
        self._damage_publisher = self.create_publisher(ParameterEvent, "~/damage", LATCHED)
        self._description_publisher = self.create_publisher(String, "~/robot_description", LATCHED)
        self._truth_publisher = self.create_publisher(String, "~/truth", LATCHED)
        self._truth_publisher.publish(String(data=self.simulated.physics.truth.describe()))
        self._odometry_publisher = self.create_publisher(Odometry, "~/odom", 10)
        self._joints_publisher = self.create_publisher(JointState, "~/joint_states", 10)
        self.create_service(SetParametersAtomically, "~/set_damage", self._on_damage)
        # Puts the robot at rest with this attitude, world <- base_link, for example upside down.
        at_rest = self.simulated.place_at_rest
        self.create_subscription(Quaternion, "~/set_attitude", lambda message: at_rest(read_rotation(message)), 1)
        self.create_subscription(Wrench, "~/push", self._on_push, 1)
        self.simulated.start()
        # A servo or an IMU does not wait for a processor; the priority is lower than that of `servos`. On a single
        # processor a physics that is too slow would leave nothing to the robot's nodes.
        self._priority = raise_process_priority(9) if len(os.sched_getaffinity(0)) > 1 else "normal"
        self.loop = TickLoop(self, 1.0 / values.read("rate", float), self._publish)
        self._diagnostics = Diagnostics(self, f"simulated {robot.name}", self._diagnose)

    def _put_on(self) -> None:
        """Let the robot carry the load of the parameters."""
        load = self._load
        self.simulated.set_payload(load["load.mass"], (load["load.x"], load["load.y"], 0.03))  # [m] over its origin

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Set faults of the devices and the load: all values of a request or none."""
        faults = {
            parameter.name.removeprefix("faults."): parameter.value
            for parameter in parameters
            if parameter.name.startswith("faults.")
        }
        try:
            self.simulated.faults.set(faults)
        except DeviceError as error:
            return SetParametersResult(successful=False, reason=f"faults.{error}")
        self._load |= {parameter.name: parameter.value for parameter in parameters if parameter.name in self._load}
        self._put_on()
        return SetParametersResult(successful=True)

    def _on_damage(
        self, request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        values = read_values(request.parameters)
        here = dict.fromkeys(self.simulated.robot.joint_names, 0.0)  # `update` finds the angle at which it locks
        apply(self.simulated.physics.morphology, values, here)
        self.simulated.update(values)
        response.result.successful = True
        self._diagnostics.publish()
        return response

    def _on_push(self, message: Wrench) -> None:
        """Push the body for a fifth of a second with a wrench in base_link axes [N, N m]."""
        force, torque = message.force, message.torque
        self.simulated.push([force.x, force.y, force.z, torque.x, torque.y, torque.z], 0.2)

    def _publish(self) -> None:
        truth = self.simulated.truth()
        age = int((time.monotonic() - truth.time) * 1e9)
        stamp = Time(nanoseconds=self.get_clock().now().nanoseconds - age).to_msg()
        if self._odometry_publisher.get_subscription_count():
            self._odometry.header.stamp = stamp
            fill_odometry(self._odometry, truth.position, truth.rotation, truth.nu[:6])
            self._odometry_publisher.publish(self._odometry)
        morphology = self.simulated.physics.morphology
        if morphology is not self._shown:
            self._shown = morphology
            self._damage_publisher.publish(make_morphology_event(self, morphology))
            try:
                self._description_publisher.publish(String(data=self.simulated.robot.to_urdf(morphology)))
            except RobotError as error:  # the robot has helical joints: it is simulated nevertheless
                self.get_logger().warning(f"no ~/robot_description: {error}", once=True)
        if self._joints_publisher.get_subscription_count():
            self._publish_joints(truth, stamp, morphology)

    def _publish_joints(self, truth: State, stamp: Stamp, morphology: Morphology) -> None:
        joints = self._joints
        joints.header.stamp = stamp
        existing = morphology.existing_mask
        joints.name = [name for name, there in zip(self.simulated.robot.joint_names, existing, strict=True) if there]
        joints.position = truth.joints[existing].tolist()
        joints.velocity = truth.nu[6:][existing].tolist()
        joints.effort = truth.torques[existing].tolist()
        self._joints_publisher.publish(joints)

    def _diagnose(self) -> tuple[str, str, dict[str, object]]:
        simulated = self.simulated
        try:
            late = simulated.pop_lateness()
        except HexapodError as error:
            return "error", f"the physics has stopped: {error}", {}
        damage = simulated.physics.morphology.describe()
        values = {
            "damage": damage,
            "physics": self._simulates,
            "faults": " ".join(simulated.faults.active),
            "worst lateness [s]": late,
            "skipped time [s]": simulated.skipped,
            "frames received on the servo bus": simulated.servo_bus.frames,
            "priority": self._priority,
        }
        if late > 0.1:
            return "warn", f"{damage}; the computer is overloaded: the physics was {late:.2f} s late", values
        return "ok", damage, values
