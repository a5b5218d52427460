"""What can be wrong with the numbers of a robot's file, before any device is asked: masses, reach, torques, servos."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.legs import leg_table, neutral_foothold
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.planning.plan import mirror_partners, plan_tripod
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Body, Link, Robot
from hexapod_dynamics.robot.servo_map import check_servo_ids
from hexapod_dynamics.simulation import Ground, Simulator
from hexapod_dynamics.tools.commissioning.findings import Finding, label_findings


def check_robot_file(robot: Robot) -> Iterator[Finding]:
    """Yield a Finding for masses, servos, the build of the legs, reach, torques, symmetry and a simulated walk."""
    yield from label_findings("masses", [_masses(robot)])
    yield from label_findings("servos", [_servos(robot)])
    try:
        table = leg_table(robot)
    except HexapodError as error:
        remedy = "describe each leg as a coxa, femur and tibia as in config/jethexa.yaml"
        yield Finding("legs", str(error), remedy, check="legs")
        return
    reach = _reach(robot, table)
    yield from label_findings("reach", [reach])
    yield from label_findings("torques", [_torques(robot, table)])
    yield from label_findings("symmetry", [_symmetry(robot)])
    if reach.passed and plan_tripod(robot) is not None:
        yield from label_findings("walk", [_walk(robot)])


def _masses(robot: Robot) -> Finding:
    parts: list[tuple[str, Body | Link, float]] = [("body", robot.body, float(robot.body.box.max()))]
    parts += [(f"{leg.name}.{link.name}", link, link.length) for leg in robot.legs for link in leg.links]
    for name, part, size in parts:
        radius = float(np.sqrt(np.linalg.eigvalsh(part.inertia)[-1] / part.mass))
        if radius > max(0.8 * size, 0.05):  # no body has its mass farther from its middle
            seen = f"radius of gyration {radius:.3f} m, size {max(size, 0.01):.3f} m"
            return Finding(name, seen, "check the units of its inertia: kg m^2")
    return Finding("masses", f"{robot.mass:.2f} kg, body {robot.body.mass:.2f} kg: compare with a scale")


def _servos(robot: Robot) -> Finding:
    try:
        check_servo_ids(robot)
    except HexapodError as error:
        return Finding("servo ids", str(error), "with hardware:=topics none are needed")
    ids = [joint.servo_id for joint in robot.joints if joint.servo_id is not None]
    return Finding("servo ids", f"{len(ids)} different ones, {min(ids)} to {max(ids)}; directions 1 or -1")


def _reach(robot: Robot, table: np.ndarray) -> Finding:
    """Check that each foot reaches the ground below its hip, 3 cm to the front and to the back, and is lifted 3 cm."""
    height = min(0.12, float(table["lengths"][:, 2].min()))
    for row, leg in zip(table, robot.legs, strict=True):
        kinematics, place = LegKinematics.from_robot(robot, leg.name), neutral_foothold(row)
        for step in ((0.0, 0.0, 0.0), (0.03, 0.0, 0.0), (-0.03, 0.0, 0.0), (0.0, 0.0, 0.03)):
            try:
                kinematics.inverse(kinematics.to_leg(np.array([*place, -height]) + step))
            except HexapodError as error:
                return Finding(leg.name, str(error), "check lengths, limits and signs of axes of this leg")
    return Finding("reach", f"all feet step 3 cm to the front and back, body at {1e3 * height:.0f} mm")


def _torques(robot: Robot, table: np.ndarray) -> Finding:
    """Estimate the femur's torque on three legs: a third of the weight, the length of the femur away."""
    load = robot.mass * robot.gravity / min(3, len(robot.legs))
    lever, limit = float(table["lengths"][:, 1].max()), robot.servo.torque_limit
    torque, sag = load * lever, load * lever**2 / robot.servo.stiffness
    seen = f"{torque:.2f} N m in a femur on three legs, limit {limit:.2f}; sinks {1e3 * sag:.1f} mm"
    bad = torque > 0.6 * limit or sag > 0.01
    remedy = "check masses, servo.torque_limit [N m] and servo.stiffness [N m/rad]"
    return Finding("torques", seen, remedy if bad else "")


def _symmetry(robot: Robot) -> Finding:
    try:
        mirror_partners(robot)
    except HexapodError as error:
        return Finding("symmetry", f"{error}: each set of lost legs gets a plan of its own")
    return Finding("symmetry", "left and right are mirror images: they share plans")


def _walk(robot: Robot) -> Finding:
    """Let the robot walk in simulation, at 0.05 m/s for 4 s after 1 s."""
    gait, seconds = AdaptiveGait(plans=PlanLibrary(robot)).bind(robot), 4.0
    asked = float(gait.command(0.05, 0.0, 0.0)[0])
    sim = Simulator(robot, gait=gait, timestep=2e-3, command_period=0.02, ground=Ground(friction=0.6))
    sim.run(1.0)
    start = sim.position.copy()
    log = sim.run(seconds, log_every=5)
    share = float(np.linalg.norm((sim.position - start)[:2])) / (asked * seconds)
    tilt = float(np.degrees(np.abs(log.euler_zyx[:, 1:]).max()))
    seen = f"{100 * share:.0f} % of {100 * asked:.1f} cm/s in simulation, tilt up to {tilt:.1f} degrees"
    remedy = "check masses, stiffness, contact and lengths; `plan --plot` draws the gait"
    return Finding("walk", seen, remedy if share < 0.8 or tilt > 8.0 else "")
