"""What hangs at the pins of the board: the direction of the servos' line, and the stop button."""

import sys
import termios
import threading
import time

import pytest
from support.lx_rig import PATIENT
from support.waiting import wait_until

from hexapod_dynamics.drivers.gpio import GpioDirection, StopButton
from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.errors import DeviceError, MissingPackageError

pytest_plugins = ["support.lx_fixtures"]


class Pins:
    """The functions of Jetson.GPIO that are used; `level` is what each pin reads, or the error that it raises.

    log: the outputs {pin: value} after each change, with its time.
    """

    BCM, IN, OUT, HIGH, LOW = "BCM", "IN", "OUT", 1, 0

    def __init__(self):
        self.level, self.set_up, self.cleaned, self.reads, self.outputs, self.log = 1, [], [], 0, {}, []

    def setmode(self, mode):
        self.mode = mode

    def setup(self, pin, direction, initial=None):
        assert self.mode == self.BCM
        self.set_up.append((pin, direction))
        self.outputs[pin] = initial

    def output(self, pin, value):
        self.outputs[pin] = value
        self.log.append((time.monotonic(), dict(self.outputs)))

    def input(self, pin):
        self.reads += 1
        if isinstance(self.level, Exception):
            raise self.level
        return self.level

    def cleanup(self, pin):
        self.cleaned.append(pin)

    def put(self, level):
        """Set the level, and wait until it has been read some times."""
        self.level, goal = level, self.reads + 6
        wait_until(lambda: self.reads > goal, what="the pin is read")


@pytest.fixture
def pins():
    return Pins()


@pytest.fixture
def press(pins):
    """Make a button; `count` returns how often it was pressed since the last call."""
    made, pressed = [], threading.Semaphore(0)

    def count():
        return sum(iter(lambda: pressed.acquire(blocking=False), False))

    def make(level="low"):
        made.append(StopButton(25, level, pressed.release, pins))
        made[-1].count = count
        return made[-1]

    yield make
    for each in made:
        each.close()
    assert pins.cleaned == [25] * len(made)


def test_each_press_stops_once_and_a_held_button_does_not_repeat(pins, press):
    button = press()
    assert pins.set_up == [(25, "IN")]
    pins.put(1)
    assert button.count() == 0 and not button.pressed
    for _ in range(2):
        pins.put(0)
        assert button.count() == 1 and button.pressed
        pins.put(1)
        assert button.count() == 0 and not button.pressed


def test_a_button_that_opens_a_contact_is_pressed_at_high(pins, press):
    pins.level = 0
    button = press("high")
    pins.put(0)
    assert button.count() == 0
    pins.put(1)
    assert button.count() == 1


def test_a_button_that_is_pressed_at_the_start_stops_and_a_pin_that_cannot_be_read_is_a_fault(pins, press):
    pins.level = 0
    button = press()
    pins.put(0)
    assert button.count() == 1
    pins.put(OSError(5, "Input/output error"))
    assert "pin 25" in button.fault and button.count() == 0


def test_the_button_is_read_while_the_system_clock_is_set_back_and_after_any_error(pins, press, set_back):
    button = press()
    pins.put(KeyError("a channel of another process"))
    assert "channel" in button.fault and button.count() == 0
    pins.put(0)
    assert button.count() == 1 and not button.fault


def test_a_press_whose_stop_fails_does_not_end_the_button(pins):
    presses = []

    def press():
        presses.append(1)
        raise OSError("the node has a fault")

    button = StopButton(25, "low", press, pins)
    for level in (1, 0, 1, 0):
        pins.put(level)
    assert len(presses) == 2 and button.pressed
    button.close()


def test_without_the_package_the_error_names_it():
    with pytest.raises(MissingPackageError, match=r"a stop button needs the package Jetson\.GPIO"):
        StopButton(25, "low", lambda: None)


# The direction of the servos' line ------------------------------------------------------------------------------------


def test_gpio_direction_sends_then_listens_only_after_the_last_byte_is_out(rig):
    gpio = Pins()
    bus = LxServos(PortSettings(str(rig.link), **PATIENT), (), GpioDirection(27, 17, gpio))
    assert gpio.outputs == {27: 1, 17: 0}
    bus.open()
    bus.ask(5, Command.POS_READ)
    listening = [t for t, pins in gpio.log if pins == {27: 0, 17: 1}]
    assert len(listening) == 1 and gpio.outputs == {27: 1, 17: 0}
    assert all(pins != {27: 1, 17: 1} for _t, pins in gpio.log), "never both: the sender would be heard"
    assert listening[0] >= bus.free_at
    bus.release()
    assert gpio.cleaned == [(27, 17)]


def test_unplugging_while_a_gpio_bus_drains_is_a_lost_port(rig, monkeypatch):
    bus = LxServos(PortSettings(str(rig.link), **PATIENT), (), GpioDirection(27, 17, Pins()))
    bus.open()

    def gone():
        raise termios.error(5, "Input/output error")

    monkeypatch.setattr(bus._serial, "flush", gone)
    with pytest.raises(BusError, match="is gone"):
        bus.ask(5, Command.POS_READ)
    assert not bus.is_open
    bus.release()


def test_a_stop_whose_direction_pin_fails_is_not_sent_and_raises_nothing(rig):
    gpio = Pins()
    bus = LxServos(PortSettings(str(rig.link), **PATIENT), (), GpioDirection(27, 17, gpio))
    bus.open()

    def fail(_pin, _value):
        raise RuntimeError("the channel has not been set up")

    gpio.output = fail
    assert not bus.stop_now() and bus.interrupted
    bus.release()


def test_whatever_importing_jetson_gpio_raises_is_one_line_with_the_remedy(tmp_path, monkeypatch):
    with pytest.raises(DeviceError, match="pip install Jetson.GPIO"):
        GpioDirection(27, 17)
    (tmp_path / "Jetson").mkdir()
    (tmp_path / "Jetson" / "GPIO.py").write_text("raise Exception('Could not determine Jetson model')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("Jetson", "Jetson.GPIO"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(DeviceError, match="Could not determine Jetson model.*adapter") as refusal:
        GpioDirection(27, 17)
    assert "\n" not in str(refusal.value)
