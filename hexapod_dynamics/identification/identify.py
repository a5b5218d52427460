"""The whole identification: from two exercises to a robot file's numbers, each with its standard deviation; its table
and its picture.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics.regressors import parameters_to_body
from hexapod_dynamics.errors import IdentificationError, require_instance, require_positive
from hexapod_dynamics.estimation.foot_loads import Servos
from hexapod_dynamics.identification import servo_response
from hexapod_dynamics.identification.exercise import Footing
from hexapod_dynamics.identification.geometry import Geometry, identify_geometry
from hexapod_dynamics.identification.masses import Links, Loads, identify_links, identify_loads
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.identification.servo_response import ServoResponse, identify_servos, servo_values_of_robot
from hexapod_dynamics.robot import Imu, JointServo, Leg, Link, Robot
from hexapod_dynamics.se3 import rotation_from_vector

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """One number: value, standard deviation, and the value of the robot file, in `unit`. missing: why it is not
    identified, empty if it is; if not, the value is the prior one.
    """

    name: str
    value: float
    deviation: float
    file: float
    unit: str
    missing: str = ""


@dataclass(frozen=True, eq=False)
class Identification:
    """robot: with the identified numbers; findings: all of them; the parts, None without such an exercise."""

    robot: Robot
    findings: tuple[Finding, ...]
    servos: ServoResponse | None
    loads: Loads | None
    geometry: Geometry | None
    links: Links | None


def identify(
    robot: Robot, suspended: Recording | None, standing: Recording | None, *, weighed: float | None = None
) -> Identification:
    """Identify a robot from a suspended and a standing exercise; each may be None.

    weighed [kg]: the robot's mass on a scale. Without it, and without the standing exercise, stiffnesses and masses are
    known only relative to each other, as angles and an IMU alone cannot tell a stiff heavy robot from a soft light one;
    the findings state this. Raises IdentificationError for recordings that are too short, thin or without motion.
    """
    require_instance("robot", robot, Robot)
    for what, given in (("suspended", suspended), ("standing", standing)):
        if given is not None:
            require_instance(what, given, Recording)
            given.check(robot, f"{what} exercise")
    if weighed is not None:
        require_positive({"weighed": weighed})
    if suspended is None and standing is None:
        raise IdentificationError("no recording given: a suspended or a standing exercise is needed")
    suspended = None if suspended is None else suspended.with_quantised_commands(robot)
    n, k0 = robot.joint_count, robot.servo.stiffness
    response = None if suspended is None else identify_servos(robot, suspended)
    values = servo_values_of_robot(robot) if robot.joint_servos else np.tile(servo_response.PRIOR, (n, 1))
    deviations = np.tile(servo_response.WIDTH, (n, 1))
    if response is not None:
        values, deviations = response.values, response.deviations
    latency, lag, kind, weight, zone, play, _, _ = values.T
    servos, share = Servos(np.full(n, k0), zone, lag, kind), np.full(n, 0.3)  # share: deviation of the stiffness
    loads, geometry, links = None, None, None
    described, found = robot, servos
    if standing is not None:
        # Means over quarters of a second of a slow motion.
        edges = np.arange(standing.reading_time[0], standing.reading_time[-1], 0.25)
        # Smooth set-points say how the body is accelerated; leads are those over what the servos get.
        footing, standing = Footing.from_recording(robot, standing), standing.with_quantised_commands(robot)
        means = footing.remove_acceleration(standing.compute_means(edges, latency, play), float(np.mean(latency)))
        geometry = identify_geometry(robot, means, footing.find_always_standing(edges))
        described = _set_geometry(robot, geometry)
        force = means.specific_force @ rotation_from_vector(geometry.mounting).T
        means = dataclasses.replace(means, angle=means.angle - geometry.offsets, specific_force=force)
    for _ in range(2 if standing is not None else 1):  # loads and links depend on each other slightly
        if standing is not None:
            loads = identify_loads(described, means, servos, deviations[:, servo_response.ZONE], weighed)
            found, share = loads.servos, loads.stiffness_deviation / loads.servos.stiffness
        if response is not None and suspended is not None:
            corrected = weight + response.weight_by_zone * (found.zone - zone)
            burden = np.where(response.moved, corrected * found.stiffness / k0, np.nan)
            spread = burden * np.hypot(share, deviations[:, servo_response.WEIGHT] / corrected)
            links = identify_links(robot, suspended, burden, spread)
            described = _set_links(described, links)
    if loads is not None:
        described = _set_loads(described, loads, weighed if weighed is not None else loads.mass + robot.leg_mass)
    described = _set_servos(described, response, found, geometry)
    findings = itertools.chain(
        _servo_findings(robot, response),
        _load_findings(robot, described, loads, links, weighed),
        _geometry_findings(robot, geometry),
        _link_findings(robot, links, loads),
        _imu_findings(standing if standing is not None else suspended),
    )
    return Identification(described, tuple(findings), response, loads, geometry, links)


# ---- the robot with what was found -----------------------------------------------------------------------------------


def _set_geometry(robot: Robot, geometry: Geometry) -> Robot:
    offsets = iter(geometry.offsets.tolist())

    def moved(leg: Leg) -> Leg:
        joints = (dataclasses.replace(joint, servo_zero=joint.servo_zero + next(offsets)) for joint in leg.joints)
        return dataclasses.replace(leg, joints=tuple(joints))

    tilt = float(np.sqrt(np.mean(geometry.mounting_deviations[:2] ** 2)))
    imu = Imu(robot.imu.position, rotation_from_vector(geometry.mounting) @ robot.imu.rotation, tilt)
    return dataclasses.replace(robot, legs=tuple(map(moved, robot.legs)), imu=imu)


def _set_links(robot: Robot, links: Links) -> Robot:
    rows = iter(links.parameters)

    def weighed(link: Link) -> Link:
        mass, com, inertia = parameters_to_body(next(rows))
        return dataclasses.replace(link, mass=mass, com=com, inertia=0.5 * (inertia + inertia.T))

    legs = (dataclasses.replace(leg, links=tuple(map(weighed, leg.links))) for leg in robot.legs)
    return dataclasses.replace(robot, legs=tuple(legs))


def _set_loads(robot: Robot, loads: Loads, whole: float) -> Robot:
    """The robot with a body that has the mass of the `whole` [kg] less that of the legs."""
    mass = whole - robot.leg_mass
    if mass <= 0.0:
        raise IdentificationError(f"weighed: {whole:.3f} kg given, but the legs alone have {robot.leg_mass:.3f} kg")
    inertia = mass / robot.body.mass * robot.body.inertia
    body = dataclasses.replace(robot.body, mass=mass, com=loads.centre, inertia=inertia)
    return dataclasses.replace(robot, body=body)


def _set_servos(robot: Robot, response: ServoResponse | None, found: Servos, geometry: Geometry | None) -> Robot:
    """The robot with its servos. Without a suspended exercise latency, zone, play and kind of a servo are not known:
    its law is the robot file's, with the stiffness that was found, or there is none.
    """
    if response is not None:
        latency, lag, kind, _, _, play, friction, _ = response.values.T
        dry, load = np.maximum(friction * found.stiffness, 0.0), np.full_like(lag, max(found.loaded, 0.0))
        columns = found.stiffness, found.zone, latency, lag, kind, play, dry, load  # the order of JointServo's fields
        laws = [JointServo(*row) for row in np.column_stack(columns).tolist()]
    else:
        known = zip(robot.joint_servos, found.stiffness.tolist(), strict=False)
        laws = [dataclasses.replace(law, stiffness=k) for law, k in known]
    lags = [law.lag for law in laws] or [robot.servo.damping / robot.servo.stiffness]
    if geometry is not None:
        zeros = zip(laws, geometry.offset_deviations.tolist(), strict=False)
        laws = [dataclasses.replace(law, zero_deviation=zero) for law, zero in zeros]
    mean = float(np.mean(found.stiffness))
    servo = dataclasses.replace(robot.servo, stiffness=mean, damping=mean * float(np.mean(lags)))
    return dataclasses.replace(robot, servo=servo, joint_servos=tuple(laws))


# ---- findings --------------------------------------------------------------------------------------------------------

_ROWS = (
    ("latency", servo_response.LATENCY, 1e3, "ms"),
    ("lag", servo_response.LAG, 1e3, "ms"),
    ("feed_forward", servo_response.KIND, 1.0, ""),
    ("dead_zone", servo_response.ZONE, 180.0 / math.pi, "deg"),
    ("play", servo_response.PLAY, 180.0 / math.pi, "deg"),
)


def _servo_findings(robot: Robot, response: ServoResponse | None) -> Iterator[Finding]:
    file = servo_values_of_robot(robot)
    for joint, name in enumerate(robot.joint_names):
        for what, column, unit, of in _ROWS:
            value, deviation = servo_response.PRIOR[column] * unit, servo_response.WIDTH[column] * unit
            why = "move this joint while the robot hangs: slow waves of 0.3 rad and quick steps of 0.1 rad"
            if response is not None and response.moved[joint]:
                wide = 0.5 * deviation  # a number counts as identified if the data halve its prior deviation
                value, deviation = response.values[joint, column] * unit, response.deviations[joint, column] * unit
                why = "too little of this motion: more waves and steps of this joint" if deviation > wide else ""
            yield Finding(f"{name}.{what}", value, deviation, file[joint, column] * unit, of, why)


def _load_findings(
    robot: Robot, described: Robot, loads: Loads | None, links: Links | None, weighed: float | None
) -> Iterator[Finding]:
    body, laws = robot.body, robot.servo_laws
    file = found = [law.stiffness for law in laws]
    deviations, scale = [math.inf] * len(file), ""
    if loads is None:
        scale = "let the robot stand on all feet and move its body over them: weight is what shows stiffness"
    else:
        found, deviations = loads.servos.stiffness.tolist(), loads.stiffness_deviation.tolist()
        if weighed is None:
            scale = "weigh the robot (--weight): all torques and masses share one factor"
    for name, value, deviation, k in zip(robot.joint_names, found, deviations, file, strict=True):
        yield Finding(f"{name}.stiffness", value, deviation, k, "N m/rad", scale)
    if loads is None:
        return
    spread = math.hypot(loads.mass_deviation, 0.0 if links is None else links.total_deviation)
    yield Finding("body.mass", described.body.mass, spread, body.mass, "kg", scale)
    for k, axis in enumerate("xyz"):
        deviation = 1e3 * float(loads.centre_deviation[k])
        low = "tilt the body further: 10 degrees of roll and pitch" if deviation > 10.0 else ""
        yield Finding(f"body.com.{axis}", 1e3 * float(loads.centre[k]), deviation, 1e3 * body.com[k], "mm", low)
    friction = float(np.mean([law.load_friction for law in laws]))
    yield Finding("load_friction", loads.servos.loaded, loads.friction_deviation, friction, "of the load")


def _geometry_findings(robot: Robot, geometry: Geometry | None) -> Iterator[Finding]:
    for k, joint in enumerate(robot.joints):
        file = found = math.degrees(joint.servo_zero)
        deviation, why = math.inf, "let the robot stand on all feet and move its body over them"
        if geometry is not None:
            found, deviation = file + math.degrees(geometry.offsets[k]), math.degrees(geometry.offset_deviations[k])
            why = "move the body further over its feet: height, shift, tilt, turn" if deviation > 0.75 else ""
        yield Finding(f"{joint.name}.zero", found, deviation, file, "deg", why)
    for k, axis in enumerate(("roll", "pitch", "yaw")):
        if geometry is not None:
            value, deviation = math.degrees(geometry.mounting[k]), math.degrees(geometry.mounting_deviations[k])
            why = "tilt and turn the body over its feet by 8 degrees and more" if deviation > 1.0 else ""
            yield Finding(f"imu.mounting.{axis}", value, deviation, 0.0, "deg", why)


def _link_findings(robot: Robot, links: Links | None, loads: Loads | None) -> Iterator[Finding]:
    places = [(leg.name, link) for leg in robot.legs for link in leg.links]
    for place, (leg, link) in enumerate(places):
        found, deviation, why = link.mass, math.inf, "suspended exercise: let each joint lift what hangs on it"
        if links is not None:
            found, deviation = float(links.parameters[place][0]), float(links.mass_deviations[place])
            why = "" if links.seen[place] else "only sums of masses times distances are seen; this one not by itself"
            if loads is None and not why:
                why = "relative to the stiffness only: a standing exercise and the weight are needed"
        yield Finding(f"{leg}.{link.name}.mass", found, deviation, link.mass, "kg", why)


def _imu_findings(recording: Recording | None) -> Iterator[Finding]:
    """Yield the gyroscope's offset in base_link axes, its mean while no set-point moves."""
    if recording is None or len(recording.imu_time) == 0:
        return
    rates = np.abs(np.diff(recording.commands, axis=0)).max(axis=1) / np.maximum(np.diff(recording.command_time), 1e-3)
    moved = recording.command_time[1:][rates > 0.002]  # [rad/s] of the set-points of a robot that moves
    # From 0.3 s after a motion to 0.05 s before the next.
    begin, end = np.searchsorted(moved, recording.imu_time - 0.3), np.searchsorted(moved, recording.imu_time + 0.05)
    still = np.degrees(recording.angular_rate[begin == end])
    offsets, noise = (still.mean(axis=0), still.std(axis=0)) if len(still) > 1 else np.full((2, 3), np.nan)
    why = "" if len(still) >= 100 else "stand still for two seconds"
    deviations = noise / math.sqrt(max(len(still), 1)) + 0.003
    for axis, value, deviation in zip("xyz", offsets.tolist(), deviations.tolist(), strict=True):
        yield Finding(f"imu.gyroscope_offset.{axis}", value, deviation, 0.0, "deg/s", why)


# ---- report ----------------------------------------------------------------------------------------------------------


def format_table(findings: Iterable[Finding]) -> str:
    """Lines "name value +- deviation unit (file: ...)"; for a quantity that was not identified, the motion that
    would be needed.
    """
    lines = []
    for finding in findings:
        value = f"{'unknown':>10s}            "
        if math.isfinite(finding.deviation):
            value = f"{finding.value:10.3f} +- {finding.deviation:7.3f} "
        seen = f"   not seen: {finding.missing}" if finding.missing else ""
        lines.append(f"{finding.name:32s}{value}{finding.unit:13s} file {finding.file:9.3f}{seen}")
    return "\n".join(lines)


def draw_report(robot: Robot, result: Identification, path: Path) -> None:
    """Draw the identified servos and zeros of each joint, and the residuals of its angles before and after.

    The ending of the path decides the format of the picture.
    """
    from matplotlib.figure import Figure  # without pyplot, whose backend is the caller's

    figure = Figure(figsize=(13, 10), layout="constrained")
    *axes, last = figure.subplots(3, 2).ravel()
    joints = np.arange(robot.joint_count)
    units = {"stiffness": "N m/rad", "dead_zone": "deg", "latency": "ms", "play": "deg", "zero": "deg"}
    for axis, (what, unit) in zip(axes, units.items(), strict=True):
        found = [(f.value, f.deviation, f.file) for f in result.findings if f.name.endswith(f".{what}")]
        values, deviations, file = np.array(found).T
        known = np.isfinite(deviations)
        axis.errorbar(
            joints[known], values[known], 2.0 * deviations[known], fmt="o", ms=4, capsize=3, label="found, 2 sd"
        )
        axis.plot(joints, file, "_", color="tab:red", ms=12, label="robot file before")
        axis.set(title=f"{what.replace('_', ' ')} [{unit}]", xlim=(-0.6, len(joints) - 0.4))
        axis.grid(alpha=0.3)
    if result.servos is not None:
        last.bar(joints - 0.2, np.degrees(result.servos.before), 0.4, color="tab:red", label="robot file before")
        last.bar(joints + 0.2, np.degrees(result.servos.noise), 0.4, color="tab:blue", label="identified")
    last.set(title="measured less predicted angle, rms [deg]")
    for axis in (*axes, last):
        axis.set_xticks(joints, [name.replace("_joint", "") for name in robot.joint_names], rotation=70, fontsize=7)
    for axis in (axes[0], last):
        axis.legend(fontsize=8)
    figure.suptitle(f"Identification of {robot.name}")
    figure.savefig(path, dpi=110)
