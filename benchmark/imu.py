"""The IMU's rate, gaps and attitude on the walking simulated robot, real devices and drivers, real time.

    python benchmark/imu.py [--rate 100] [--seconds 60] [--error-rate 0.01]

The robot stands for 3 s (calibration at rest), then walks. Prints rate, longest gap, I2C errors, rms attitude error
against the simulator's truth, processor time of the reader's process.
"""

import argparse
import gc
import math
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np

from hexapod_dynamics.devices.faults import FaultInjector
from hexapod_dynamics.devices.simulated_robot import SimulatedRobot
from hexapod_dynamics.drivers.device_paths import IMU_BUS, SERVO_BUS
from hexapod_dynamics.drivers.imu.attitude import OrientationFilter, RestCalibrator
from hexapod_dynamics.drivers.imu.mpu6050 import Mpu6050Settings
from hexapod_dynamics.drivers.imu.reader import ImuReader
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.interface import PortSettings
from hexapod_dynamics.drivers.servos.lx.bus import ServoBus
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion

STANDING = 3.0


def robot_process(directory, seconds, error_rate, results):
    """The simulated robot, its legs moved over its servo bus; sends times and attitudes."""
    robot = Robot.jethexa()
    whole = Morphology.whole(robot)
    simulated = SimulatedRobot(robot, whole, directory)
    FaultInjector(robot.joint_names, simulated.servo_bus, simulated.sensor).set({"imu.error_rate": error_rate})
    simulated.start()
    servo_map = ServoMap.from_robot(robot)
    bus = ServoBus(PortSettings(str(Path(directory) / SERVO_BUS)))
    chain = ServoChain(LxServos(bus, servo_map.ids), servo_map)
    chain.start()
    while not chain.snapshot().settled:
        time.sleep(0.05)
    results.put("ready")
    gait = TripodGait().bind(robot, whole)
    gc.collect()
    gc.freeze()  # as the nodes do
    truth, epoch, begin, k = [], chain.snapshot().epoch, time.monotonic(), 0
    while (t := time.monotonic() - begin) < STANDING + seconds:
        if t > STANDING + 0.5:
            gait.command(0.077, 0.0, 0.0)
        position, _velocity = gait.step(0.02)
        chain.set_targets(position, 0.02, epoch)
        now = simulated.truth()
        truth.append((now.time, *euler_zyx(now.rotation)))
        k += 1
        time.sleep(max(0.0, begin + 0.02 * k - time.monotonic()))
    chain.stop()
    simulated.stop()
    results.put(np.array(truth))


def measure(rate, seconds, error_rate):
    """Run once; print the figures."""
    with tempfile.TemporaryDirectory() as directory:
        results = multiprocessing.Queue()
        other = multiprocessing.Process(target=robot_process, args=(directory, seconds, error_rate, results))
        other.start()
        results.get()
        mount = np.asarray(Robot.jethexa().imu.rotation)
        calibrator, state, found = RestCalibrator(rate), {}, []
        gc.collect()
        gc.freeze()

        def on_sample(sample, t):
            if "offsets" not in state:
                calibrator.add(sample.acceleration, sample.angular_velocity)
                if calibrator.done:
                    state["offsets"] = calibrator.result(up=mount.T[:, 2])
                    state["filter"] = OrientationFilter(rate, heading=math.atan2(mount[1, 0], mount[0, 0]))
                return
            offsets = state["offsets"]
            q = state["filter"].update(sample.acceleration - offsets.accel, sample.angular_velocity - offsets.gyro, t)
            found.append((t, *q))

        settings = Mpu6050Settings(rate=rate)
        reader = ImuReader(str(Path(directory) / IMU_BUS), settings, on_sample)
        cpu, begin = time.process_time(), time.monotonic()
        reader.start()
        truth = results.get()
        used = (time.process_time() - cpu) / (time.monotonic() - begin)
        reader.stop()
        other.join()
    found = np.array(found)
    times = found[:, 0]
    euler = np.array([euler_zyx(rotation_from_quaternion(q) @ mount.T) for q in found[:, 1:]])
    walking = (times > truth[0, 0] + STANDING + 2.0) & (times < truth[-1, 0])
    # The chip's filter delays what it says; a consumer subtracts that from the stamp, as the node does.
    errors = (
        np.column_stack(
            [np.interp(times[walking] - settings.delay, truth[:, 0], np.unwrap(column)) for column in truth[:, 1:].T]
        )
        - euler[walking]
    )
    errors[:, 0] -= errors[0, 0]
    yaw, pitch, roll = np.degrees(np.sqrt(np.mean(np.square(errors), axis=0)))
    gaps = np.diff(times)
    print(
        f"{rate:5.0f} 1/s asked, {(len(times) - 1) / (times[-1] - times[0]):6.2f} got; longest gap "
        f"{1e3 * gaps.max():5.1f} ms; errors {sum(reader.health.errors.values())} in {len(times)} samples, starts "
        f"{reader.health.starts}; rms error roll {roll:.2f} pitch {pitch:.2f} yaw {yaw:.2f} deg; "
        f"{100 * used:.1f} % of a core"
    )


def main():
    """Measure at the rates asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, nargs="*", default=[100.0, 200.0])
    parser.add_argument("--seconds", type=float, default=30.0, help="of walking")
    parser.add_argument("--error-rate", type=float, default=0.01, help="of I2C exchanges")
    options = parser.parse_args()
    for rate in options.rate:
        measure(rate, options.seconds, options.error_rate)


if __name__ == "__main__":
    main()
