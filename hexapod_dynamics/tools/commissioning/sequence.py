"""All checks by their keys, in the order in which they are run, and what each needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.imu.mpu6050 import I2cBus, Mpu6050, Mpu6050Settings, open_bus
from hexapod_dynamics.drivers.servos.board_servos import BoardServos
from hexapod_dynamics.drivers.servos.interface import BusError, ServoInterface
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, not_run, of_check
from hexapod_dynamics.tools.commissioning.imu_checks import BoardSensor, check_axes, check_chip
from hexapod_dynamics.tools.commissioning.joint_checks import SPEED, JointChecks, SlowMove
from hexapod_dynamics.tools.commissioning.owner import Owner
from hexapod_dynamics.tools.commissioning.port import END_IT, check_file, check_port, users_of
from hexapod_dynamics.tools.commissioning.servo_checks import ask_all, assess_answers, assess_supplies, read_supplies


@dataclass
class Bench:
    """The robot's devices and its owner; joints: names of the joints that may be moved, empty for all.

    bus is closed at first: the check `port` opens it. i2c: number of the I2C bus, or path of a simulated one; empty:
    the IMU is behind the STM32 board, whose port is `bus`. supply: voltages at which the pack is low and empty.
    obstacle: why this computer cannot use the bus, empty if it can.
    """

    robot: Robot
    bus: ServoInterface
    i2c: str
    imu: Mpu6050Settings
    owner: Owner
    joints: Sequence[str] = ()
    speed: float = SPEED
    supply: SupplyLimits = field(default_factory=SupplyLimits)
    obstacle: str = ""
    handle: I2cBus | None = field(default=None, init=False)
    sensor: Mpu6050 | BoardSensor | None = field(default=None, init=False)

    def open_port(self) -> list[Finding]:
        """Check the servo port and open it."""
        return check_port(self.bus, self.obstacle)

    def check_servos(self) -> list[Finding]:
        """Check that each servo answers."""
        servo_map = ServoMap.from_robot(self.robot)
        return assess_answers(ask_all(self.bus, servo_map), servo_map)

    def check_supply(self) -> list[Finding]:
        """Check supply, limits and temperatures of the servos."""
        supplies, silent = read_supplies(self.bus, ServoMap.from_robot(self.robot))
        return assess_supplies(supplies, self.supply, silent)

    def check_imu(self) -> list[Finding]:
        """Check the IMU at rest."""
        trouble = self._open_imu()
        return trouble if self.sensor is None else check_chip(self.sensor)

    def check_axes(self) -> list[Finding]:
        """Check the mounting of the IMU."""
        trouble = self._open_imu()
        return trouble if self.sensor is None else check_axes(self.sensor, self.owner, self.robot.imu.rotation)

    def _open_imu(self) -> list[Finding]:
        """Open the I2C bus once, or take the IMU of the board, whose port is opened first if the check `port` was not
        chosen; return findings only if that fails.
        """
        if self.sensor is not None:
            return []
        if not self.i2c:
            if not isinstance(self.bus, BoardServos):
                return [failed("IMU", "source: board, and no board", "give servos the protocol `board` in the file")]
            findings = [] if self.bus.line.is_open else self.open_port()
            if self.bus.line.is_open:
                self.sensor = BoardSensor(self.bus.board)
            return findings
        path = self.i2c if not self.i2c.isdigit() else f"/dev/i2c-{self.i2c}"
        file = check_file(path, "i2c")
        if file.remedy:
            return [file]
        others = users_of(path)
        if others:
            return [failed(path, f"used by {', '.join(others)}", END_IT)]
        try:
            self.handle = open_bus(self.i2c)
        except DeviceError as error:
            return [failed(path, str(error), "see the message")]
        self.sensor = Mpu6050(self.handle, self.imu)
        return []

    def joint_checks(self) -> JointChecks:
        """The checks that move joints."""
        return JointChecks(self.robot, SlowMove(self.robot, self.bus, self.speed), self.owner, self.joints)


@dataclass(frozen=True)
class Check:
    """One check: its description, its expected result, its function, and whether it needs the servo bus."""

    title: str
    right: str
    run: Callable[[Bench], Iterable[Finding]]
    needs_bus: bool = True


CHECKS = {
    "port": Check("opens the servo port alone", "it exists, you may open it, nobody else has it", Bench.open_port),
    "servos": Check("asks every servo", "each answers, at its id", Bench.check_servos),
    "supply": Check("reads supply, limits, temperature and trim", "a charged battery, cool servos", Bench.check_supply),
    "imu": Check(
        "sets the IMU up and reads it at rest", "an MPU6050 that measures gravity", Bench.check_imu, needs_bus=False
    ),
    "axes": Check(
        "you hold the robot in three attitudes",
        "level: gravity on +z; nose down: positive pitch",
        Bench.check_axes,
        needs_bus=False,
    ),
    "directions": Check(
        "moves each joint by 0.2 rad and back", "the foot moves as announced", lambda b: b.joint_checks().directions()
    ),
    "trim": Check(
        "brings one leg after the other to its reference pose",
        "coxa straight outward, femur level, tibia straight down, within 3 degrees",
        lambda b: b.joint_checks().trim(),
    ),
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
            if key != "port" and check.needs_bus and not lost and not bench.bus.line.is_open:
                opened = bench.open_port()  # the check `port` was not chosen
                lost = not bench.bus.line.is_open
                yield from of_check("port", opened if lost else [])
            if key != "port" and check.needs_bus and lost:
                yield from of_check(key, [not_run(check.title, "needs the servo port", "see the check `port`")])
                continue
            try:
                yield from of_check(key, check.run(bench))
            except BusError as error:
                trouble = failed(bench.bus.port, str(error), "was the cable or the supply lost? Then begin again")
                yield from of_check(key, [trouble])
            lost = lost or (check.needs_bus and not bench.bus.line.is_open)
    finally:
        if bench.handle is not None:
            bench.handle.close()
