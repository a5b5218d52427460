"""How warm servos get while a robot walks for half an hour, with a thermal truth, and when `ServoHeat` says so.

python benchmark/heat.py [--minutes 30] [--seed 7] [--speed 0.07] [--air 25] [--load 0.0] [--lost "" "RM LM" ...]

MuJoCo with `servos=real,seed=N`; the losses of each servo come from its torque in each period of 20 ms, its temperature
from `test/support/servo_temperature.py`. The gait is that of the node, told what is lost.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of OpenBLAS would poll for work

import math

import numpy as np
import results
from support.servo_temperature import ServoTemperature, losses
from support.walks import ROBOT, WHOLE, servo_walk

from hexapod_dynamics.drivers.servos.health import ServoHeat
from hexapod_dynamics.onboard.simulation import TICK

CHORD = 10  # [s] of a piece of the way: the body sways in each cycle


def walk(lost, options):
    """Walk without the legs `lost`; return temperatures (n,) [deg C] of the cases, speed [m/s], what was said, when."""
    blind, _ = servo_walk(options.seed, f"real,payload={options.load}", detect="off")
    limit = blind.robot.servo.torque_limit
    blind.run(3.0)
    blind.break_parts(WHOLE.without(*lost))
    blind.onboard.declare(WHOLE.without(*lost))
    blind.twist[:] = options.speed, 0.0, 0.0
    blind.run(5.0)
    truth, heat = ServoTemperature(blind.robot.joint_count, air=options.air), ServoHeat(blind.robot.joint_names)
    said, way, before = [], 0.0, np.array(blind.physics.position[:2])
    for second in range(round(60.0 * options.minutes)):
        power = np.zeros(blind.robot.joint_count)
        for _ in range(round(1.0 / TICK)):
            blind.step()
            power += TICK * losses(blind.physics.joint_torques, limit)
        truth.warm(1.0, power)
        heat.update(float(second), truth.read())
        said += [(second, text) for text in heat.assess()[1]]
        if second % CHORD == CHORD - 1:
            here = np.array(blind.physics.position[:2])
            way, before = way + math.dist(here, before), here
    there = blind.physics.morphology.existing_mask
    return np.where(there, truth.case, np.nan), way / (60.0 * options.minutes), said


def main():
    """Print a row for each set of lost legs."""
    parser = results.parser(__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--speed", type=float, default=0.07, help="[m/s]")
    parser.add_argument("--air", type=float, default=25.0, help="[deg C]")
    parser.add_argument("--load", type=float, default=0.0, help="payload [kg]")
    parser.add_argument("--lost", nargs="*", default=["", "RM LM", "LF RR", "LF LM RR"])
    options = parser.parse_args()
    print("| lost | speed [m/s] | warmest servos after the walk [deg C] | said |\n|---|---|---|---|")
    for names in options.lost:
        case, speed, said = walk(names.split(), options)
        parts = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links]
        warmest = ", ".join(f"{parts[j]} {case[j]:.0f}" for j in np.argsort(-np.nan_to_num(case))[:3])
        results.record(options.json, names or "nothing", warmest=np.nanmax(case), speed=speed)
        first = f"after {said[0][0] / 60.0:.0f} min: {said[0][1]}" if said else "nothing"
        print(f"| {names or 'nothing'} | {speed:.3f} | {warmest} | {first} |", flush=True)


if __name__ == "__main__":
    main()
