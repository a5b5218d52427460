"""`ros2 run hexapod_dynamics check_robot`: the checks of a real robot before its first step, one after the other.

The robot moves only with the operator's permission, and slowly. `--simulated` rehearses everything on a simulated
robot.
"""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.devices.faults import parse as parse_faults
from hexapod_dynamics.devices.hardware import BUSES
from hexapod_dynamics.devices.suspended_robot import SuspendedRobot
from hexapod_dynamics.drivers.imu.mpu6050 import Mpu6050Settings
from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings, make_servos
from hexapod_dynamics.errors import HexapodError, MissingPackageError
from hexapod_dynamics.parameters import imu as imu_list
from hexapod_dynamics.parameters import servos as servos_list
from hexapod_dynamics.parameters.file_check import check_parameter_file, select_values
from hexapod_dynamics.parameters.spec import make_settings
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.robot_file import jethexa_path
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.tools.command_line import at_least, check_folder, load_robot, make_parser, split_names
from hexapod_dynamics.tools.commissioning.bench import Bench, Operator, SimulatedOperator
from hexapod_dynamics.tools.commissioning.findings import Finding, all_passed, format_report, label_findings, summarise
from hexapod_dynamics.tools.commissioning.imu_checks import check_axes, check_imu
from hexapod_dynamics.tools.commissioning.joint_checks import check_directions, check_stop, check_trim
from hexapod_dynamics.tools.commissioning.servo_checks import check_port, check_servos, check_supply


class Check(NamedTuple):
    """One check: its description, its expected result, its function, and whether it needs the servo bus."""

    title: str
    right: str
    run: Callable[[Bench], Iterator[Finding]]
    needs_bus: bool = True


CHECKS = {
    "port": Check("opens the servo port", "it exists, you may open it, no other process has it open", check_port),
    "servos": Check("asks every servo", "each answers, at its id", check_servos),
    "supply": Check("reads supply, limits, temperature and trim", "a charged battery, cool servos", check_supply),
    "imu": Check("sets the IMU up and reads it at rest", "an IMU that measures gravity", check_imu, False),
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
        bench.operator.show(f"\n{key}: {check.title}. Right is: {check.right}.")
        if check.needs_bus and key != "port":
            if not lost and not bench.bus.is_open:  # the check `port` was not chosen
                opening = list(label_findings("port", check_port(bench)))
                lost = not bench.bus.is_open
                yield from opening if lost else ()
            if lost:
                yield Finding(check.title, "needs the servo port", "see the check `port`", skipped=True, check=key)
                continue
        try:
            yield from label_findings(key, check.run(bench))
        except BusError as error:
            remedy = "was the cable or the supply lost? Then begin again"
            yield Finding(bench.bus.port, str(error), remedy, check=key)
        lost = lost or (check.needs_bus and not bench.bus.is_open)


# [s] to wait for an answer: the threads of a simulated robot are in the same process and take turns with the checks.
SIMULATED_TIMEOUT = 0.25
# Values of parameters that a parameter file does not contain.
LISTS = ("servos", servos_list.PARAMETERS), ("imu", imu_list.PARAMETERS)
DEFAULTS = {node: {parameter.name: parameter.default for parameter in own} for node, own in LISTS}
WELCOME = """Before you begin:
  - The robot hangs or stands on a box, its feet in the air; nothing is in the way of the legs.
  - Your hand is at the battery switch: it is the last resort, and it always works.
  - No launch runs. Ctrl-C stops everything at any time; the joints stay where they are."""


def build_parser() -> argparse.ArgumentParser:
    """Build the command line."""
    top = make_parser("check_robot", __doc__)
    top.add_argument("--only", help=f"checks to run, separated by commas, of: {', '.join(CHECKS)}")
    top.add_argument("--joints", help="joints to move, separated by commas; default: all")
    top.add_argument("--report", help="write a report (Markdown) to this file")
    top.add_argument("--yes", action="store_true", help="permit every motion at once; what is seen is still asked")
    top.add_argument(
        "--simulated",
        nargs="?",
        const="lx",
        default="",
        choices=BUSES,
        help="rehearse on a simulated robot, which answers by itself; of which servo hardware, default lx",
    )
    top.add_argument("--faults", default="", help="of the simulated robot, as servo.silent=femur_joint_RM,imu.absent=1")
    top.add_argument("--robot", default="", help="robot file; default: the JetHexa")
    top.add_argument(
        "--hardware",
        default="",
        help="jethexa (default), jethexa_orin, dynamixel or feetech, as in the launch, or a parameter file",
    )
    top.add_argument("--port", help="servo port instead of the file's")
    top.add_argument("--direction", choices=["adapter", "gpio"], help="instead of the file's; USB bus linker: adapter")
    top.add_argument("--bus", help="I2C bus of the IMU instead of the file's")
    slow = Bench.speed
    top.add_argument("--speed", type=at_least(0.05, 1.0), default=slow, help=f"of every motion [rad/s]; default {slow}")
    return top


def read_device_parameters(given: argparse.Namespace, robot: Robot) -> dict[str, dict]:
    """Return the device parameters: those of the command line, else those of the file."""
    name = given.hardware or "jethexa"
    file = Path(jethexa_path()).parent / f"hardware_{name}.yaml" if name.isidentifier() else Path(name)
    sections = check_parameter_file(file, robot, option="--hardware ")
    own = {node: select_values(sections, node) for node in DEFAULTS}
    if missing := [node for node, its in own.items() if not its]:
        raise HexapodError(f"{file} has no parameters of {' and '.join(missing)}")
    values = {node: default | own[node] for node, default in DEFAULTS.items()}
    protocol = values["servos"]["protocol"]
    if protocol in ("dynamixel", "feetech") and not given.robot:
        raise HexapodError(
            f"{file} is for {protocol} servos: the default robot, a JetHexa, has no such servos, and other joints; add "
            "--robot with the file of yours, as --robot config/phantomx.yaml"
        )
    for node, name in (("servos", "port"), ("servos", "direction"), ("imu", "bus")):
        if getattr(given, name):
            values[node][name] = getattr(given, name)
        if not values[node][name] and not (node == "imu" and values["imu"]["source"] == "board"):
            raise HexapodError(f"{file} gives no {name} to {node}: write it there, or give --{name}")
    return values


def open_bench(given: argparse.Namespace, robot: Robot, checks: Sequence[str], ends: ExitStack) -> Bench:
    """Return the devices and the operator, real or simulated ones; `ends` closes and removes them."""
    values: dict[str, dict]
    operator: Operator
    joints = split_names("--joints", given.joints, "joint", robot.joint_names)
    if given.simulated:
        directory = ends.enter_context(tempfile.TemporaryDirectory(prefix="check_robot-"))
        simulated = SuspendedRobot(robot, directory, bus=given.simulated)
        simulated.faults.set(parse_faults(given.faults))
        ends.callback(simulated.stop)
        simulated.start()
        values = {name: default | simulated.parameters[name] for name, default in DEFAULTS.items()}
        values["servos"]["reply_timeout"], operator = SIMULATED_TIMEOUT, SimulatedOperator(simulated)
    else:
        values, operator = read_device_parameters(given, robot), Operator(permit_all=given.yes)
    servos, imu = values["servos"], values["imu"]
    by_pins = servos["direction"] == "gpio" and any(CHECKS[key].needs_bus for key in checks)
    timeout = max(0.03, servos["reply_timeout"])  # [s]: the checks have time, and a busy computer reads answers late
    own = {"direction": "gpio" if by_pins else "adapter", "reply_timeout": timeout, "model": servos["servo_model"]}
    port = make_settings(PortSettings, servos, **own)
    ids, obstacle = ServoMap.from_robot(robot).ids, ""
    try:
        bus = make_servos(port, ids, servos["protocol"])
    except MissingPackageError as error:  # without the pins the port's file is checked, and the port never opened
        obstacle = str(error)
        bus = make_servos(replace(port, direction="adapter"), ids, servos["protocol"])
    ends.callback(bus.release)
    i2c = "" if imu["source"] == "board" else str(imu["bus"])
    supply = SupplyLimits(servos["warn_voltage"], servos["sit_voltage"], release=0.0)
    settings = Mpu6050Settings(address=imu["address"])
    return Bench(robot, bus, i2c, settings, operator, joints, given.speed, supply, obstacle)


def write_report(given: argparse.Namespace, robot: str, findings: Sequence[Finding], interrupted: bool) -> None:
    """Write the report on the robot of this name to the given file; raises OSError."""
    about = [
        ("robot", f"{robot}{' (simulated)' if given.simulated else ''}"),
        ("host", socket.gethostname()),
        ("date", time.strftime("%Y-%m-%d %H:%M:%S %z")),
        ("ended", "interrupted: not all checks were run" if interrupted else "all chosen checks were run"),
    ]
    Path(given.report).write_text(format_report("Check of the robot", about, findings), encoding="utf-8")
    print(f"report: {given.report}")


def main(args: list[str] | None = None) -> None:
    """Run the checks; exit code 0: all passed, 1: one has not, 2: wrong arguments, 130: interrupted."""
    given = build_parser().parse_args(args)
    # end as with Ctrl-C: motions stop, and the robot returns to its initial state. SIGINT, too: a shell's script starts
    # what runs in its background with SIGINT ignored
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    findings, interrupted, name = [], False, given.robot
    with ExitStack() as ends:
        try:
            check_folder("--report", given.report)
            wanted = split_names("--only", given.only, "check", list(CHECKS))
            checks = [key for key in CHECKS if key in wanted or not wanted]
            robot = load_robot(given.robot)
            name = robot.name
            devices = open_bench(given, robot, checks, ends)
            devices.operator.show(WELCOME)
            for finding in run_checks(checks, devices):
                findings.append(finding)
                devices.operator.show(finding.lines)
        except (HexapodError, OSError) as error:
            print(error, file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt:
            interrupted = True
            print("\ninterrupted: the joints stay where they are, with torque or without as before", file=sys.stderr)
    print(summarise(findings))
    if given.report:
        write_report(given, name, findings, interrupted)
    sys.exit(130 if interrupted else 0 if all_passed(findings) else 1)


if __name__ == "__main__":
    main()
