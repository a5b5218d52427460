"""Read joint angles over the servo bus of a simulated robot: the same driver opens the port of a real one.

python examples/read_servo_bus.py
"""

import tempfile
import time

import numpy as np

from hexapod_dynamics.devices.simulated_robot import SimulatedRobot
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.interface import PortSettings, make_servos
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.servo_map import ServoMap

robot = Robot.jethexa()
with tempfile.TemporaryDirectory() as directory:
    simulated = SimulatedRobot(robot, Morphology.whole(robot), directory)
    simulated.start()
    servo_map = ServoMap.from_robot(robot)
    servos = make_servos(PortSettings(str(simulated.servo_bus.link)), servo_map.ids)
    chain = ServoChain(servos, servo_map)
    chain.start()
    while np.isnan(chain.snapshot().angle).any():  # each servo is read about 20 times a second
        time.sleep(0.05)
    chain.set_targets(np.full(18, 0.1), duration=0.5, epoch=chain.snapshot().epoch)
    time.sleep(1.0)
    state = chain.snapshot()
    for name, measured, true in zip(robot.joint_names, state.angle, simulated.truth().joints, strict=True):
        print(f"{name:18s} measured {measured:+.3f} rad, true {true:+.3f} rad")
    print(f"supply {state.supply:.2f} V, {state.reads} reads, bus load {100 * state.bus_load:.0f} %")
    chain.stop()
    simulated.stop()
