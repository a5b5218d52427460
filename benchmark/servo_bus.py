"""What the servo bus carries: 18 simulated servos at the pace of 115200 baud, moved 50 times a second.

    python benchmark/servo_bus.py [--seconds 20] [--turnaround 0.0003]

Three ways to write a pose, each with the real bus thread in this process and the devices in another:
  latched   18 x MOVE_TIME_WAIT_WRITE, then one MOVE_START (what the node does)
  direct    18 x MOVE_TIME_WRITE, each with the same duration (the maker's way)
  shifted   18 x MOVE_TIME_WRITE, each with its duration shortened by how much later it goes out, so that all arrive
            together
and for each: skew of the servos' start and arrival, how often the joint read least is read, ages, bus load, processor.
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np

from hexapod_dynamics.devices.lx_bus import ServoBusDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.interface import PortSettings
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.bus import ServoBus
from hexapod_dynamics.drivers.servos.lx.protocol import PoseFrames
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.drivers.servos.serial_link import BITS_PER_BYTE
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap

MAP = ServoMap.from_robot(Robot.jethexa())
PERIOD = 0.02


class DirectFrames(PoseFrames):
    """MOVE_TIME_WRITE frames; shifted: each shortened by its place in the queue."""

    def __init__(self, ids, shifted):
        super().__init__(ids)
        self.command = lx.Command.MOVE_TIME_WRITE
        self._start, self._shifted = b"", shifted

    def build(self, counts, duration, chosen):
        if not self._shifted:
            return super().build(counts, duration, chosen)
        # Ten bytes of wire a frame before this one; a millisecond is what the protocol can say.
        late = np.cumsum(chosen) * 10 * BITS_PER_BYTE / lx.DEFAULT_BAUDRATE
        total = 18 * 10 * BITS_PER_BYTE / lx.DEFAULT_BAUDRATE
        return super().build(counts, np.maximum(0.001, np.asarray(duration) + total - late), chosen)


def devices(link, turnaround, seconds, results):
    """The other process: servos whose shafts follow; sends what it saw."""
    servos = VirtualServos(MAP.ids, MAP.directions, np.zeros(18), loaded=True)
    poses, reads, group = [], np.zeros(18), []

    def close(times):
        if len(times) > 1:
            begin, end = np.array(times).T
            poses.append((begin.max(), np.ptp(begin), np.ptp(end)))
        group.clear()

    def watch(frame, t):
        if frame.command == lx.Command.POS_READ:
            reads[MAP.ids.index(frame.servo_id)] += 1
        elif frame.command == lx.Command.MOVE_START:
            close([(servos._begin[joint], servos._end[joint]) for joint, _times in group])
        elif frame.command in (lx.Command.MOVE_TIME_WRITE, lx.Command.MOVE_TIME_WAIT_WRITE):
            joint = MAP.ids.index(frame.servo_id)
            if group and joint <= group[-1][0]:  # frames go out in the robot's order: the next pose has begun
                close([times for _joint, times in group])
            group.append((joint, (servos._begin[joint], servos._end[joint])))

    device = ServoBusDevice(servos, link, turnaround=turnaround, on_frame=watch)
    device.start()
    results.put("ready")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.004)
        servos.set_angles(servos.setpoints(time.monotonic()))
    device.stop()
    results.put((np.array(poses), reads, device.counters.collisions))


def measure(name, seconds, turnaround):
    """Run one way of writing; print its line."""
    with tempfile.TemporaryDirectory() as directory:
        link, results = Path(directory) / "bus", multiprocessing.Queue()
        other = multiprocessing.Process(target=devices, args=(link, turnaround, seconds + 3.0, results))
        other.start()
        results.get()
        frames = None if name == "latched" else DirectFrames(MAP.ids, name == "shifted")
        chain = ServoChain(LxServos(ServoBus(PortSettings(str(link))), MAP.ids, frames), MAP)
        chain.start()
        while not chain.snapshot().settled:
            time.sleep(0.05)
        state, oldest, loads = chain.snapshot(), [], []
        epoch, begin, cpu, k = state.epoch, time.monotonic(), time.process_time(), 0
        while (t := time.monotonic() - begin) < seconds:
            chain.set_targets(0.3 * np.sin(2.0 * np.pi * t / 1.3 + np.arange(18)), PERIOD, epoch)
            k += 1
            time.sleep(max(0.0, begin + k * PERIOD - time.monotonic()))
            chain.snapshot(state)
            oldest.append(time.monotonic() - state.stamp.min())
            loads.append(state.bus_load)
        used, took, errors = time.process_time() - cpu, time.monotonic() - begin, state.errors.sum()
        writes = chain.snapshot().writes
        chain.stop()
        poses, reads, collisions = results.get()
        other.join()
    poses = poses[(poses[:, 0] > begin) & (poses[:, 0] < begin + took)]
    start_skew, arrival_skew = (np.percentile(column, [50, 99]) for column in poses[:, 1:].T)
    print(
        f"{name:8} {writes / took:6.1f} {1e3 * start_skew[0]:7.2f} {1e3 * start_skew[1]:6.2f} "
        f"{1e3 * arrival_skew[0]:7.2f} {1e3 * arrival_skew[1]:6.2f} {reads.min() / took:7.1f} "
        f"{1e3 * np.median(oldest):7.0f} {1e3 * np.max(oldest):6.0f} {100 * np.median(loads):6.0f} "
        f"{100 * used / took:6.1f} {errors:6} {collisions:4}"
    )


def main():
    """Measure the three ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--turnaround", type=float, default=0.0003, help="of a servo [s]")
    options = parser.parse_args()
    print(
        "           poses   start skew [ms]   arrival [ms]   least    oldest [ms]    bus    core errors\n"
        "way          /s  median    99%  median    99%  reads/s  median    max    [%]    [%]    collisions"
    )
    for name in ("latched", "direct", "shifted"):
        measure(name, options.seconds, options.turnaround)


if __name__ == "__main__":
    main()
