"""Mutated and random frames at both ends of the servo bus: no exception, no reading far from the truth."""

import math
import random

from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.drivers.servos.reader import PositionGate

# Largest error [rad] of a reading that may be taken: two that agree, one of them perhaps wrong by as much, a count of
# resolution, and what the joint moves between the two.
WORST = PositionGate.AGREEMENT + 0.0042 + 1.2 * 0.002


def mutated(frame, chance):
    """Change a frame in one to four places: flip, replace, insert, drop, cut off, double."""
    data = bytearray(frame)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 2:
            data.insert(at, chance.randrange(256))
        elif kind == 3 and at < len(data):
            del data[at]
        elif kind == 4:
            del data[at:]
        else:
            data += frame
    return bytes(data)


def fuzz(seed, frames):
    """Read one servo over a line that damages nine answers of ten, and send servos as many damaged or random frames.

    Returns how many readings were taken and their largest error [rad]; how many answers were refused as damaged, how
    many had a wrong value and a right checksum, and how many of these were taken; how many frames the servos found in
    what was sent to them.
    """
    chance = random.Random(seed)
    check, truth, t, worst, taken, damaged, found, forged, believed = PositionGate(), 0.0, 0.0, 0.0, 0, 0, 0, 0, 0
    servos, parser = VirtualServos(range(20), [1] * 20, loaded=True), lx.FrameParser()
    commands = sorted(Command)
    for _ in range(frames):
        t += 0.002 if chance.random() < 0.8 else 0.16
        command = chance.choice(commands)
        sent = mutated(lx.frame(chance.randrange(20), command, chance.randbytes(chance.randrange(5))), chance)
        for frame in parser.feed(sent if chance.random() < 0.7 else chance.randbytes(chance.randrange(16))):
            servos.execute(frame, t)
            found += 1
        truth = 0.6 * math.sin(2.0 * t)
        answer = lx.encode_reply(9, Command.POS_READ, lx.count_from_angle(truth))
        heard = answer if chance.random() < 0.1 else mutated(answer, chance)
        payload = lx.find_reply(heard, 9, Command.POS_READ)
        if payload is None:
            damaged += 1
            check.warn(t)
            continue
        value = lx.decode(Command.POS_READ, payload)
        wrong = payload != answer[5:7]
        forged += wrong
        if check.accept(value, t):
            taken += 1
            believed += wrong
            worst = max(worst, abs(value - truth))
    return taken, worst, damaged, forged, believed, found
