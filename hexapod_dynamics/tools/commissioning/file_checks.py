"""What can be wrong with the numbers of a robot's file, before any device is asked: masses, reach, torques, servos."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.legs import leg_table, neutral_foothold
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.planning.plan import mirror_partners, tripod_plan
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import check_servo_ids
from hexapod_dynamics.simulation import Ground, Simulator
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, passed

STANDING = 3  # legs that carry the robot in a tripod
MOST_TORQUE = 0.6  # share of the torque limit that standing may take
MOST_SAG = 0.01  # [m] by which the body may sink because the servos are not stiff
MOST_RADIUS = 0.8  # radius of gyration of a body as a share of its largest dimension
SPEED, SECONDS = 0.05, 4.0  # [m/s], [s] of the simulated walk


def check_robot_file(robot: Robot) -> Iterator[Finding]:
    """Yield a Finding for masses, servos, the build of the legs, reach, torques, symmetry and a simulated walk."""
    yield _masses(robot)
    yield _servos(robot)
    try:
        table = leg_table(robot)
    except HexapodError as error:
        yield failed(
            "legs", "legs", str(error), "describe each leg as a coxa, femur and tibia as in config/jethexa.yaml"
        )
        return
    reach = _reach(robot, table)
    yield reach
    yield _torques(robot, table)
    yield _symmetry(robot)
    if not reach.remedy and tripod_plan(robot) is not None:
        yield _walk(robot)


def _masses(robot: Robot) -> Finding:
    extent = float(max(robot.body.box.max(), 0.01))
    parts = [("body", robot.body.mass, robot.body.inertia, extent)]
    parts += [(f"{leg.name}.{link.name}", link.mass, link.inertia, max(link.length, 0.01))
              for leg in robot.legs for link in leg.links]  # fmt: skip
    for name, mass, inertia, size in parts:
        radius = float(np.sqrt(np.linalg.eigvalsh(inertia)[-1] / mass))
        if radius > max(MOST_RADIUS * size, 0.05):
            return failed("masses", name, f"radius of gyration {radius:.3f} m, size {size:.3f} m",
                          "check the units of its inertia: kg m^2")  # fmt: skip
    return passed("masses", "masses", f"{robot.mass:.2f} kg, body {robot.body.mass:.2f} kg: compare with a scale")


def _servos(robot: Robot) -> Finding:
    try:
        check_servo_ids(robot)
    except HexapodError as error:
        return failed("servos", "servo ids", str(error), "write them to the file")
    ids = [joint.servo_id for joint in robot.joints if joint.servo_id is not None]
    return passed("servos", "servo ids", f"{len(ids)} different ones, {min(ids)} to {max(ids)}; directions 1 or -1")


def _standing_height(table: np.ndarray) -> float:
    return min(0.12, float(table["lengths"][:, 2].min()))


def _reach(robot: Robot, table: np.ndarray) -> Finding:
    """Check that each foot reaches the ground below its hip, 3 cm to the front and to the back, and is lifted 3 cm."""
    height = _standing_height(table)
    for row, leg in zip(table, robot.legs, strict=True):
        kinematics, place = LegKinematics.of(robot, leg.name), neutral_foothold(row)
        for step in ((0.0, 0.0, 0.0), (0.03, 0.0, 0.0), (-0.03, 0.0, 0.0), (0.0, 0.0, 0.03)):
            try:
                kinematics.inverse(kinematics.to_leg(np.array([*place, -height]) + step))
            except HexapodError as error:
                return failed("reach", leg.name, str(error), "check lengths, limits and signs of axes of this leg")
    return passed("reach", "reach", f"all feet step 3 cm to the front and back, body at {1e3 * height:.0f} mm")


def _torques(robot: Robot, table: np.ndarray) -> Finding:
    """Estimate the femur's torque on three legs: a third of the weight, the length of the femur away."""
    load = robot.mass * robot.gravity / min(STANDING, len(robot.legs))
    lever = float(table["lengths"][:, 1].max())
    torque, sag = load * lever, load * lever**2 / robot.servo.stiffness
    limit = robot.servo.torque_limit
    seen = f"{torque:.2f} N m in a femur on three legs, limit {limit:.2f}; sinks {1e3 * sag:.1f} mm"
    if torque > MOST_TORQUE * limit or sag > MOST_SAG:
        return failed(
            "torques", "torques", seen, "check masses, servo.torque_limit [N m] and servo.stiffness [N m/rad]"
        )
    return passed("torques", "torques", seen)


def _symmetry(robot: Robot) -> Finding:
    try:
        mirror_partners(robot)
    except HexapodError as error:
        return passed("symmetry", "symmetry", f"{error}: each set of lost legs gets a plan of its own")
    return passed("symmetry", "symmetry", "left and right are mirror images: they share plans")


def _walk(robot: Robot) -> Finding:
    """Let the robot walk in simulation; this also compiles its model, so that a later launch starts faster."""
    gait = AdaptiveGait(plans=PlanLibrary(robot)).bind(robot)
    asked = float(gait.command(SPEED, 0.0, 0.0)[0])
    sim = Simulator(robot, gait=gait, timestep=2e-3, command_period=0.02, ground=Ground(friction=0.6))
    sim.run(1.0)
    start = sim.position.copy()
    log = sim.run(SECONDS, log_every=5)
    share = float(np.linalg.norm((sim.position - start)[:2])) / (asked * SECONDS)
    tilt = float(np.degrees(np.abs(log.euler_zyx[:, 1:]).max()))
    seen = f"{100 * share:.0f} % of {100 * asked:.1f} cm/s in simulation, tilt up to {tilt:.1f} degrees"
    if share < 0.8 or tilt > 8.0:
        return failed(
            "walk", "walk", seen, "check masses, stiffness, contact and lengths; `plan --plot` draws the gait"
        )
    return passed("walk", "walk", seen)
