"""The simulated robot as a node: ground truth out, damage in; its devices are for `servos` and `imu` to open."""

import time

from geometry_msgs.msg import Quaternion
from hexapod_dynamics.devices.faults import FAULTS, FaultInjector
from hexapod_dynamics.devices.paths import device_directory
from hexapod_dynamics.devices.simulated_robot import SimulatedRobot
from hexapod_dynamics.errors import DeviceError, HexapodError, MorphologyError
from hexapod_dynamics.estimation.attitude import quaternion_from_rotation
from hexapod_dynamics.nodes.common import Diagnostics, declare, load_robot, run
from hexapod_dynamics.nodes.morphology import changed, values_of
from hexapod_dynamics.robot import Morphology
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import JointState


class SimulatorNode(Node):
    """Publishes `~/odom` and `~/joint_states`; service `~/set_damage` breaks and mends the robot.

    The parameters `faults.*` make its devices misbehave, at the start or at any time (devices.faults).
    """

    def __init__(self):
        super().__init__('simulator')
        robot = load_robot(self)
        directory = declare(self, 'device_directory', '', 'where the simulated serial port and I2C bus appear; empty: '
                            'the place where servos and imu look by themselves', read_only=True)
        lost = declare(self, 'damage', [''], 'legs and links missing from the start, as RM or LM.femur', read_only=True)
        rate = declare(self, 'rate', 50.0, 'ground truth messages a second', low=1.0, high=200.0, read_only=True)
        timestep = declare(self, 'timestep', 0.001, 'step of the physics [s]', low=0.0001, high=0.004, read_only=True)
        morphology = Morphology.whole(robot).without(*(name for name in lost if name))
        self.simulated = SimulatedRobot(robot, morphology, directory or device_directory(self.get_namespace()),
                                        timestep=timestep)
        self._faults = FaultInjector(robot.joint_names, self.simulated.servo_bus, self.simulated.imu_bus)
        self._faults.set({name: declare(self, f'faults.{name}', fault.healthy, fault.description, low=fault.low,
                                        high=fault.high) for name, fault in FAULTS.items()})
        self.add_on_set_parameters_callback(self._on_parameters)
        self._odometry = Odometry(child_frame_id='base_link')
        self._odometry.header.frame_id = 'odom'
        self._joints = JointState()
        self._existing = None
        self._odometry_publisher = self.create_publisher(Odometry, '~/odom', 10)
        self._joints_publisher = self.create_publisher(JointState, '~/joint_states', 10)
        self.create_service(SetParametersAtomically, '~/set_damage', self._on_damage)
        self.simulated.start()
        self.create_timer(1.0 / rate, self._publish)
        self._diagnostics = Diagnostics(self, f'simulated {robot.name}', self._look)

    def close(self):
        """Take the devices away."""
        self.simulated.stop()

    def _on_parameters(self, parameters):
        """Take faults of the devices over, all of a request or none."""
        faults = {parameter.name.removeprefix('faults.'): parameter.value for parameter in parameters
                  if parameter.name.startswith('faults.')}
        try:
            self._faults.set(faults)
        except DeviceError as error:
            return SetParametersResult(successful=False, reason=f'faults.{error}')
        return SetParametersResult(successful=True)

    def _on_damage(self, request, response):
        try:
            values = values_of(request.parameters)
            here = dict.fromkeys(self.simulated.robot.joint_names, 0.0)     # where it locks is found between two steps
            changed(self.simulated.physics.morphology, values, here)
            self.simulated.update(values)
            response.result.successful = True
            self._diagnostics.publish()
        except MorphologyError as error:
            response.result.successful, response.result.reason = False, str(error)
        return response

    def _publish(self):
        truth = self.simulated.truth()
        age = int((time.monotonic() - truth.time) * 1e9)
        stamp = Time(nanoseconds=self.get_clock().now().nanoseconds - age).to_msg()
        odometry, joints = self._odometry, self._joints
        odometry.header.stamp = joints.header.stamp = stamp
        pose, twist = odometry.pose.pose, odometry.twist.twist
        pose.position.x, pose.position.y, pose.position.z = truth.position.tolist()
        x, y, z, w = quaternion_from_rotation(truth.rotation)
        pose.orientation = Quaternion(x=x, y=y, z=z, w=w)
        twist.linear.x, twist.linear.y, twist.linear.z = truth.nu[:3].tolist()
        twist.angular.x, twist.angular.y, twist.angular.z = truth.nu[3:6].tolist()
        self._odometry_publisher.publish(odometry)
        existing = self.simulated.physics.morphology.existing_mask
        if existing is not self._existing:
            self._existing = existing
            names = self.simulated.robot.joint_names
            joints.name = [name for name, there in zip(names, existing, strict=True) if there]
        joints.position = truth.joints[existing].tolist()
        joints.velocity = truth.nu[6:][existing].tolist()
        joints.effort = truth.torques[existing].tolist()
        self._joints_publisher.publish(joints)

    def _look(self):
        simulated = self.simulated
        try:
            late = simulated.lateness()
        except HexapodError as error:
            return 'error', f'the physics has stopped: {error}', {}
        damage = simulated.physics.morphology.describe()
        values = {'damage': damage, 'faults': ' '.join(self._faults.active), 'worst lateness [s]': late,
                  'time left out [s]': simulated.skipped,
                  'frames heard on the servo bus': simulated.servo_bus.counters.frames}
        if late > 0.1:
            return 'warn', f'{damage}; this machine is too busy: physics was {late:.2f} s late', values
        return 'ok', damage, values


def main(args=None):
    """Run the node."""
    run(SimulatorNode, args)


if __name__ == '__main__':
    main()
