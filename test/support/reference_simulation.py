"""The same robot, contacts and servos as one right-hand side, on Pinocchio and scipy alone, for tests."""

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp
from support.pinocchio_robot import PinocchioRobot


class ReferenceSimulation:
    """Equations of motion of a morphology on level ground, its servos on a straight way from q0 at given rates."""

    def __init__(self, morphology, q0, setpoint_rates):
        robot = self.robot = morphology.robot
        self.pin = PinocchioRobot(morphology)
        self.places = np.array(self.pin.q_places)
        self.limp = ~morphology.driven_mask[self.places]
        self.q0, self.rates = np.asarray(q0)[self.places], np.asarray(setpoint_rates)[self.places]
        names = [f"tip {leg.name} {link.name}" for leg in robot.legs for link in morphology.links(leg.name)]
        self.frames = [self.pin.model.getFrameId(name) for name in names]
        half = robot.body.box / 2
        self.corners = half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        base = self.pin.model.getJointId("base")
        for k, corner in enumerate(self.corners):
            frame = pin.Frame(f"corner {k}", base, pin.SE3(np.eye(3), corner), pin.OP_FRAME)
            self.frames.append(self.pin.model.addFrame(frame))
        self.pin.data = self.pin.model.createData()

    def torque(self, t, q, rate):
        """Servo torques, and the drag of limp servos."""
        servo = self.robot.servo
        torque = servo.stiffness * (self.q0 + self.rates * t - q) + servo.damping * (self.rates - rate)
        torque = np.clip(torque, -servo.torque_limit, servo.torque_limit)
        return np.where(self.limp, -servo.damping * rate, torque)  # the gear train's drag is all that is left

    def __call__(self, t, state):
        """Time derivative of (position, quaternion, q of the moving joints, nu)."""
        model, data, contact = self.pin.model, self.pin.data, self.robot.contact
        n = len(self.places)
        configuration, nu = state[: 7 + n].copy(), state[7 + n :]
        configuration[3:7] /= np.linalg.norm(configuration[3:7])
        force = np.concatenate([np.zeros(6), self.torque(t, configuration[7:], nu[6:])])
        pin.forwardKinematics(model, data, configuration, nu)
        pin.computeJointJacobians(model, data, configuration)
        pin.updateFramePlacements(model, data)
        for frame in self.frames:
            z = data.oMf[frame].translation[2]
            if z >= 0.0:
                continue
            jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
            v = jacobian @ nu
            push = max(0.0, -contact.stiffness * z - contact.damping * v[2])
            force += jacobian.T @ [-contact.friction * v[0], -contact.friction * v[1], push]
        acceleration = pin.aba(model, data, configuration, nu, force)
        rotation = pin.Quaternion(configuration[3:7]).toRotationMatrix()
        w = nu[3:6]
        x, y, z, s = state[3:7]
        turn = 0.5 * np.array(
            [
                s * w[0] + y * w[2] - z * w[1],
                s * w[1] + z * w[0] - x * w[2],
                s * w[2] + x * w[1] - y * w[0],
                -x * w[0] - y * w[1] - z * w[2],
            ]
        )
        return np.concatenate([rotation @ nu[:3], turn, nu[6:], acceleration])

    def run(self, position, rotation, nu, seconds, tolerance=1e-9):
        """Return position, rotation, q of the moving joints and nu after so many seconds."""
        moving = np.concatenate([np.arange(6), 6 + self.places])
        start = np.concatenate([position, pin.Quaternion(rotation).coeffs(), self.q0, nu[moving]])
        # Contact damping on a foot's small mass makes the equations stiff: the longest step an explicit method bears.
        result = solve_ivp(self, (0.0, seconds), start, "DOP853", rtol=tolerance, atol=tolerance, max_step=4e-4)
        end = result.y[:, -1]
        n = len(self.places)
        turn = pin.Quaternion(end[3:7] / np.linalg.norm(end[3:7])).toRotationMatrix()
        return end[:3], turn, end[7 : 7 + n], end[7 + n :]
