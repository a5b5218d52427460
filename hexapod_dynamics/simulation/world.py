"""A simulated robot: arrays of its state, its servos and its surroundings, and the compiled model that steps them.

A bus servo has a set-point that moves uniformly to its target, and a torque by the deviation of the joint:

    tau = clip(k (setpoint - q) + d (d setpoint/dt - qdot), +- torque limit)

A servo without torque (unloaded in its protocol, or limp in the morphology) has tau = 0. The joint still turns the gear
train, whose drag is -d qdot: the motor's share of d is back-EMF and the controller's, but an HTD-35H with open windings
still takes some 0.1 to 0.3 N m to turn by hand, which d = 0.3 N m s/rad matches at the 0.3 to 1 rad/s at which a limp
leg falls. This drag is a mechanical force: it is not part of the servo's torque. Beyond a joint's limits a stiff
one-sided spring with damping, the joint stop, acts as well. The torque is treated implicitly, like the contact:
for a step of length h, the torque at its end is used (core/simulation.h). Servos that are not springs: servo_law.py.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.core import _core
from hexapod_dynamics.dynamics.checks import require_robot
from hexapod_dynamics.errors import require_instance
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.simulation.ground import Ground


class SteppedModel(_core.Simulation):
    """A robot with a morphology on a ground, its servos at zero: the memory of all simulators, and the Predictor.

    payload: mass [kg] and place (3,) [m] in base_link of a point mass on the body. Arrays: see `_core.Simulation`.
    """

    def __init__(
        self,
        robot: Robot,
        morphology: Morphology,
        ground: Ground,
        payload: tuple[float, npt.ArrayLike] = (0.0, (0.0, 0.0, 0.0)),
    ) -> None:
        require_robot(robot)
        require_instance("ground", ground, Ground)
        Morphology.check(robot, morphology)
        self.robot, self.morphology, self.ground, self._payload = robot, morphology, ground, payload
        self._make()
        self.rotation[:] = np.eye(3)
        self.servos["loaded"] = self.servos["driven"] = 1.0
        self.servos["lower"] = [joint.lower for joint in robot.joints]
        self.servos["upper"] = [joint.upper for joint in robot.joints]

    def _make(self) -> None:
        """Make the compiled part, its memory zero."""
        robot, drive, law = self.robot, np.zeros(1, _core.DRIVE), np.zeros(1, _core.LAW)
        for name in ("stiffness", "damping", "torque_limit", "speed_limit"):
            drive[name] = getattr(robot.servo, name)
        drive["feed_forward"] = 1.0
        contact = robot.contact
        law["stiffness"], law["damping"], law["viscous"] = contact.stiffness, contact.damping, contact.friction
        law["stiction"] = 2e5  # [N s/m]: a contact at rest under 1 N creeps 0.3 mm in a minute
        law["coulomb"] = -1.0 if self.ground.is_viscous else self.ground.friction
        super().__init__(robot, self.morphology, *self.ground.structs(), law, drive)
        self.add_payload(self._payload[0], *np.asarray(self._payload[1], float).tolist())

    def __reduce__(self) -> tuple[object, ...]:
        """Return what makes a copy: all but the compiled part."""
        arrays = {name: getattr(self, name).copy() for name in ("memory", "plane", "drive")}
        return _rebuild, (type(self), vars(self), arrays, self.external.copy())

    def __copy__(self) -> SteppedModel:
        return copy.deepcopy(self)  # a shallow copy would share what Python knows

    def apply_joint_constraints(self) -> None:
        """Set locked joints to their positions, stop locked and missing joints; servos that are limp give no torque,
        and repaired ones start from the positions of their joints.
        """
        stuck, driven = ~self.morphology.moving_mask, self.morphology.driven_mask | ~self.morphology.moving_mask
        locked = self.morphology.existing_mask & stuck
        self.q[locked] = self.morphology.locked_positions[locked]
        self.nu[6:][stuck] = 0.0
        back = driven & (self.servos["driven"] == 0.0)
        self.servos["setpoint"][back] = self.servos["target"][back] = self.q[back]
        self.servos["speed"][back] = 0.0
        self.servos["driven"] = driven

    def settle_servos_at(self, setpoints: np.ndarray) -> None:
        """Put the servos at rest at set-points (n,) [rad]."""
        self.servos["setpoint"] = self.servos["target"] = setpoints
        self.servos["rate"] = self.servos["speed"] = 0.0

    def set_servos(self, setpoints: np.ndarray, targets: np.ndarray, speeds: np.ndarray, loaded: np.ndarray) -> None:
        """Set set-points, targets (n,) [rad], speeds towards them (n,) [rad/s], and which servos are loaded (n,)."""
        servos = self.servos
        servos["setpoint"], servos["target"], servos["speed"], servos["loaded"] = setpoints, targets, speeds, loaded

    def set_morphology(self, morphology: Morphology) -> None:
        """Change the morphology between two steps.

        A joint that locks in motion is an impact within the joint: the rows k of the mass matrix that still move keep
        their momentum, nu_k+ = (M_kk)^-1 (M nu)_k (zeroing the joint's rate alone loses momentum). Removed parts take
        their momentum with them: no force acts on the rest, so its velocities do not change. Restored parts start at
        rest relative to the part that carries them.
        """
        Morphology.check(self.robot, morphology)
        locking = self.morphology.moving_mask & morphology.existing_mask & ~morphology.moving_mask
        momentum = None
        if np.any(self.nu[6:][locking]):
            self.model.change_morphology(_unlock(morphology, locking))  # just before the impact
            momentum = np.zeros_like(self.nu)
            self.inertial(self.nu, momentum)
        self.model.change_morphology(morphology)
        self.morphology = morphology
        self.apply_joint_constraints()
        if momentum is not None:
            self.strike(momentum, self.nu)

    def push(self, wrench: npt.ArrayLike) -> None:
        """Let an external wrench (6,) [N, N m], force first, in base_link, act on the body until the next call."""
        self.external[:] = wrench


def _rebuild(
    kind: type[SteppedModel], attributes: Mapping[str, object], arrays: Mapping[str, np.ndarray], external: np.ndarray
) -> SteppedModel:
    """Return a model of a kind with these attributes and numbers, for copies and pickles."""
    made = kind.__new__(kind)
    vars(made).update(attributes)
    made._make()
    for name, values in arrays.items():
        getattr(made, name)[:] = values
    made.push(external)
    return made


def _unlock(morphology: Morphology, joints: np.ndarray) -> Morphology:
    """Return the morphology in which these joints (n,) bool move, although damage has locked them."""
    robot = morphology.robot
    for index, leg in enumerate(robot.legs):
        for link, joint in enumerate(robot.leg_joints(leg.name)):
            if joints[joint]:
                morphology = morphology.with_working_joint(index, link)
    return morphology


def place_returned(
    robot: Robot,
    before: Morphology,
    after: Morphology,
    position: np.ndarray,
    rotation: np.ndarray,
    q: np.ndarray,
    height: Callable[[float, float], float],
    *,
    longer: bool = False,
) -> None:
    """Move the joints of parts that exist in `after` but not in `before`, in q (n,) [rad], so that they are out of
    the ground.

    longer: whether to move also legs that are longer than before, because a person who repairs a stump lifts the
    leg. position (3,) [m], rotation (3, 3): of base_link in the world. height(x, y) [m]: of the ground. A leg that
    is clear of the ground does not move; else it takes the nearest of several clear postures.
    """
    back = after.existing_mask & ~before.existing_mask
    if longer:
        free = after.existing_mask & after.moving_mask
        for leg in robot.legs:
            if any(0 < before.remaining(leg.name, link) < after.remaining(leg.name, link) for link in leg.link_names):
                longer_joints = robot.leg_joints(leg.name)
                back[longer_joints] = free[longer_joints]
    if not back.any():
        return
    tree = LinkTree(robot, after)

    def clearance(leg: str) -> float:
        poses = tree.base_poses(q)
        points = [position + rotation @ poses[b.child][:3, 3] for b in tree.branches if b.leg == leg]
        return min(float(p[2] - height(float(p[0]), float(p[1]))) for p in points)

    for leg in robot.legs:
        joints = np.arange(robot.joint_count)[robot.leg_joints(leg.name)]
        joints = joints[back[joints]]
        grown = joints.size and before.existing_mask[joints].all()
        # A foot of a longer leg that is less than 3 mm in the ground counts as standing.
        if not joints.size or clearance(leg.name) > (-0.003 if grown else 0.0):
            continue
        limits = [robot.joints[j] for j in joints]
        ranges = [np.linspace(max(joint.lower, -2.0), min(joint.upper, 2.0), 5) for joint in limits]
        asked = q[joints].copy()
        best, clear = -math.inf, asked
        for angles in sorted(itertools.product(*ranges), key=partial(math.dist, asked)):
            q[joints] = angles
            if (height_above := clearance(leg.name)) > best:
                best, clear = height_above, np.array(angles)
            if best >= 0.002:  # [m] is enough
                break
        q[joints] = clear
