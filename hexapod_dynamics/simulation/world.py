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
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.core import _core
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.simulation.ground import Ground

# A contact at rest under 1 N creeps 0.3 mm in a minute [N s/m].
STICTION_VISCOSITY = 2e5
_TRIES = 5  # number of angles of each joint that are tried, over its range
_CLEAR = 0.002  # [m] sufficient height over the ground
_STANDS = 0.003  # [m] depth in the ground up to which a foot of a longer leg counts as standing
NO_PAYLOAD = (0.0, (0.0, 0.0, 0.0))


class State(NamedTuple):
    """position (3,) [m], rotation (3, 3) world <- base_link, q (n,) [rad], nu (6 + n,): body twist, linear first, and
    rates [m/s, rad/s].
    """

    position: np.ndarray
    rotation: np.ndarray
    q: np.ndarray
    nu: np.ndarray


class World(NamedTuple):
    """Surroundings, servos, and results of the last step.

    box (3,) [m]: sides of the body. plane (1,), rises (k,): of the Ground. contact (1,): law of the contacts. drive
    (1,): numbers of all servos; servos (n,). Results: acceleration (6 + n,), foot_forces (legs, 3) [N, world] at the
    end of each leg's last link, ground_force (3,) [N, world], contact_count (1,), friction_memory (n + 8, 2): of each
    place that may touch the ground, 1 if it slides, and its normal force [N]. The fields of structs: core/world.h.
    """

    box: np.ndarray
    plane: np.ndarray
    rises: np.ndarray
    contact: np.ndarray
    drive: np.ndarray
    servos: np.ndarray
    acceleration: np.ndarray
    foot_forces: np.ndarray
    ground_force: np.ndarray
    contact_count: np.ndarray
    friction_memory: np.ndarray


def make_state(joints: int) -> State:
    """Return a State of zeros for this number of joints, at the origin, upright."""
    return State(np.zeros(3), np.eye(3), np.zeros(joints), np.zeros(6 + joints))


def make_servos(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers (1,) of a Robot's servos and their states (n,), loaded, at zero; fields: core/world.h."""
    drive, servos = np.zeros(1, _core.DRIVE), np.zeros(robot.joint_count, _core.SERVO)
    for name in ("stiffness", "damping", "torque_limit", "speed_limit"):
        drive[name] = getattr(robot.servo, name)
    drive["feed_forward"] = 1.0
    servos["loaded"] = servos["driven"] = 1.0
    servos["lower"] = [joint.lower for joint in robot.joints]
    servos["upper"] = [joint.upper for joint in robot.joints]
    return drive, servos


def rest_servos(servos: np.ndarray, setpoints: np.ndarray) -> None:
    """Put servos at rest at set-points (n,) [rad]."""
    servos["setpoint"] = servos["target"] = setpoints
    servos["rate"] = servos["speed"] = 0.0


def set_driven(servos: np.ndarray, morphology: Morphology, q: np.ndarray) -> None:
    """Adopt from a Morphology which servos are limp; a repaired servo starts from the position of its joint, q
    (n,) [rad].
    """
    driven = morphology.driven_mask | ~morphology.moving_mask
    back = driven & (servos["driven"] == 0.0)
    servos["setpoint"][back] = servos["target"][back] = q[back]
    servos["speed"][back] = 0.0
    servos["driven"] = driven


def stop_stuck(state: State, morphology: Morphology) -> None:
    """Put locked joints at their positions; rates of locked and missing joints are zero."""
    stuck = ~morphology.moving_mask
    locked = morphology.existing_mask & stuck
    state.q[locked] = morphology.locked_positions[locked]
    state.nu[6:][stuck] = 0.0


def make_world(robot: Robot, ground: Ground) -> World:
    """Return the World of a Robot on a Ground, its servos at zero."""
    joints = robot.joint_count
    drive, servos = make_servos(robot)
    plane, rises = ground.structs()
    contact = np.zeros(1, _core.LAW)
    contact["stiffness"], contact["damping"] = robot.contact.stiffness, robot.contact.damping
    contact["viscous"], contact["stiction"] = robot.contact.friction, STICTION_VISCOSITY
    contact["coulomb"] = -1.0 if ground.is_viscous else ground.friction
    return World(
        box=np.array(robot.body.box, float),
        plane=plane,
        rises=rises,
        contact=contact,
        drive=drive,
        servos=servos,
        acceleration=np.zeros(6 + joints),
        foot_forces=np.zeros((len(robot.legs), 3)),
        ground_force=np.zeros(3),
        contact_count=np.zeros(1, np.int64),
        friction_memory=np.zeros((joints + _core.CORNERS, 2)),
    )


class SteppedModel:
    """A robot with a morphology on a ground: common part of Simulator and Predictor.

    payload: mass [kg] and place (3,) [m] in base_link of a point mass on the body. `compiled`: the Simulation that
    steps the arrays of `state` and `world`.
    """

    def __init__(
        self,
        robot: Robot,
        morphology: Morphology,
        ground: Ground,
        payload: tuple[float, npt.ArrayLike] = NO_PAYLOAD,
    ) -> None:
        self.robot, self.morphology, self._payload = robot, morphology, payload
        self.state, self.world = make_state(robot.joint_count), make_world(robot, ground)
        self._compile()

    def _compile(self) -> None:
        self.compiled = _core.Simulation(self.robot, self.morphology, self.state, self.world)
        self.compiled.add_payload(self._payload[0], *np.asarray(self._payload[1], float).tolist())

    def __getstate__(self) -> dict[str, object]:
        """Return the state for copies and pickles: everything except the compiled part."""
        state = self.__dict__.copy()
        state["compiled"] = self.compiled.external
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._compile()
        self.push(state["compiled"])

    def __copy__(self) -> SteppedModel:
        return copy.deepcopy(self)  # a shallow copy would share the state

    def apply_joint_constraints(self) -> None:
        """Set locked joints to their positions, stop locked and missing joints, enable the servos of the others."""
        stop_stuck(self.state, self.morphology)
        set_driven(self.world.servos, self.morphology, self.state.q)

    def settle_servos_at(self, setpoints: np.ndarray) -> None:
        """Put the servos at rest at set-points (n,) [rad]."""
        rest_servos(self.world.servos, setpoints)

    def forget(self) -> None:
        """Clear what the last step has stored for the next one: forces, sliding contacts, saturated servos."""
        world = self.world
        for name in ("acceleration", "foot_forces", "ground_force", "contact_count", "friction_memory"):
            getattr(world, name)[:] = 0
        for name in ("torque", "saturated", "stopped"):
            world.servos[name] = 0.0

    def set_morphology(self, morphology: Morphology) -> None:
        """Change the morphology between two steps.

        A joint that locks in motion is an impact within the joint: the rows k of the mass matrix that still move keep
        their momentum, nu_k+ = (M_kk)^-1 (M nu)_k (zeroing the joint's rate alone loses momentum). Removed parts take
        their momentum with them: no force acts on the rest, so its velocities do not change. Restored parts start at
        rest relative to the part that carries them.
        """
        old, nu = self.morphology, self.state.nu
        locking = old.moving_mask & morphology.existing_mask & ~morphology.moving_mask
        momentum = None
        if np.any(nu[6:][locking]):
            self.compiled.set_morphology(_unlocked(morphology, locking))  # just before the impact
            momentum = np.zeros_like(nu)
            self.compiled.inertial(nu, momentum)
        self.compiled.set_morphology(morphology)
        self.morphology = morphology
        stop_stuck(self.state, morphology)
        if momentum is not None:
            self.compiled.strike(momentum, nu)
        set_driven(self.world.servos, morphology, self.state.q)

    def push(self, wrench: npt.ArrayLike) -> None:
        """Let an external wrench (6,) [N, N m], force first, in base_link, act on the body until the next call."""
        self.compiled.external = wrench

    def resting_height(self) -> float:
        """Return the height [m] of the body over the origin at which its lowest point touches the ground."""
        return self.compiled.resting_height()


def _unlocked(morphology: Morphology, joints: np.ndarray) -> Morphology:
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
        if not joints.size or clearance(leg.name) > (-_STANDS if grown else 0.0):
            continue
        names = list(robot.joint_names)
        limits = {names[k]: joint for k, joint in zip(robot.leg_joints(leg.name), leg.joints, strict=True)}
        ranges = [
            np.linspace(max(limits[names[j]].lower, -2.0), min(limits[names[j]].upper, 2.0), _TRIES) for j in joints
        ]
        asked = q[joints].copy()
        found = []
        for angles in itertools.product(*ranges):
            q[joints] = angles
            clear = min(clearance(leg.name), _CLEAR)
            found.append((-clear, float(np.sum((np.array(angles) - asked) ** 2)), angles))
        q[joints] = min(found)[2]
