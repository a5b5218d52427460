"""Predictions against a truth that is not their model: truth x mismatch x damage, with drift, attitude error, NEES.

python benchmark/prediction.py [--runs 100] [--seconds 60] [--physics mujoco] [--gait both] [--seed 0] [--rough 0.008]
                               [--minutes 40] [--jobs 1] [--damage] [--servos real [--askew] [--identified]]
                               [--json FILE]

--identified: no payload; each truth once with the catalogue's robot, once with what `identify` finds of it in two
exercises. --askew: hips 2 mm off, legs mounted 1 degree askew. `--gait both`: adaptive and tripod in turn, two
walks each. `--minutes`: no walk is begun later, and the summary is of those that were walked. The columns "in
band": share of the time in which the normalised squared error of (x, y, yaw), of z, or of (roll, pitch), lies
within the 95 % band of its chi-square. "doubt": the highest level, 1 a warning, 2 an error; with --damage also the
time [s] from the damage (at 5 s) to the first warning. At the end, for all walks and for each gait and ground,
drift and shares in band.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import numpy as np
import results
from support.identification_rig import record
from support.sensed_walk import EXACT, SensedWalk, errors, height_errors, random_truth

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.identification import identify, standing_exercise, suspended_exercise
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.onboard.prediction import PredictionSettings
from hexapod_dynamics.onboard.simulation import SAMPLE_PERIOD
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Truth
from hexapod_dynamics.simulation.truth import SERVOS
from hexapod_dynamics.worker_processes import WorkerProcesses

GAITS = {"adaptive": "auto", "tripod": "tripod"}  # as the node makes them
# 95 % of chi-square with 3, 2 and 1 degrees of freedom
POSE_BAND, TILT_BAND, HEIGHT_BAND = (0.216, 9.348), (0.0506, 7.378), (0.00098, 5.024)


# [s] of standing before the walk, in which the attitude filter finds what the calibration has left of the gyroscope's
# offset; of walking before the damage.
STANDS, DAMAGED_AT = 6.3, 5.0


def damages(whole):
    """Return (name, morphology, truth) of damages; morphology None: the truth is not that of a healthy robot."""
    plain = Truth()
    return [
        ("none", whole, plain),
        ("RM lost", whole.without("RM"), plain),
        ("RM, LM lost", whole.without("RM", "LM"), plain),
        ("LM, RR femur lost", whole.without("LM.femur", "RR.femur"), plain),
        ("RF.tibia lost", whole.without("RF.tibia"), plain),
        ("LF.tibia broken, half left", whole.broken("LF.tibia", 0.5), plain),
        ("RM.tibia broken, half left", whole.broken("RM.tibia", 0.5), plain),
        ("RF.tibia locked", whole.locked("RF.tibia", 0.3), plain),
        ("RM.femur locked", whole.locked("RM.femur", -0.2), plain),
        ("LR.coxa locked", whole.locked("LR.coxa", 0.1), plain),
        ("LR.femur limp", whole.limp("LR.femur"), plain),
        ("RF.tibia limp", whole.limp("RF.tibia"), plain),
        ("LM.coxa limp", whole.limp("LM.coxa"), plain),
        ("payload of 1 kg", None, Truth(payload=1.0)),
        ("half the stiffness", None, Truth(stiffness=0.5)),
        ("dead band of 5 counts", None, Truth(deadband=5.0)),
        ("friction 0.15", None, Truth(friction=0.15)),
        ("commands 0.1 s late", None, Truth(delay=0.1)),
    ]


class LegOdometry:
    """Planar motion of the body from joint angles alone: the feet that are lowest stand still."""

    def __init__(self, robot, morphology):
        self.legs = []
        for leg in robot.legs:
            joints = robot.leg_joints(leg.name)
            if len(morphology.links(leg.name)) == len(leg.links):
                self.legs.append((LegKinematics.from_robot(robot, leg.name), slice(joints.start, joints.stop)))
        self.pose = np.zeros(3)  # x, y, yaw
        self._before = None

    def update(self, angles, rotation):
        """Take joint angles (n,) [rad] and the attitude (3, 3); returns x, y [m], yaw [rad]."""
        feet = np.array([leg.to_base(leg.forward(angles[joints])) for leg, joints in self.legs])
        if self._before is not None:
            heights = feet @ rotation[2]
            standing = heights < heights.min() + 0.004
            moved = (self._before - feet)[standing, :2]
            place = feet[standing, :2]
            centre = place.mean(axis=0)
            arm = place - centre
            turn = np.sum(arm[:, 0] * moved[:, 1] - arm[:, 1] * moved[:, 0]) / max(np.sum(arm**2), 1e-6)
            step = moved.mean(axis=0) - turn * np.array([-centre[1], centre[0]])
            cos, sin = np.cos(self.pose[2]), np.sin(self.pose[2])
            self.pose += [cos * step[0] - sin * step[1], sin * step[0] + cos * step[1], turn]
        self._before = feet
        return self.pose


class ComparedWalk(SensedWalk):
    """A SensedWalk beside odometry from leg kinematics and integrated commands; x, y, yaw of both end its rows."""

    def __init__(self, *arguments, **options):
        self.odometry, self.dead = None, np.zeros(3)
        super().__init__(*arguments, **options)

    def tell(self, morphology):
        super().tell(morphology)
        self.odometry = None

    def sense(self):
        count, observer = len(self.rows), self.observer
        super().sense()
        if not observer.started:
            return
        latest = observer.joint_filter.latest
        if self.odometry is None:
            self.odometry = LegOdometry(self.onboard.robot, self.onboard.morphology)
        if self._samples % 2 == 0 and np.isfinite(latest[observer.morphology.existing_mask]).all():
            self.odometry.update(latest, observer.rotation)
        cos, sin = np.cos(self.dead[2]), np.sin(self.dead[2])
        vx, vy, wz = SAMPLE_PERIOD * np.asarray(self.gait.twist)
        self.dead += [cos * vx - sin * vy, sin * vx + cos * vy, wz]
        if len(self.rows) > count:
            self.rows[-1] += [*self.odometry.pose, *self.dead]


def identified_robot(truth, seed):
    """Return the Robot that a suspended and a standing exercise of a truth show, whose mass is known from a scale."""
    robot = Robot.jethexa()
    hanging = record(robot, truth, suspended_exercise(robot), suspended=True, seed=seed)
    standing = record(robot, truth, standing_exercise(robot), suspended=False, seed=seed)
    weight = WholeBodyModel(truth.robot(robot)).total_mass()
    return identify(robot, hanging, standing, weighed=weight).robot


def measure(physics, gait, truth, seed, seconds, damage=None, settings=EXACT, known=False):
    """Walk once; damage: (morphology, told), after 5 s; known: the software has the identified robot. Returns the
    figures of a row and (doubt, time) pairs, times since it walks.
    """
    robot = None
    if known:
        robot, settings = identified_robot(truth, seed), EXACT
    walk = ComparedWalk(
        physics, truth, seed=seed, gait=GAITS[gait], settings=settings, known=robot, timestep=1e-3, rests=STANDS
    )
    rows = walk.log(DAMAGED_AT)
    if damage is not None:
        (walk.tell if damage[1] else walk.break_parts)(damage[0])
    rows = np.concatenate([rows, walk.log(seconds - DAMAGED_AT)])
    pose, tilt, square_pose, square_tilt = errors(rows)
    way = np.hypot(*np.diff(rows[:, 1:3], axis=0)[::1].T).sum()
    ends = [100 * np.hypot(*(rows[-1, k : k + 2] - rows[-1, 1:3])) / max(way, 0.05) for k in (6, 28, 31)]
    inside = [
        np.mean((squares > low) & (squares < high))
        for squares, (low, high) in (
            (square_pose, POSE_BAND),
            (square_tilt, TILT_BAND),
            (height_errors(rows)[1], HEIGHT_BAND),
        )
    ]
    rms = np.degrees(np.sqrt(np.mean(tilt**2)))
    said = [(text, at - STANDS) for text, at in walk.said.items()]
    return [way, *ends, np.degrees(pose[-1, 2]), rms, *(100 * np.array(inside)), rows[:, 11].max()], said


def summary(name, table):
    """Return a line of figures of the rows (walks, 10) of walks."""
    drift, tilt = table[:, 1], table[:, 5]
    return (
        f"{name:16} {len(table):5d} {np.median(drift):8.2f} {np.percentile(drift, 95):7.2f} "
        f"{np.sqrt(np.mean(tilt**2)):9.2f} {tilt.max():6.2f} {table[:, 6].mean():8.1f} {table[:, 7].mean():8.1f} "
        f"{table[:, 8].mean():8.1f} "
        f"{np.sum(table[:, 9] > 0):7d} {np.median(table[:, 2]):10.1f} {np.median(table[:, 3]):10.1f}"
    )


def print_summary(table, runs):
    """Print the figures of all walks, of each gait, ground and robot; table (walks, 10), runs: (seed, gait, truth,
    whether the robot was identified) of each.
    """
    _, gaits, truths, known = (np.array(one, object) for one in zip(*runs, strict=True))
    rough, known = np.array([truth.rough > 0.0 for truth in truths]), known.astype(bool)
    print(
        "\n                       drift %           tilt deg      in band %                     drift %, median\n"
        "                 walks   median    95 %       rms  worst     pose     tilt        z doubts  odometry"
        "  commands\n"
        "wanted                   <= 3    <= 6     <= 0.5         90 to 99 90 to 99 90 to 99       0"
    )
    groups = [("all", np.full(len(table), True))]
    groups += [(gait, gaits == gait) for gait in GAITS]
    groups += [("smooth ground", ~rough), ("rough ground", rough), ("catalogue", ~known), ("identified", known)]
    for name, chosen in groups:
        if chosen.any() and (name == "all" or not chosen.all()):
            print(summary(name, table[chosen]))


def damaged_walks(options, shape):
    """Print a table of damages, told and untold."""
    gait = "adaptive" if options.gait == "both" else options.gait
    warned = []
    for name, morphology, truth in damages(Morphology.whole(Robot.jethexa())):
        for told in (True, False) if morphology is not None else (False,):
            damage = None if morphology is None else (morphology, told)
            figures, said = measure(options.physics, gait, truth, options.seed, options.seconds, damage)
            since = 0.0 if morphology is None else DAMAGED_AT
            warned += [at - since for _, at in said if at >= since and morphology is not None and not told][:1]
            first = next(((f"{at - since:5.1f} s", text) for text, at in said if at >= since), ("      -", ""))
            told_so = "" if morphology is None else ", told" if told else ", untold"
            print(shape.format(*figures), first[0], name + told_so, first[1], flush=True)
    results.record(options.json, "damage", least=min(warned, default=None), most=max(warned, default=None))


def main():
    parser = results.parser(__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--physics", default="mujoco", choices=["mujoco", "built_in"])
    parser.add_argument("--gait", default="both", choices=["both", *GAITS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rough", type=float, default=0.0, help="every second truth: rough by up to this [m]")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no walk is begun later")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--servos", choices=sorted(SERVOS), help="servos that are not springs, and an IMU askew")
    parser.add_argument("--askew", action="store_true", help="with --servos: hips 2 mm off, legs 1 degree askew")
    parser.add_argument("--truth", default="", help="with --servos: values instead of the drawn ones, as lag=0.03")
    parser.add_argument("--identified", action="store_true", help="with the catalogue's robot, then with its own")
    parser.add_argument("--damage", action="store_true", help="one table of damages, told and untold, instead")
    options = parser.parse_args()
    if options.truth and not options.servos:
        parser.error("--truth replaces values that --servos draws: give --servos real, too")
    print(
        "   way m  drift%  odometry%  commands%  yaw deg  tilt rms  pose in band %  tilt in band %  z in band %  doubt"
    )
    shape = "{:8.2f} {:7.2f} {:10.1f} {:10.1f} {:8.2f} {:9.2f} {:15.0f} {:15.0f} {:12.0f} {:6.0f}"
    if options.damage:
        damaged_walks(options, shape)
        return
    rng, began = np.random.default_rng(options.seed), time.monotonic()
    truths = [random_truth(rng, options.rough * (k % 2)) for k in range(options.runs)]
    settings = EXACT
    if options.servos:
        fixed = (
            (",hips=2,leg_yaw=1" if options.askew else "")
            + ("," + options.truth if options.truth else "")
            + (",payload=0" if options.identified else "")
        )
        settings = PredictionSettings()
        truths = [
            Truth.parse(f"servos={options.servos},seed={options.seed + k},rough={one.rough}{fixed}")
            for k, one in enumerate(truths)
        ]
    both = list(GAITS)
    runs = [
        (options.seed + k, both[k // 2 % 2] if options.gait == "both" else options.gait, truths[k], known)
        for k in range(options.runs)
        for known in ((False, True) if options.identified else (False,))
    ]
    table = []
    with WorkerProcesses(options.jobs) as pool:
        for first in range(0, len(runs), options.jobs):
            if time.monotonic() - began > 60.0 * options.minutes:
                break
            batch = runs[first : first + options.jobs]
            walks = [
                pool.submit(measure, options.physics, gait, truth, seed, options.seconds, None, settings, known)
                for seed, gait, truth, known in batch
            ]
            for (_, gait, truth, known), walk in zip(batch, walks, strict=True):
                figures, said = walk.result()
                table.append(figures)
                at = f"{len(table)}/{len(runs)}, {(time.monotonic() - began) / 60.0:.1f} min:"
                gait += " identified" if known else ""
                print(shape.format(*figures), at, gait, truth.describe(), *(text for text, _ in said), flush=True)
    walked = runs[: len(table)]
    print_summary(np.array(table), walked)
    known = np.array([one[3] for one in walked]) == options.identified
    table, others = np.array(table)[known], np.array(table)[~known]
    drift, odometry, commands = table[:, 1], table[:, 2], table[:, 3]
    results.record(
        options.json,
        f"{options.physics} {options.seed}{' ' * bool(options.truth)}{options.truth}",
        walks=len(table),
        drift=np.median(drift),
        drift95=np.percentile(drift, 95),
        pose=table[:, 6].mean(),
        tilt=table[:, 7].mean(),
        odometry=np.median(odometry),
        commands=np.median(commands),
        catalogue_drift=np.median(others[:, 1]) if len(others) else None,
    )


if __name__ == "__main__":
    main()
