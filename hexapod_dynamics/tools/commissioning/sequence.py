"""All checks by their keys, in the order in which they are run, and what each needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hexapod_dynamics.drivers.servos.interface import BusError
from hexapod_dynamics.tools.commissioning.bench import Bench
from hexapod_dynamics.tools.commissioning.findings import Finding, of_check
from hexapod_dynamics.tools.commissioning.imu_checks import check_axes, check_imu
from hexapod_dynamics.tools.commissioning.joint_checks import check_directions, check_stop, check_trim
from hexapod_dynamics.tools.commissioning.port import check_port
from hexapod_dynamics.tools.commissioning.servo_checks import check_servos, check_supply


class Check(NamedTuple):
    """One check: its description, its expected result, its function, and whether it needs the servo bus."""

    title: str
    right: str
    run: Callable[[Bench], Iterator[Finding]]
    needs_bus: bool = True


CHECKS = {
    "port": Check("opens the servo port alone", "it exists, you may open it, nobody else has it", check_port),
    "servos": Check("asks every servo", "each answers, at its id", check_servos),
    "supply": Check("reads supply, limits, temperature and trim", "a charged battery, cool servos", check_supply),
    "imu": Check("sets the IMU up and reads it at rest", "an MPU6050 that measures gravity", check_imu, False),
    "axes": Check(
        "you hold the robot in three attitudes",
        "level: gravity on +z; nose down: positive pitch",
        check_axes,
        needs_bus=False,
    ),
    "directions": Check("moves each joint by 0.2 rad and back", "the foot moves as announced", check_directions),
    "trim": Check(
        "brings one leg after the other to its reference pose",
        "coxa straight outward, femur level, tibia straight down, within 3 degrees",
        check_trim,
    ),
    "stop": Check("sends an emergency stop into a motion", "the joint stands at once, and holds", check_stop),
}


def run_checks(keys: Sequence[str], bench: Bench) -> Iterator[Finding]:
    """Run checks in order and yield their findings; if the port is lost, the present check fails, and the checks
    that need the port are not run.
    """
    lost = False  # the port could not be opened, or was lost
    for key in keys:
        check = CHECKS[key]
        bench.owner.show(f"\n{key}: {check.title}. Right is: {check.right}.")
        if check.needs_bus and key != "port":
            if not lost and not bench.bus.is_open:  # the check `port` was not chosen
                opening = list(of_check("port", check_port(bench)))
                lost = not bench.bus.is_open
                yield from opening if lost else ()
            if lost:
                yield Finding(check.title, "needs the servo port", "see the check `port`", skipped=True, check=key)
                continue
        try:
            yield from of_check(key, check.run(bench))
        except BusError as error:
            remedy = "was the cable or the supply lost? Then begin again"
            yield Finding(bench.bus.port, str(error), remedy, check=key)
        lost = lost or (check.needs_bus and not bench.bus.is_open)
