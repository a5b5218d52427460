"""The paper's damage scenarios in both physics under the same friction law: where the robot goes and how it rocks.

MuJoCo's ground hardly gives way: a foot of the standing robot sinks in by 0.8 mm at the paper's stiffness, which the
built-in physics has. The last table gives it MuJoCo's: a stiff ground, and the rotors' inertia.

python benchmark/two_physics.py [--seconds 5.2] [--json FILE]

Figures are taken over whole cycles of the gait after the first. A difference is given as a share of the largest
distance (or angle) of its row in the built-in physics.
"""

from dataclasses import replace

import numpy as np
import results

from hexapod_dynamics.papers.figures.farghdani2025 import PERIOD, STEP_HEIGHT, STEP_LENGTH, scenarios
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Simulator, TripodGait
from hexapod_dynamics.simulation.mujoco_simulator import ROTOR_INERTIA

QUANTITIES = ("forward [mm]", "left [mm]", "yaw [deg]", "roll [deg]", "pitch [deg]", "height [mm]")
COMMAND_PERIOD, LOG_EVERY = 0.02, 10

STIFF, DAMPED = 1e5, 500.0  # of a contact [N/m, N s/m]


def stiffened(robot):
    """Return the robot on a stiff ground and with the rotors' inertia that MuJoCo's has."""
    legs = tuple(
        replace(leg, joints=tuple(replace(joint, rotor_inertia=ROTOR_INERTIA) for joint in leg.joints))
        for leg in robot.legs
    )
    return replace(robot, legs=legs, contact=replace(robot.contact, stiffness=STIFF, damping=DAMPED))


def motion(physics, robot, morphology, ground, seconds):
    """Return way and turn (3,) [mm, mm, deg] from the first cycle's end on, then the swing of roll, pitch, height."""
    gait = TripodGait(STEP_LENGTH, STEP_HEIGHT, PERIOD)
    sim = physics(robot, morphology, gait=gait, ground=ground, command_period=COMMAND_PERIOD)
    log = sim.run(seconds, log_every=LOG_EVERY)
    begin = int(np.searchsorted(log.time, PERIOD))
    euler = np.unwrap(log.euler_zyx, axis=0)  # yaw, pitch, roll
    way = 1e3 * (log.position[-1, :2] - log.position[begin, :2])
    yaw = np.degrees(euler[-1, 0] - euler[begin, 0])
    swings = [np.degrees(np.ptp(euler[begin:, k])) for k in (2, 1)]
    return np.array([*way, yaw, *swings, 1e3 * np.ptp(log.position[begin:, 2])])


def main():
    parser = results.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=4 * PERIOD)
    given = parser.parse_args()
    seconds = given.seconds
    robot = Robot.jethexa()
    for law, ground, ours in (
        ("viscous, as in the paper", Ground.viscous(), robot),
        ("Coulomb, mu 0.6", Ground(friction=0.6), robot),
        ("Coulomb, mu 0.6, stiff ground", Ground(friction=0.6), stiffened(robot)),
    ):
        print(f"\n{law}: built-in / MuJoCo\n\n| damage | " + " | ".join(QUANTITIES) + " |")
        print("|---" * (1 + len(QUANTITIES)) + "|")
        for name, whole in scenarios(robot).items():
            pair = [
                motion(physics, its, Morphology.from_parameters(its, whole.parameters()), ground, seconds)
                for physics, its in ((Simulator, ours), (MujocoSimulator, robot))
            ]
            cells = " | ".join(f"{one:.1f} / {other:.1f}" for one, other in zip(*pair, strict=True))
            print(f"| {name} | {cells} |", flush=True)
            forward, left, yaw, roll, pitch, height = np.transpose(pair).tolist()
            numbers = {"forward": forward, "left": left, "yaw": yaw, "roll": roll, "pitch": pitch, "height": height}
            results.record(given.json, f"{law}: {name}", **numbers)


if __name__ == "__main__":
    main()
