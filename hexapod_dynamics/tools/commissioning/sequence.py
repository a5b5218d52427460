"""All checks by their keys, in the order in which they are run, and what each needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hexapod_dynamics.drivers.imu.mpu6050 import I2cBus, Mpu6050, Mpu6050Settings, open_bus
from hexapod_dynamics.drivers.servos.board_servos import BoardServos
from hexapod_dynamics.drivers.servos.interface import BusError, ServoInterface
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, not_run, passed
from hexapod_dynamics.tools.commissioning.imu_checks import BoardSensor, check_axes, check_chip
from hexapod_dynamics.tools.commissioning.joint_checks import JointChecks
from hexapod_dynamics.tools.commissioning.owner import Owner
from hexapod_dynamics.tools.commissioning.port import END_IT, check_file, check_port, users_of
from hexapod_dynamics.tools.commissioning.servo_checks import (
    EMPTY,
    LOW,
    ask_all,
    assess_answers,
    assess_supplies,
    deviations,
    read_supplies,
)
from hexapod_dynamics.tools.commissioning.slow_move import SPEED, SlowMove


@dataclass
class Bench:
    """The robot's devices and its owner; joints: names of the joints that may be moved, empty for all.

    bus is closed at first: the check `port` opens it. i2c: number of the I2C bus, or path of a simulated one; empty:
    the IMU is behind the STM32 board, whose port is `bus`. low, empty [V]: voltages at which the pack is low and
    empty. obstacle: why this computer cannot use the bus, empty if it can.
    """

    robot: Robot
    bus: ServoInterface
    i2c: str
    imu: Mpu6050Settings
    owner: Owner
    joints: Sequence[str] = ()
    speed: float = SPEED
    low: float = LOW
    empty: float = EMPTY
    obstacle: str = ""
    handle: I2cBus | None = field(default=None, init=False)
    sensor: Mpu6050 | BoardSensor | None = field(default=None, init=False)

    @property
    def servo_map(self) -> ServoMap:
        """Joints and servos."""
        return ServoMap.from_robot(self.robot)

    def joint_checks(self) -> JointChecks:
        """The checks that move joints."""
        joints = self.robot.joints
        limits = [joint.lower for joint in joints], [joint.upper for joint in joints]
        return JointChecks(self.robot, SlowMove(self.bus, self.servo_map, *limits, self.speed), self.owner, self.joints)


def _servos(bench: Bench) -> list[Finding]:
    return assess_answers(ask_all(bench.bus, bench.servo_map), bench.servo_map)


def _supply(bench: Bench) -> list[Finding]:
    supplies, silent = read_supplies(bench.bus, bench.servo_map)
    findings = assess_supplies(supplies, silent, bench.low, bench.empty)
    return [*findings, passed("supply", "deviations (trim)", deviations(supplies))] if supplies else findings


def _open_imu(bench: Bench, check: str) -> list[Finding]:
    """Open the I2C bus once; return findings only if that fails."""
    if bench.sensor is not None:
        return []
    if not bench.i2c:
        return _open_board_imu(bench, check)
    path = bench.i2c if not bench.i2c.isdigit() else f"/dev/i2c-{bench.i2c}"
    findings = check_file(check, path, "i2c")
    if findings[-1].remedy:
        return findings
    others = users_of(path)
    if others:
        return [failed(check, path, f"used by {', '.join(others)}", END_IT)]
    try:
        bench.handle = open_bus(bench.i2c)
    except DeviceError as error:
        return [failed(check, path, str(error), "see the message")]
    bench.sensor = Mpu6050(bench.handle, bench.imu)
    return []


def _open_board_imu(bench: Bench, check: str) -> list[Finding]:
    """Take the IMU of the board; its port is opened first, if the check `port` was not chosen."""
    if not isinstance(bench.bus, BoardServos):
        return [failed(check, "IMU", "source: board, and no board", "give servos the protocol `board` in the file")]
    if not bench.bus.line.is_open:
        findings = check_port(bench.bus, check, bench.obstacle)
        if not bench.bus.line.is_open:
            return findings
    bench.sensor = BoardSensor(bench.bus.board)
    return []


def _imu(bench: Bench) -> list[Finding]:
    trouble = _open_imu(bench, "imu")
    return trouble if bench.sensor is None else check_chip(bench.sensor)


def _axes(bench: Bench) -> list[Finding]:
    trouble = _open_imu(bench, "axes")
    return trouble if bench.sensor is None else check_axes(bench.sensor, bench.owner, bench.robot.imu.rotation)


@dataclass(frozen=True)
class Check:
    """One check: its description, its expected result, its function, and whether it needs the servo bus."""

    title: str
    right: str
    run: Callable[[Bench], Iterable[Finding]]
    needs_bus: bool = True


REFERENCE = "coxa straight outward, femur level, tibia straight down, within 3 degrees"
CHECKS = {
    "port": Check(
        "opens the servo port alone",
        "it exists, you may open it, nobody else has it",
        lambda b: check_port(b.bus, obstacle=b.obstacle),
    ),
    "servos": Check("asks every servo", "each answers, at its id", _servos),
    "supply": Check("reads supply, limits, temperature and trim", "a charged battery, cool servos", _supply),
    "imu": Check("sets the IMU up and reads it at rest", "an MPU6050 that measures gravity", _imu, needs_bus=False),
    "axes": Check(
        "you hold the robot in three attitudes",
        "level: gravity on +z; nose down: positive pitch",
        _axes,
        needs_bus=False,
    ),
    "directions": Check(
        "moves each joint by 0.2 rad and back", "the foot moves as announced", lambda b: b.joint_checks().directions()
    ),
    "trim": Check("brings one leg after the other to its reference pose", REFERENCE, lambda b: b.joint_checks().trim()),
    "stop": Check(
        "sends an emergency stop into a motion",
        "the joint stands at once, and holds",
        lambda b: b.joint_checks().stop(),
    ),
}


def run_checks(keys: Sequence[str], bench: Bench) -> Iterator[Finding]:
    """Run checks in order and yield their findings; if the port is lost, the present check fails, and the checks
    that need the port are not run.
    """
    lost = False  # the port could not be opened, or was lost
    try:
        for key in keys:
            check = CHECKS[key]
            bench.owner.show(f"\n{key}: {check.title}. Right is: {check.right}.")
            if key != "port" and check.needs_bus:
                if not lost and not bench.bus.line.is_open:  # the check `port` was not chosen
                    opened = check_port(bench.bus, obstacle=bench.obstacle)
                    lost = not bench.bus.line.is_open
                    yield from (opened if lost else [])
                if lost:
                    yield not_run(key, check.title, "needs the servo port", "see the check `port`")
                    continue
            try:
                yield from check.run(bench)
            except BusError as error:
                yield failed(key, bench.bus.port, str(error), "was the cable or the supply lost? Then begin again")
            lost = lost or (check.needs_bus and not bench.bus.line.is_open)
    finally:
        if bench.handle is not None:
            bench.handle.close()
