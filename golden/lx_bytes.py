"""Golden record of the bytes that the LX driver writes on the wire, in lock step with servos that always answer alike.

    python golden/lx_bytes.py RECORD            writes the record
    python golden/lx_bytes.py --compare RECORD  compares with it and exits with 1 if a byte differs

A pty stands for the line. What is recorded does not depend on the time: every call of the driver in turn with the
bytes that it has written; of the bus thread the order of all writes, and the first round of reads.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import sys
import threading
import time
import tty
from pathlib import Path

import numpy as np

REPLIES = {
    2: "<HH",
    8: "<HH",
    14: "<B",
    19: "<b",
    21: "<HH",
    23: "<HH",
    25: "<B",
    26: "<B",
    27: "<H",
    28: "<h",
    32: "<B",
}
READS = set(REPLIES)


def find(*places: str):
    """Return the first of these objects, 'module:name', that exists: modules are renamed while the driver moves."""
    for place in places:
        module, name = place.split(":")
        try:
            return getattr(importlib.import_module(f"hexapod_dynamics.drivers.{module}"), name)
        except (ImportError, AttributeError):
            continue
    raise SystemExit(f"none of {places} exists")


class Line:
    """A pty with servos of our own: they answer reads from a table, which `fault` spoils: checksum, garbage, mute."""

    def __init__(self) -> None:
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        tty.setraw(self.master)
        self.path, self.fault, self.written, self._held = os.ttyname(self._slave), "", bytearray(), bytearray()
        self.lock, self.alive, self.torque = threading.Lock(), True, {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def take(self) -> str:
        """Return what was written since the last call."""
        time.sleep(0.03)
        with self.lock:
            taken, self.written[:] = self.written.hex(), b""
        return taken

    def _run(self) -> None:
        while self.alive:
            if not select.select([self.master], [], [], 0.05)[0]:
                continue
            data = os.read(self.master, 4096)
            with self.lock:
                self.written += data
                self._held += data
                while len(self._held) >= 6:
                    size = self._held[3] + 3
                    if self._held[:2] != b"\x55\x55" or size < 6:
                        del self._held[0]
                        continue
                    if len(self._held) < size:
                        break
                    frame = bytes(self._held[:size])
                    del self._held[:size]
                    self._answer(frame)

    def _answer(self, frame: bytes) -> None:
        servo, command = frame[2], frame[4]
        if command == 31:
            self.torque[servo] = frame[5]
        if command not in READS or self.fault == "mute":
            return
        value = {
            2: (500, 20),
            8: (500, 20),
            14: (servo,),
            19: (3,),
            21: (0, 1000),
            23: (9000, 12600),
            25: (85,),
            26: (30,),
            27: (11800,),
            28: (500 + servo,),
            32: (self.torque.get(servo, 1),),
        }[command]
        import struct

        payload = struct.pack(REPLIES[command], *value)
        body = bytes((servo, 3 + len(payload), command)) + payload
        check = ~sum(body) & 0xFF
        if self.fault == "checksum":
            check ^= 0x40
        answer = b"\x55\x55" + body + bytes((check,))
        if self.fault == "garbage":
            answer = b"\x13\x55\x00" + answer[3:]
        os.write(self.master, answer)


def frames_of(text: str) -> list[str]:
    """Split written bytes into frames."""
    data, found = bytes.fromhex(text), []
    while data:
        size = data[3] + 3
        found.append(data[:size].hex())
        data = data[size:]
    return found


def interface_record() -> dict:
    """The bytes of each call of the interface."""
    settings = find("servos.interface:PortSettings", "interface:PortSettings")
    make = find("servos.interface:make_servos", "servos.protocols:make_servos")
    ids = [5, 3, 1, 11, 9, 7, 17, 15, 13, 18, 16, 14, 12, 10, 8, 6, 4, 2]
    line, record = Line(), {}
    servos = make(settings(line.path, reply_timeout=0.05), ids, "lx")
    n = len(ids)

    def note(name: str, result: object = None) -> None:
        record[name] = {"written": line.take(), "result": repr(result)}

    servos.open()
    note("open")
    for quantity in (
        "position",
        "target",
        "loaded",
        "voltage",
        "temperature",
        "lowest_voltage",
        "highest_voltage",
        "temperature_limit",
        "deviation",
    ):
        for index in (0, 7, 17):
            note(f"read {quantity} {index}", servos.read(index, quantity))
    if hasattr(servos, "identify"):
        note("identify", servos.identify(4))
    else:
        servos.exchange(ids[4], 14)
        note("identify", "LX/HTD bus servo")
    random = np.random.default_rng(1)
    for k in range(60):
        angles = (servos if hasattr(servos, "quantise") else servos.counts).quantise(random.uniform(-2.3, 2.3, n))
        durations = random.choice([0.0, 0.0004, 0.0005, 0.02, 0.0205, 0.7, 29.9999, 31.0], n)
        chosen = random.random(n) < (1.0 if k % 3 == 0 else 0.4)
        moves = zip(range(n), angles.tolist(), durations.tolist(), strict=True)
        servos.write_pose([move for move, moved in zip(moves, chosen, strict=True) if moved])
        note(f"pose {k}")
    for k in range(20):
        angle, duration = float(random.uniform(-2.0, 2.0)), float(random.uniform(0.0, 2.0))
        servos.write(k % n, angle, duration)
        note(f"write {k}")
    for angle in (3.0, float("nan")):
        try:
            servos.write(0, angle, 0.1)
        except ValueError as error:
            note(f"write {angle}", error)
    for on in (True, False):
        for copies in (1, 2, 3):
            servos.switch_torque([0, 5, 9], on, copies)
            note(f"torque {on} {copies}")
            servos.switch_torque(range(n), on, copies)
            note(f"torque all {on} {copies}")
    servos.stop(6)
    note("stop")
    servos.stop_all() if hasattr(servos, "stop_all") else servos.stop()
    note("stop all")
    note("stop now", servos.stop_now())
    servos.write(0, 0.1, 0.1)
    servos.switch_torque([1], True)
    note("interrupted")
    servos.resume()
    servos.write(0, 0.1, 0.1)
    note("resumed")
    for fault in ("mute", "checksum", "garbage"):
        line.fault = fault
        note(f"{fault} read", (servos.read(3, "position", timeout=0.01), str(servos.fault)))
        try:
            (
                servos.require
                if hasattr(servos, "require")
                else find("servos.interface:read_value", "interface:require")
            )(*((3, "position") if hasattr(servos, "require") else (servos, 3, "position")))
        except ValueError as error:
            note(f"{fault} require", error)
    servos.close()
    note("close")
    line.alive = False
    return record


def chain_record() -> dict:
    """What the bus thread writes in a fixed course: all writes in their order, and which reads occur."""
    settings = find("servos.interface:PortSettings", "interface:PortSettings")
    make = find("servos.interface:make_servos", "servos.protocols:make_servos")
    chain_class = find("servos.servo_chain:ServoChain", "servos.chain:ServoChain", "chain:ServoChain")
    settings_class = find("servos.chain_state:ChainSettings", "servos.chain:ChainSettings", "chain:ChainSettings")
    from hexapod_dynamics.robot import Robot
    from hexapod_dynamics.robot.servo_map import ServoMap

    servo_map = ServoMap.from_robot(Robot.jethexa())
    line, record = Line(), {}
    servos = make(settings(line.path, reply_timeout=0.05), servo_map.ids, "lx")
    chain = chain_class(servos, servo_map, settings_class(refresh_interval=1e9, slow_interval=1e9))
    n = len(servo_map)

    def note(name: str, wait: float = 0.4) -> None:
        time.sleep(wait)
        frames = frames_of(line.take())
        writes = [frame for frame in frames if int(frame[8:10], 16) not in READS]
        reads = sorted({frame for frame in frames if frame[8:10] == "1c"})  # others depend on the time
        first = [frame for frame in frames if frame[8:10] == "1c"]
        record[name] = {"writes": writes, "reads": reads if name == "start" else []}
        if name == "start":
            record[name]["first positions"] = list(dict.fromkeys(first))[:n]

    chain.start()
    note("start", 1.5)
    chain.set_targets(np.linspace(-0.5, 0.5, n), 0.02, chain.snapshot().epoch)
    note("pose")
    pose = np.linspace(-0.5, 0.5, n)
    pose[4] += 0.3
    pose[9] = np.nan
    chain.set_targets(pose, 0.02, chain.snapshot().epoch, np.full(n, 5.0))
    note("one joint")
    chain.freeze()
    chain.set_targets(np.zeros(n), 0.02, chain.snapshot().epoch)
    note("freeze")
    chain.unfreeze()
    note("unfreeze", 1.0)
    chain.set_targets(np.zeros(n), 0.02, chain.snapshot().epoch)
    note("pose after freeze")
    gone = np.zeros(n, bool)
    gone[3:6] = True
    (chain.set_missing if hasattr(chain, "set_missing") else chain.set_gone)(gone)
    note("gone")
    chain.set_targets(np.full(n, 0.2), 0.02, chain.snapshot().epoch)
    note("pose without a leg")
    chain.set_torque(False)
    note("torque off", 1.0)
    chain.set_torque(True)
    note("torque on", 1.0)
    (chain.set_missing if hasattr(chain, "set_missing") else chain.set_gone)(np.zeros(n, bool))
    note("back", 0.8)
    chain.stop()
    note("stop")
    line.alive = False
    return record


def main() -> None:
    """Record or compare."""
    compare = "--compare" in sys.argv
    path = Path(sys.argv[-1])
    record = {"interface": interface_record(), "chain": chain_record()}
    if not compare:
        path.write_text(json.dumps(record, indent=1))
        print(f"{sum(map(len, record.values()))} situations recorded in {path}")
        return
    golden, bad = json.loads(path.read_text()), 0
    for each in (golden, record):  # on a busy computer bytes may count for the next situation: all in their order
        calls = each["interface"].values()
        each["all"] = {"bytes": "".join(call.pop("written") for call in calls)}
    for part, situations in golden.items():
        for name, wanted in situations.items():
            if part == "chain" and name != "start":
                wanted = {**wanted, "reads": []}  # which servo is read next depends on the time
            if record[part].get(name) != wanted:
                bad += 1
                print(f"{part}, {name}: differs\n  was {wanted}\n  is  {record[part].get(name)}")
    print(f"{bad} of {sum(map(len, golden.values()))} situations differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
