"""Eighteen simulated LX servos of a JetHexa on a pty, and the bus thread on them."""

import numpy as np
from support.waiting import wait_until

from hexapod_dynamics.devices.lx_bus import ServoBusDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.interface import PortSettings
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap

MAP = ServoMap.from_robot(Robot.jethexa())
PATIENT = {"reply_timeout": 0.05}  # a loaded CI machine answers late


def make_device(link, angle=0.1, **options):
    """Loaded servos that stand at an angle [rad], not started; last_received: (time, frame) of all that they hear."""
    servos, heard = VirtualServos(MAP.ids, MAP.directions, np.full(18, angle), loaded=True), []
    device = ServoBusDevice(servos, link, on_frame=lambda frame, t: heard.append((t, frame)), **options)
    device.last_received = heard
    return device


def make_chain(device, direction=None, **settings):
    """Make the bus thread, not started, with these settings of the port."""
    return ServoChain(LxServos(PortSettings(str(device.link), **settings), MAP.ids, direction), MAP)


def settled(chain):
    """Wait until each joint is known; return the state."""
    wait_until(lambda: chain.snapshot().settled, what="every joint is known")
    return chain.snapshot()
