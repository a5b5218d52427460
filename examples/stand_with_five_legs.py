"""A leg is gone: where should the body stand so that the servos work least? The model in a CasADi problem.

python examples/stand_with_five_legs.py
"""

import casadi as ca
import numpy as np

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot

robot = Robot.jethexa()
hurt = Morphology.whole(robot).without("RM")
model = WholeBodyModel(robot)
tips = model.casadi_function("tip_positions", hurt)  # (R, p, q) -> (3, 5)
inverse = model.casadi_function("inverse_dynamics", hurt)  # (R, q, nu, nudot) -> wrench on the base, joint torques
joints = np.flatnonzero(hurt.moving_mask)
size, level = 6 + len(joints), ca.DM.eye(3)
standing = TripodGait().bind(robot).position.copy()
feet = tips(level, [0, 0, 0.12], standing)

opti = ca.Opti()
p, q, forces = opti.variable(3), opti.variable(18), opti.variable(3, 5)
places = tips(level, p, q)
# M nudot + C nu + g = (0, tau) + sum J^T f at rest: the feet's forces carry the body, the servos the rest
load = inverse(level, q, ca.DM.zeros(size), ca.DM.zeros(size))
lever = ca.jacobian(ca.vec(places), q)[:, joints.tolist()]
torques = load[6:] - lever.T @ ca.vec(forces)
moment = sum((ca.cross(places[:, k] - p, forces[:, k]) for k in range(5)), ca.MX.zeros(3))
opti.minimize(ca.sumsqr(torques) + 1e-6 * ca.sumsqr(q - standing))
standing_still = [
    places == feet,
    p[2] == 0.12,
    load[:3] == ca.sum2(forces),
    load[3:6] == moment,
    ca.vec(forces[2, :]) >= 0.5,  # every foot presses
    ca.vec(forces[:2, :] ** 2) <= ca.vec((0.4 * ca.repmat(forces[2, :], 2, 1)) ** 2),  # and does not slip
]
opti.set_initial(p, [0, 0, 0.12])
opti.set_initial(q, standing)
opti.set_initial(forces, ca.repmat(ca.DM([0, 0, 5]), 1, 5))
opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})

opti.subject_to([*standing_still, p[:2] == 0])
before = opti.solve().value(torques)
print(f"body over the middle: largest torque {np.abs(before).max():.3f} N m, sum of squares {before @ before:.4f}")
opti.subject_to()  # none of them
opti.subject_to(standing_still)
solution = opti.solve()
after, shift = solution.value(torques), solution.value(p)
x, y = 1e3 * shift[:2]
print(f"body shifted by ({x:+.1f}, {y:+.1f}) mm: {np.abs(after).max():.3f} N m, sum of squares {after @ after:.4f}")
check = model.inverse_dynamics(np.eye(3), solution.value(q), np.zeros(size), np.zeros(size), hurt)
print(f"the compiled model agrees to {np.abs(check - np.array(solution.value(load)).ravel()).max():.0e}")
