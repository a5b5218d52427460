"""The simulated robot in MuJoCo, which computes contact, friction and rigid-body dynamics.

Same interface as `Simulator`. MuJoCo solves the bodies, the joint stops, the collisions of links with the ground and
with each other, and Coulomb's friction cone; the set-points move as in `Simulator` and act through MuJoCo's actuators.
Needs the package `mujoco`, which is imported when the first simulator is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot.mjcf import FOOT_RADIUS, GROUND, ROBOT
from hexapod_dynamics.simulation.ground import SLIPPERY, Ground
from hexapod_dynamics.simulation.robot_simulator import RobotSimulator
from hexapod_dynamics.simulation.servo_law import ServoLaw

if TYPE_CHECKING:
    import mujoco

# The height field: points per side, spacing [m], half of its side [m].
POINTS, SPACING = 401, 0.0125
HALF_EXTENT = 0.5 * (POINTS - 1) * SPACING
_MEETS_ROBOT = f'contype="{GROUND}" conaffinity="{ROBOT}"'
# Inertia of a servo's rotor at its output shaft [kg m^2], for joints that have none in their description: a few 1e-8 at
# a gear ratio of about 300.
ROTOR_INERTIA = 0.003


def import_mujoco() -> ModuleType:
    """Return the module mujoco; HexapodError with the remedy if it is not installed."""
    try:
        import mujoco
    except ImportError as error:
        raise HexapodError(
            "physics 'mujoco' needs the Python package mujoco, which is not installed here: pip install mujoco "
            "(or ./with_ros2, which installs it), or use physics:=built_in"
        ) from error
    return mujoco


class MujocoGround:
    """A Ground in a MuJoCo model, set by `attach`: a plane, or a height field that follows the robot; patches below the
    feet.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._flat = not ground.steps and ground.rough == 0.0
        self._centre: np.ndarray | None = None

    def write_xml(self) -> tuple[str, str]:
        """Return the MJCF of the ground's assets, and of its geom."""
        ground = self.ground
        if self._flat:
            normal = np.array([-ground.slope_x, -ground.slope_y, 1.0])
            axis = " ".join(repr(float(value)) for value in normal)
            return "", f'<geom name="ground" type="plane" size="0 0 1" zaxis="{axis}" {_MEETS_ROBOT}/>'
        assets = (
            f'<asset><hfield name="ground" nrow="{POINTS}" ncol="{POINTS}" '
            f'size="{HALF_EXTENT} {HALF_EXTENT} {self._relief()!r} 0.2"/></asset>'
        )
        return assets, f'<geom name="ground" type="hfield" hfield="ground" {_MEETS_ROBOT}/>'

    def attach(self, model: mujoco.MjModel, feet: Iterable[int]) -> None:
        """Set the compiled model and the ids of the feet's geoms."""
        self._model, self._feet = model, list(feet)
        self.geom = model.geom("ground").id
        self._centre = None
        if self.ground.patches:  # each foot gets the properties of the ground below it
            model.geom_priority[self._feet] = 1

    def _relief(self) -> float:
        """Return an upper bound [m] of the height range of the field."""
        ground = self.ground
        steps = sum(abs(rise) for _, rise in ground.steps)
        return float(2.0 * HALF_EXTENT * (abs(ground.slope_x) + abs(ground.slope_y)) + ground.rough + steps + 1e-3)

    def move_field(self, here: np.ndarray) -> None:
        """Move the height field to the robot's (x, y) [m], if that is far from the centre of the field."""
        if self._flat or (self._centre is not None and np.abs(here - self._centre).max() < HALF_EXTENT - 0.6):
            return  # [m] from the edge of the field
        self._centre = (np.floor(here / SPACING) + 0.5) * SPACING  # so that the edges of blocks are between points
        at = (np.arange(POINTS) - (POINTS - 1) // 2) * SPACING
        heights = self.ground.heights(self._centre[0] + at, self._centre[1] + at)
        low = heights.min()
        self._model.hfield_data[:] = ((heights - low) / self._model.hfield_size[0, 2]).ravel()
        self._model.geom_pos[self.geom] = [*self._centre, low]
        self._model.geom_sameframe[self.geom] = 0  # else MuJoCo ignores geom_pos

    def set_patches(self, places: np.ndarray) -> None:
        """Give each foot the friction and the softness of the ground below it; places (geoms, 3) [m]."""
        for geom in self._feet:
            x, y, _ = places[geom]
            patch = self.ground.patch(x, y)
            self._model.geom_friction[geom, 0] = SLIPPERY if patch == "slippery" else self.ground.friction
            # [s] and damping ratio: on a soft patch a foot that carries a third of the robot sinks by 1 cm.
            self._model.geom_solref[geom] = (0.3, 1.0) if patch == "soft" else (0.02, 1.0)


class MujocoSimulator(RobotSimulator):
    """A Robot on the ground in MuJoCo; arguments: see `RobotSimulator`. The gait commands the servos every 20 ms by
    default.
    """

    COMMAND_PERIOD = 0.02

    # ---- the model ---------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._mujoco = import_mujoco()
        self._mean_acceleration = np.zeros(3)
        x, y, z = self.robot.imu.position
        # maps an angular velocity to the IMU's velocity
        self._lever = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        self._compile()

    def __getstate__(self) -> dict[str, object]:
        """Return what copies and pickles have: all but the module."""
        return {name: value for name, value in vars(self).items() if name != "_mujoco"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _mujoco=import_mujoco())

    def _compile(self) -> None:
        """Compile MuJoCo's model of the morphology."""
        truth, mujoco = self.truth, self._mujoco
        friction = 0.0 if self.ground.is_viscous else self.ground.friction
        self._terrain = MujocoGround(self.ground)
        assets, extra = self._terrain.write_xml()
        text = self._true_robot.to_mjcf(
            self._true_morphology,
            timestep=self.timestep,
            friction=friction,
            extra=extra,
            payload=truth.payload,
            payload_position=truth.payload_position,
            rotor_inertia=ROTOR_INERTIA,
            floor=False,
        ).replace("<worldbody>", f"{assets}<worldbody>", 1)
        self.model = mujoco.MjModel.from_xml_string(text)
        # The middle phase of collision assumes the position that the ground had when the model was compiled, but the
        # height field moves. With that phase, the feet fell through a rough ground 2.5 m from the start.
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE
        self.data = mujoco.MjData(self.model)
        kinds, names, feet = mujoco.mjtObj, self.robot.joint_names, [f"foot_{leg.name}" for leg in self.robot.legs]
        self._joints, joints = self._find(kinds.mjOBJ_JOINT, names)
        self._qpos, self._qvel = self.model.jnt_qposadr[joints], self.model.jnt_dofadr[joints]
        _, self._actuators = self._find(kinds.mjOBJ_ACTUATOR, names)
        self._base = self.model.body("base_link").id
        legs, geoms = self._find(kinds.mjOBJ_GEOM, feet)
        self._foot_geoms = dict(zip(geoms.tolist(), legs.tolist(), strict=True))
        _, self._foot_sites = self._find(kinds.mjOBJ_SITE, feet)
        self._loaded_now = np.full(len(joints), -1.0)
        if self._law is not None:
            self.model.dof_damping[self._qvel] += self._law.viscous
            # With the default a stuck joint creeps 15 times as fast.
            self.model.dof_solimp[self._qvel, :2] = 0.99, 0.999
        self._terrain.attach(self.model, self._foot_geoms)

    def _find(self, kind: int, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the places in `names` of what the model has of a kind, and its ids (present,)."""
        ids = np.array([self._mujoco.mj_name2id(self.model, kind, name) for name in names], int)
        return np.flatnonzero(ids >= 0), ids[ids >= 0]

    # ---- as Simulator ------------------------------------------------------------------------------------------------

    def _settle(self, *, on_ground: bool) -> None:
        self._mean_acceleration[:] = 0.0
        self._terrain.move_field(self.position[:2])
        self._write()
        if on_ground:
            self.position[2] = self._resting_height()
            self._write()

    def _adopt_morphology(self) -> None:
        self._compile()
        self._model.morphology = self._true_morphology
        self._model.apply_joint_constraints()
        self._terrain.move_field(self.position[:2])
        self._write()

    def _run(self, steps: int, log: np.ndarray, log_every: int) -> None:
        for row in range(len(log)):
            self._advance(log_every)
            self._model.foot_forces[:], self._model.ground_force[:] = self._contact_forces()
            self._model.log_state(log[row])
        self._advance(steps - len(log) * log_every)

    def _advance(self, steps: int) -> None:
        if steps == 0:
            return
        data, before = self.data, self._imu_velocity()
        self._terrain.move_field(self.position[:2])
        pushed, rate = self._model.external.any(), data.qvel[3:6]
        data.xfrc_applied[self._base] = 0.0
        self._mean_rate[:] = 0.0
        for _ in range(steps):
            if self.gait is not None:
                if self._since_command == 0:
                    self._command_from(self.gait)
                self._since_command = (self._since_command + 1) % self._command_steps
            self._execute_delayed()
            self._model.move_setpoints(self.timestep)
            self._set_servos()
            if pushed:
                self._apply_wrench()
            if self.ground.is_viscous:
                self._apply_viscous_friction()
            if self.ground.patches:
                self._terrain.set_patches(data.geom_xpos)
            self._mujoco.mj_step(self.model, data)
            self._mean_rate += rate
            self._steps += 1
        self._mean_rate /= steps
        self._read()
        self._mean_acceleration[:] = (self._imu_velocity() - before) / (steps * self.timestep)
        self._check_divergence()

    def _specific_force(self) -> np.ndarray:
        return self.rotation.T @ (self._mean_acceleration + [0.0, 0.0, self.robot.gravity])

    # ---- within a step -----------------------------------------------------------------------------------------------

    def _apply_law(self, law: ServoLaw) -> None:
        """Compute the servos' position loops and set their friction; the actuator's control is the loop's torque."""
        rows, data = self._model.servos, self.data
        on = (rows["loaded"] * rows["driven"])[self._joints]
        if (on != self._loaded_now).any():
            drag = self._model.drive["damping"][0]
            self.model.actuator_gainprm[self._actuators, 0] = 1.0
            self.model.actuator_biasprm[self._actuators, 1] = 0.0
            self.model.actuator_biasprm[self._actuators, 2] = -np.where(on, law.damping, drag)
            self._loaded_now = on
        elif self._steps % self._loop_steps:
            return
        here = self.q.copy()
        here[self._joints] = data.qpos[self._qpos]
        law.follow(here)
        torques = law.compute_torques(rows["setpoint"], rows["rate"])[self._joints]
        data.ctrl[self._actuators] = on * torques
        if law.scale:
            rates = data.qvel[self._qvel]
            friction_rows = slice(data.ne, data.ne + data.nf)
            dry = np.zeros(self.model.nv)
            dry[data.efc_id[friction_rows]] = data.efc_force[friction_rows]
            others = (data.qfrc_constraint - dry - data.qfrc_bias)[self._qvel]
            self.model.dof_frictionloss[self._qvel] = law.compute_dry_friction(
                data.actuator_force[self._actuators], others, rates
            )

    def _set_servos(self) -> None:
        """Write the set-points: the actuator pulls the joint to the set-point, whose rate is fed forward."""
        if self._law is not None:
            self._apply_law(self._law)
            return
        rows, joints = self._model.servos, self._joints
        stiffness, damping = (self._model.drive[name].item() for name in ("stiffness", "damping"))
        on = (rows["loaded"] * rows["driven"])[joints]
        if (on != self._loaded_now).any():
            gain = on * stiffness
            self.model.actuator_gainprm[self._actuators, 0] = gain
            self.model.actuator_biasprm[self._actuators, 1] = -gain
            self._loaded_now = on
        control = rows["setpoint"][joints]
        if self._band:
            here = self.data.qpos[self._qpos]
            lag = control - here
            control = here + lag - np.clip(lag, -self._band, self._band)
        if stiffness > 0.0:
            control = control + damping / stiffness * rows["rate"][joints]
        self.data.ctrl[self._actuators] = control

    def _apply_wrench(self) -> None:
        rotation, wrench = self.data.xmat[self._base].reshape(3, 3), self._model.external.reshape(2, 3)
        self.data.xfrc_applied[self._base] = (wrench @ rotation.T).ravel()

    def _apply_viscous_friction(self) -> None:
        """Apply the paper's friction as external forces: -b v_t at every foot that is in the ground."""
        mujoco, data = self._mujoco, self.data
        data.qfrc_applied[:] = 0.0
        velocity, jacobian = np.zeros(3), np.zeros((3, self.model.nv))
        for site in self._foot_sites:
            x, y, z = data.site_xpos[site]
            if z > self.ground.height(x, y) + 1e-4:
                continue
            mujoco.mj_jacSite(self.model, data, jacobian, None, site)
            velocity[:] = jacobian @ data.qvel
            velocity[2] = 0.0
            data.qfrc_applied += jacobian.T @ (-self.robot.contact.friction * velocity)

    def _contact_forces(self) -> tuple[np.ndarray, np.ndarray]:
        mujoco, data, ground = self._mujoco, self.data, self._terrain.geom
        feet, total, force = np.zeros((len(self.robot.legs), 3)), np.zeros(3), np.zeros(6)
        for k in range(data.ncon):
            contact = data.contact[k]
            if ground not in (contact.geom1, contact.geom2):
                continue
            mujoco.mj_contactForce(self.model, data, k, force)
            world = contact.frame.reshape(3, 3).T @ force[:3]
            other, sign = (contact.geom2, 1.0) if contact.geom1 == ground else (contact.geom1, -1.0)
            total += sign * world
            if other in self._foot_geoms:
                feet[self._foot_geoms[other]] += sign * world
        return feet, total

    def _imu_velocity(self) -> np.ndarray:
        """Velocity (3,) of the IMU in the world [m/s]."""
        return self.rotation @ (self.nu[:3] + self._lever @ self.nu[3:6])

    def _write(self) -> None:
        """Copy the state to that of MuJoCo."""
        data = self.data
        data.qpos[:3] = self.position
        self._mujoco.mju_mat2Quat(data.qpos[3:7], self.rotation.ravel())
        data.qpos[self._qpos] = self.q[self._joints]
        data.qvel[:3] = self.rotation @ self.nu[:3]
        data.qvel[3:6] = self.nu[3:6]
        data.qvel[self._qvel] = self.nu[6 + self._joints]
        data.xfrc_applied[:] = 0.0
        self._set_servos()
        self._mujoco.mj_forward(self.model, data)
        self._read()

    def _read(self) -> None:
        """Copy the state from that of MuJoCo."""
        data = self.data
        self.position[:] = data.qpos[:3]
        matrix = np.empty(9)
        self._mujoco.mju_quat2Mat(matrix, data.qpos[3:7])
        self.rotation[:] = matrix.reshape(3, 3)
        self.nu[:3] = self.rotation.T @ data.qvel[:3]
        self.nu[3:6] = data.qvel[3:6]
        self.q[self._joints] = data.qpos[self._qpos]
        self.nu[6 + self._joints] = data.qvel[self._qvel]
        self.joint_torques[:] = 0.0
        self.joint_torques[self._joints] = np.where(self._loaded_now == 0.0, 0.0, data.actuator_force[self._actuators])

    def _resting_height(self) -> float:
        """Height [m] of the body at which its lowest shape touches the ground."""
        highest = -np.inf
        for geom in range(self.model.ngeom):
            if geom == self._terrain.geom:
                continue
            x, y, z = self.data.geom_xpos[geom]
            size, matrix = self.model.geom_size[geom], self.data.geom_xmat[geom].reshape(3, 3)
            kind = self.model.geom_type[geom]
            if kind == self._mujoco.mjtGeom.mjGEOM_BOX:
                below = np.abs(matrix[2]) @ size
            elif kind == self._mujoco.mjtGeom.mjGEOM_CAPSULE:
                below = size[0] + abs(matrix[2, 2]) * size[1]
            else:
                below = FOOT_RADIUS
            highest = max(highest, self.ground.height(x, y) + below - (z - self.position[2]))
        return highest
