"""`ros2 run hexapod_dynamics servo_tool scan | read | center | calibrate | set-id`: test and set up servos on the bus.

The node `servos` must not run: only one process can use the port. The tool asks before it writes to a servo's flash.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence

from hexapod_dynamics.drivers.servos.interface import Fault, NoReply, PortSettings
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.runtime_directory import SERVO_BUS, device_directory
from hexapod_dynamics.tools.command_line import Progress, at_least, load_robot, make_parser, run_command

REGISTERS = (
    ("position [deg]", Command.POS_READ, lambda v: f"{math.degrees(v):.1f}"),
    ("holds", Command.LOAD_OR_UNLOAD_READ, lambda v: "yes" if v else "no"),
    ("supply [V]", Command.VIN_READ, lambda v: f"{v:.2f}"),
    ("supply limits [V]", Command.VIN_LIMIT_READ, lambda v: f"{v[0]:.1f} .. {v[1]:.1f}"),
    ("temperature [deg C]", Command.TEMP_READ, str),
    ("temperature limit [deg C]", Command.TEMP_MAX_LIMIT_READ, str),
    ("angle limits [deg]", Command.ANGLE_LIMIT_READ, lambda v: f"{math.degrees(v[0]):.0f} .. {math.degrees(v[1]):.0f}"),
    ("deviation [deg]", Command.ANGLE_OFFSET_READ, lambda v: f"{math.degrees(v):.2f}"),
    ("last move [deg, s]", Command.MOVE_TIME_READ, lambda v: f"{math.degrees(v.angle):.1f} in {v.duration:.2f}"),
    ("mode", Command.OR_MOTOR_MODE_READ, lambda v: f"motor at {v.speed:.0%}" if v.motor else "servo"),
    ("LED", Command.LED_CTRL_READ, lambda v: "on" if v else "off"),
    ("LED shows", Command.LED_ERROR_READ, lambda v: v.name or "nothing"),
)
FULL_PACK = 12.6  # [V] voltage of three fully charged lithium cells


class ServoTool:
    """The commands of the tool on an open bus; ask(question) returns True for yes, say(text) prints."""

    def __init__(
        self,
        bus: LxServos,
        robot: Robot,
        ask: Callable[[str], bool],
        say: Callable[[str], object] = print,
        ids: range = range(lx.BROADCAST_ID),
    ) -> None:
        self._bus, self._ask, self._say, self._ids = bus, ask, say, ids
        joints = [joint for joint in robot.joints if joint.servo_id is not None]
        self._joints = {joint.name: joint for joint in joints}
        self._names = {joint.servo_id: joint.name for joint in joints if joint.servo_id is not None}

    def _describe_servo(self, servo_id: int) -> str:
        return self._names.get(servo_id, "not one of this robot")

    def _print_servo(self, servo_id: int, text: str) -> None:
        """Print a line about a servo."""
        self._say(f"{servo_id:3}  {self._describe_servo(servo_id):22} {text}")

    def _id(self, text: str) -> int:
        """Return the servo id for a joint's name or a number."""
        for servo_id, name in self._names.items():
            if name == text:
                return servo_id
        if text.isdigit() and int(text) < lx.BROADCAST_ID:
            return int(text)
        raise DeviceError(f"{text!r} is neither a servo id 0..253 nor a joint; joints are {', '.join(self._joints)}")

    def find(self) -> tuple[list[int], list[int]]:
        """Return the ids that answer, and the ids with corrupted answers (several servos have the same id)."""
        ids = self._ids
        found, damaged, progress = [], [], Progress("asking")
        for done, servo_id in enumerate(ids, 1):
            faults: set[Fault | None] = set()
            for attempt in range(3):
                if self._bus.exchange(servo_id, Command.POS_READ) is not None:
                    found.append(servo_id)
                    break
                faults.add(self._bus.fault)
                if self._bus.fault is Fault.TIMEOUT and (attempt or servo_id not in self._names):
                    break
                time.sleep(0.05)  # late answers must not be mistaken for answers to the next request
            if servo_id not in found and faults != {Fault.TIMEOUT}:
                damaged.append(servo_id)
            progress(done / len(ids))
        return found, damaged

    def scan(self) -> bool:
        """List the servos on the bus; return True if they are exactly the servos of the robot."""
        found, damaged = self.find()
        for servo_id in list(found):
            try:
                self._print_servo(servo_id, self._summary(servo_id))
            except NoReply:
                found.remove(servo_id)
                damaged.append(servo_id)
        for servo_id in damaged:
            self._print_servo(servo_id, "corrupted answers: two servos with this id, or noise")
        missing = [
            f"{name} (id {joint.servo_id})"
            for name, joint in self._joints.items()
            if joint.servo_id not in found and joint.servo_id in self._ids
        ]
        if missing:
            self._say(f"no answer from {', '.join(missing)}")
        strangers = [servo_id for servo_id in found if servo_id not in self._names]
        return not (missing or damaged or strangers)

    def _summary(self, servo_id: int) -> str:
        angle, volts, heat, limits = (
            self._bus.ask(servo_id, command)
            for command in (Command.POS_READ, Command.VIN_READ, Command.TEMP_READ, Command.VIN_LIMIT_READ)
        )
        warning = ""
        if limits[1] < FULL_PACK - 0.05:
            warning = f"   torque off above {limits[1]:.1f} V: a full battery has {FULL_PACK} V"
        return f"{math.degrees(angle):7.1f} deg  {volts:5.2f} V  {heat:3} deg C{warning}"

    def read(self, which: str) -> bool:
        """Print every register of one servo or joint."""
        servo_id = self._id(which)
        self._say(f"servo {servo_id}: {self._describe_servo(servo_id)}")
        for title, command, text in REGISTERS:
            self._say(f"  {title:26} {text(self._bus.ask(servo_id, command))}")
        return True

    def center(self, which: Sequence[str]) -> bool:
        """Move joints slowly to zero, one after the other; return True if all are there, in the reference pose."""
        ids = [self._id(text) for text in which] or sorted(self._names)
        if not self._ask(f"Move {len(ids)} servo(s) to their centre? The feet must be in the air."):
            return False
        progress = Progress("centring")
        for done, servo_id in enumerate(ids, 1):
            way = abs(self._bus.ask(servo_id, Command.POS_READ))
            duration = min(max(way / math.radians(30.0), 0.2), lx.MAX_MOVE_TIME)
            self._bus.send(lx.move_time(servo_id, 0.0, duration))
            self._bus.drain()
            time.sleep(duration + 0.1)  # until it rests there
            progress(done / len(ids), self._describe_servo(servo_id))
        angles = {servo_id: self._bus.ask(servo_id, Command.POS_READ) for servo_id in ids}
        off = {servo_id: angle for servo_id, angle in angles.items() if abs(angle) > math.radians(2.0)}
        for servo_id, angle in off.items():
            self._print_servo(servo_id, f"is {math.degrees(angle):.1f} deg off: blocked?")
        return not off

    def calibrate(self, which: str, degrees: float) -> bool:
        """Set the deviation (trim) of a servo [deg]; it moves at once. It is saved to flash only if the user agrees."""
        servo_id = self._id(which)
        if not abs(degrees) <= 30.0:
            raise DeviceError(f"deviation {degrees} deg is outside +-30 deg")
        before = self._bus.ask(servo_id, Command.ANGLE_OFFSET_READ)
        self._say(f"servo {servo_id} ({self._describe_servo(servo_id)}): deviation is {math.degrees(before):.2f} deg")
        self._bus.send(lx.angle_offset_adjust(servo_id, math.radians(degrees)))
        now = self._bus.ask(servo_id, Command.ANGLE_OFFSET_READ)
        if lx.offset_count(now) != lx.offset_count(math.radians(degrees)):
            raise NoReply(f"servo {servo_id} reads back {math.degrees(now):.2f} deg instead of {degrees:.2f}")
        self._say(f"now {math.degrees(now):.2f} deg, until the power is switched off")
        if self._ask(f"Save {math.degrees(now):.2f} deg to the flash of servo {servo_id}?"):
            self._bus.send(lx.write(servo_id, Command.ANGLE_OFFSET_WRITE))
            self._bus.drain()
            self._say("saved")
            return True
        if self._ask(f"Restore {math.degrees(before):.2f} deg?"):
            self._bus.send(lx.angle_offset_adjust(servo_id, before))
            self._bus.drain()
        return False

    def set_id(self, old: int, new: int) -> bool:
        """Change the id (flash) of the only servo on the bus; the tool checks that no other servo answers, and asks."""
        if not 0 <= new < lx.BROADCAST_ID:
            raise DeviceError(f"new id {new} is outside 0..253")
        found, damaged = self.find()
        if found != [old] or damaged:
            others = ", ".join(str(i) for i in [*found, *damaged]) or "none"
            raise DeviceError(f"servos that answer: {others}. To change an id connect only servo {old}")
        if not self._ask(f"Write id {new} ({self._describe_servo(new)}) to the flash of servo {old}?"):
            return False
        self._bus.send(lx.id_write(old, new))
        self._bus.drain()
        time.sleep(0.1)
        if self._bus.ask(new, Command.ID_READ) != new:
            raise NoReply(f"servo {new} does not confirm its new id")
        self._say(f"servo {old} is now {new}")
        return True


def ask_yes_or_no(question: str) -> bool:
    """Ask on the terminal; every answer except y or yes means no, and so does a missing terminal."""
    if not sys.stdin.isatty():
        print(f"{question} There is no terminal to answer: no (use --yes).")
        return False
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def build_parser() -> argparse.ArgumentParser:
    """Build the command line."""
    top = make_parser("servo_tool", __doc__)
    top.add_argument(
        "--port", help="serial port, on a JetHexa /dev/ttyTHS1; default: that of the simulator in this ROS_DOMAIN_ID"
    )
    top.add_argument("--baudrate", type=int, default=lx.DEFAULT_BAUDRATE)
    top.add_argument(
        "--direction",
        choices=["adapter", "gpio"],
        default="adapter",
        help="what switches between sending and receiving; on a JetHexa: gpio",
    )
    top.add_argument("--reply-timeout", type=float, default=0.008, help="time to wait for an answer [s]")
    top.add_argument("--robot", default="", help="robot file; default: the JetHexa")
    top.add_argument("--yes", action="store_true", help="answer every question with yes")
    top.set_defaults(last=lx.BROADCAST_ID - 1)
    verbs = top.add_subparsers(dest="verb", required=True)
    scan = verbs.add_parser("scan", help="list the servos on the bus and those that are missing")
    scan.add_argument(
        "--last", type=at_least(0, lx.BROADCAST_ID - 1), default=lx.BROADCAST_ID - 1, help="largest id to ask"
    )
    verbs.add_parser("read", help="print all registers of a servo").add_argument("servo", help="id or joint name")
    verbs.add_parser("center", help="move joints slowly to zero").add_argument("servo", nargs="*", help="ids or joints")
    calibrate = verbs.add_parser("calibrate", help="set the deviation of a servo, then ask whether to save it")
    calibrate.add_argument("servo", help="id or joint name")
    calibrate.add_argument("degrees", type=float, help="deviation, -30..30")
    set_id = verbs.add_parser("set-id", help="change the id of the only servo on the bus")
    set_id.add_argument("old", type=int)
    set_id.add_argument("new", type=int)
    return top


def main(args: list[str] | None = None) -> int:
    """Run one command; return 0: done without faults, 1: a fault, or the user declined, 130: interrupted."""
    return run_command(build_parser(), _run, args, interrupted="the servos hold their last targets")


def _run(given: argparse.Namespace) -> int:
    robot = load_robot(given.robot)
    port = given.port or str(device_directory() / SERVO_BUS)
    bus = LxServos(PortSettings(port, given.baudrate, given.direction, reply_timeout=given.reply_timeout), ())
    ask = (lambda question: print(f"{question} yes") or True) if given.yes else ask_yes_or_no
    tool = ServoTool(bus, robot, ask, ids=range(given.last + 1))
    verbs: dict[str, Callable[[], bool]] = {
        "scan": tool.scan,
        "read": lambda: tool.read(given.servo),
        "center": lambda: tool.center(given.servo),
        "calibrate": lambda: tool.calibrate(given.servo, given.degrees),
        "set-id": lambda: tool.set_id(given.old, given.new),
    }
    try:
        bus.open()
        return 0 if verbs[given.verb]() else 1
    finally:
        bus.release()


if __name__ == "__main__":
    sys.exit(main())
