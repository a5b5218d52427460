"""Figures 3 to 8 of Farghdani & Chhabra 2025: the hexapod intact and damaged, and the computing time of its
simulation.
"""

import itertools
import os
import time

import numpy as np
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from hexapod_dynamics.papers.figures.output import COLOURS, make_panels
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.simulation import Ground, Simulator, TripodGait, simulate_many

TITLE = "Farghdani & Chhabra 2025: a hexapod that loses legs"
SECONDS, TIMESTEP, LOG_EVERY = 5.2, 1e-3, 10
STEP_LENGTH, STEP_HEIGHT, PERIOD = 0.05, 0.012, 1.3  # Table IV
PAPER_RUNTIME = 1.93  # seconds for 5 s of motion, section VI-B
# The paper walks along its +y with +x to the right: x = -y_ros, y = x_ros.
TO_PAPER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def scenarios(robot):
    """Return the whole robot and the paper's two damages by name."""
    whole = Morphology.whole(robot)
    return {
        "healthy": whole,
        "damage 1": whole.without("RM", "LM"),  # legs 3 and 4
        "damage 2": whole.without("LM.femur", "RR.femur"),  # the last two links of legs 4 and 5
    }


def convert_to_paper_axes(log):
    """Return position (T, 3) [mm] and ZYX Euler angles about X, Y, Z (T, 3) [deg] in the paper's axes."""
    rotation = TO_PAPER @ log.rotation @ TO_PAPER.T
    yaw = np.unwrap(np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0]))
    pitch = np.arcsin(np.clip(-rotation[:, 2, 0], -1.0, 1.0))
    roll = np.arctan2(rotation[:, 2, 1], rotation[:, 2, 2])
    return 1e3 * log.position @ TO_PAPER.T, np.degrees(np.stack([roll, pitch, yaw], axis=1))


def reproduce(page, progress):
    """Write the figures, their data and a comparison with the paper's statements."""
    page.add_text(
        f"{SECONDS} s of the tripod gait of eq. (64) (Table IV: S = {100 * STEP_LENGTH:.0f} cm, "
        f"S_h = {1e3 * STEP_HEIGHT:.0f} mm, depth 0.1 mm, T = {PERIOD} s, height 12 cm), {1e3 * TIMESTEP:.0f} ms "
        "steps, masses and contact of tables I to III, in the paper's axes (y forward, x right, z up). The joint "
        "controller is the servo model of config/jethexa.yaml: the paper's PID gains are not in its text."
    )
    robot = Robot.jethexa()
    progress(0.0, "simulating the three robots")
    damages = scenarios(robot)
    gait = TripodGait(STEP_LENGTH, STEP_HEIGHT, PERIOD)
    logs = dict(
        zip(
            damages,
            simulate_many(
                robot,
                damages.values(),
                SECONDS,
                gait=gait,
                timestep=TIMESTEP,
                log_every=LOG_EVERY,
                ground=Ground.viscous(),
                progress=lambda done, count: None,
            ),
            strict=True,
        )
    )
    for (damage, (attitude, place)), text in zip(
        {"damage 1": ("figure3", "figure4"), "damage 2": ("figure6", "figure7")}.items(),
        ("legs 3 and 4 (RM, LM) lost", "last two links of legs 4 and 5 (LM, RR) lost"),
        strict=True,
    ):
        progress(0.2 if damage == "damage 1" else 0.4, f"figures of {damage}")
        _motion(page, attitude, place, damage, text, logs["healthy"], logs[damage])
    progress(0.5, "snapshots")
    _snapshots(page, "figure5", "damage 1", damages["damage 1"], logs["damage 1"])
    _snapshots(page, "figure8", "damage 2", damages["damage 2"], logs["damage 2"])
    progress(0.8, "runtime")
    seconds_needed = _runtime(page, robot)
    page.add_heading("The paper's words, and what this simulation does")
    page.add_table("findings", ["the paper says", "here", ""], compare_with_paper(logs, seconds_needed))
    page.add_text(
        "Not compared: the measured curves (camera, IMU), which the paper gives as pictures only, and their size: "
        "it depends on the PID gains, which its text does not give."
    )


def _motion(page, attitude, place, damage, text, healthy, hurt):
    """Write body attitude and position, healthy beside damaged, as figures and CSV."""
    columns = [healthy.time]
    curves = {name: convert_to_paper_axes(log) for name, log in (("healthy", healthy), (damage, hurt))}
    for which, name, caption, labels in (
        (1, attitude, "attitude of the body (ZYX Euler angles)", ("about X [deg]", "about Y [deg]", "about Z [deg]")),
        (0, place, "position of the body's centre of mass", ("X [mm]", "Y [mm]", "Z [mm]")),
    ):
        figure, axes = make_panels(3, 1, height=1.9, sharex=True)
        for k, axis in enumerate(axes[:, 0]):
            for (who, values), colour, style in zip(curves.items(), COLOURS, ("--", "-"), strict=False):
                axis.plot(healthy.time, values[which][:, k], color=colour, linestyle=style, lw=1.6, label=who)
            axis.set_ylabel(labels[k])
        axes[0, 0].legend(ncol=2)
        axes[0, 0].set_title(f"{damage}: {text}")
        axes[-1, 0].set_xlabel("time [s]")
        page.add_figure(name, figure, f"{name.replace('figure', 'Figure ')}, {damage} ({text}): {caption}")
    header = ["t [s]"]
    quantities = ("X [mm]", "Y [mm]", "Z [mm]", "about X [deg]", "about Y [deg]", "about Z [deg]")
    for who, (position, angles) in curves.items():
        columns += [*position.T, *angles.T]
        header += [f"{who} {what}" for what in quantities]
    page.save(f"{attitude}_{place}", header, *columns)


def _snapshots(page, name, damage, morphology, log):
    """The robot at six instants over one and a quarter period, seen from behind and the left."""
    figure, axes = make_panels(2, 3, width=9.0, height=2.0, subplot_kw={"projection": "3d"})
    for axis, instant in zip(axes.ravel(), 0.325 * np.arange(6), strict=True):
        k = int(np.argmin(np.abs(log.time - (instant + TIMESTEP * LOG_EVERY))))
        draw(axis, morphology, log.position[k], log.rotation[k], log.joint_positions[k], log.foot_forces[k])
        axis.set_title(f"t = {instant:.3f} s", fontsize=9)
    number = name.replace("figure", "Figure ")
    page.add_figure(name, figure, f"{number}, {damage}: snapshots over 1.625 s; red: feet that carry; tiles of 10 cm")


def _runtime(page, robot):
    """Wall time of the paper's 5 s of motion for several steps; returns that of the 1 ms step [s]."""
    rows, needed = [], None
    for timestep in (0.5e-3, 1e-3, 2e-3, 5e-3):
        gait = TripodGait(STEP_LENGTH, STEP_HEIGHT, PERIOD)
        simulator = Simulator(robot, gait=gait, timestep=timestep, ground=Ground.viscous())
        simulator.run(0.1)
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            simulator.run(5.0, log_every=10)
            times.append(time.perf_counter() - begun)
        middle = float(np.median(times))
        rows.append([1e3 * timestep, middle, 5.0 / middle, PAPER_RUNTIME / middle])
        if timestep == TIMESTEP:
            needed = middle
    page.add_heading("Runtime: 5 s of motion on one core")
    page.add_table("runtime", ["step [ms]", "wall time [s]", "times real time", "times the paper's speed"], rows)
    figure, axes = make_panels(1, 1, width=7.0, height=2.6)
    axis = axes[0, 0]
    names = ["paper, i7-6700HQ", *(f"here, {row[0]:g} ms steps" for row in rows)]
    values = [PAPER_RUNTIME, *(row[1] for row in rows)]
    axis.barh(names, values, color=[COLOURS[1], *[COLOURS[0]] * len(rows)], height=0.6)
    for k, value in enumerate(values):
        axis.text(value * 1.08, k, f"{value:.3g} s", va="center", fontsize=8)
    axis.set(xscale="log", xlabel="time for 5 s of motion [s]", xlim=(min(values) / 3, PAPER_RUNTIME * 5))
    axis.invert_yaxis()
    page.add_figure("runtime", figure, f"Runtime of the 5 s scenario on one of {os.cpu_count()} cores of this machine")
    return needed


def compare_with_paper(logs, seconds_needed):
    """Return rows (statement of the paper, result here, "agrees" or "differs")."""
    rows = []

    def finding(words, here, agrees):
        rows.append([words, here, "agrees" if agrees else "DIFFERS"])

    healthy, _ = convert_to_paper_axes(logs["healthy"])
    speed = healthy[-1, 1] / SECONDS
    design = 2e3 * STEP_LENGTH / PERIOD
    finding(
        "healthy: walks in a straight line",
        f"{abs(healthy[-1, 0]):.1f} mm aside after {healthy[-1, 1]:.0f} mm",
        abs(healthy[-1, 0]) < 10,
    )
    finding(
        f"healthy: constant velocity (2 S / T = {design:.0f} mm/s by eq. 64)",
        f"{speed:.0f} mm/s: feet slip on viscous friction and legs give way",
        abs(speed / design - 1.0) < 0.02,
    )

    place, angles = convert_to_paper_axes(logs["damage 1"])
    settled = logs["damage 1"].time > PERIOD
    finding("damage 1: stays in the Y direction", f"{place[-1, 1]:+.1f} mm after {SECONDS} s", abs(place[-1, 1]) < 10)
    swing = np.ptp(place[settled], axis=0)
    finding(
        "damage 1: oscillates about the initial position in X and Z",
        f"{swing[0]:.1f} mm in X, {swing[2]:.1f} mm in Z, mean {place[settled, 0].mean():+.1f} mm in X",
        swing[0] > 1 and swing[2] > 1 and abs(place[settled, 0].mean()) < swing[0],
    )
    rocks = 0.5 * np.ptp(angles[settled], axis=0)
    finding("damage 1: seen in the Euler angle about Y (pitch)", f"+-{rocks[1]:.1f} deg", rocks[1] > 1.0)
    finding("damage 1: ... and about Z (yaw)", f"+-{rocks[2]:.1f} deg, to and fro each cycle", rocks[2] > 0.5)
    forces = logs["damage 1"].foot_forces[settled][:, [0, 2, 3, 5], 2]
    share = float(np.mean(forces > 0.0))
    carrying = np.sum(forces > 0.0, axis=1)
    finding(
        "damage 1: legs remain in contact and cannot lift off",
        f"feet touch {100 * share:.0f} % of the time (walking: 50 %), at least {carrying.min()} of 4 at any time",
        share > 0.6 and carrying.min() >= 2,
    )

    place, angles = convert_to_paper_axes(logs["damage 2"])
    finding("damage 2: forward motion in Y", f"{place[-1, 1] / SECONDS:.0f} mm/s", place[-1, 1] > 50)
    finding("damage 2: lateral motion in X", f"{place[-1, 0]:+.0f} mm after {SECONDS} s", abs(place[-1, 0]) > 10)
    time_ = logs["damage 2"].time
    stance_1 = (time_ / PERIOD) % 1.0 < 0.5  # when group 1 (legs 1, 4, 5) is in stance
    low = [place[(time_ // PERIOD == cycle) & stance_1, 2].min() for cycle in range(1, 4)]
    high = [place[time_ // PERIOD == cycle, 2].max() for cycle in range(1, 4)]
    lowest = [stance_1[time_ // PERIOD == k][np.argmin(place[time_ // PERIOD == k, 2])] for k in range(1, 4)]
    drop = float(np.mean(np.array(high) - low))
    finding(
        "damage 2: drops in Z when group 1 is expected to carry",
        f"{drop:.1f} mm each cycle, lowest then: {'always' if all(lowest) else 'not always'}",
        drop > 3 and all(lowest),
    )
    turning = np.diff(angles[:, 2])
    share = turning[stance_1[1:]].sum() / turning.sum()
    finding(
        "damage 2: the remaining leg of group 1 turns the body about Z in its support phase",
        f"yaw {angles[-1, 2]:+.1f} deg in {SECONDS} s; {turning[stance_1[1:]].sum():+.1f} deg of it while group 1 "
        f"carries, {turning[~stance_1[1:]].sum():+.1f} deg while group 2 does",
        share > 0.6,
    )
    tilt = max(np.abs(convert_to_paper_axes(logs[name])[1][:, :2]).max() for name in ("damage 1", "damage 2"))
    finding("the robot maintains stability in both", f"tilts at most {tilt:.1f} deg", tilt < 10)
    finding(
        "5 s of motion in 1.93 s",
        f"{seconds_needed:.3f} s, {PAPER_RUNTIME / seconds_needed:.0f} times faster, "
        f"{5.0 / seconds_needed:.0f} times real time",
        seconds_needed < PAPER_RUNTIME,
    )
    return rows


# ---- a plain picture of the robot: body box, legs, feet on the ground, in parallel projection -----------------------


def draw(
    axis: Axes3D, morphology: Morphology, position: np.ndarray, rotation: np.ndarray, q: np.ndarray, forces: np.ndarray
) -> None:
    """Draw the robot on three-dimensional axes; forces (legs, 3) [N] show which feet stand. Tiles of 10 cm are fixed in
    the world.
    """
    tiles = np.arange(-3, 4)
    x, y = (0.1 * (tiles + np.round(place / 0.1)) for place in position[:2])
    for a, b in zip(x, y, strict=True):
        axis.plot([a, a], y[[0, -1]], 0.0, color="#e9e4d8", lw=1.0)
        axis.plot(x[[0, -1]], [b, b], 0.0, color="#e9e4d8", lw=1.0)
    corners = (
        np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * morphology.robot.body.box @ rotation.T + position
    )
    faces = np.array([(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)])
    axis.add_collection3d(Poly3DCollection(corners[faces], facecolor="#c9cfd6", edgecolor="#6b7280", lw=0.8))
    tree = LinkTree(morphology.robot, morphology)
    poses = tree.base_poses(q)
    for leg, force in zip(morphology.robot.legs, forces, strict=True):
        frames = [poses[branch.child][:3, 3] for branch in tree.branches if branch.leg == leg.name]
        if frames:
            points = position + np.array(frames) @ rotation.T  # of the leg's joints and its end
            axis.plot(*points[:, :2].T, 0.0, color="#000000", alpha=0.1, lw=3.0)  # its shadow
            axis.plot(*points.T, "o-", color=COLOURS[0], lw=2.4, ms=2.6)
            if force[2] > 0.0:
                axis.plot(*points[-1:].T, "o", color=COLOURS[1], ms=4.5)
    axis.set(xlim=x[[0, -1]], ylim=y[[0, -1]], zlim=(0.0, 0.2))
    axis.set_box_aspect((6.0, 6.0, 2.0), zoom=1.4)
    axis.set_proj_type("ortho")
    axis.view_init(22.0, -150.0)
    axis.set_axis_off()
