"""The stop button at a pin of the board."""

import threading

import pytest
from support.waiting import wait_until

from hexapod_dynamics.drivers.gpio import StopButton
from hexapod_dynamics.errors import MissingPackageError


class Pins:
    """The functions of Jetson.GPIO that a button needs; `level` is what the pin reads, None: it cannot be read."""

    BCM, IN = "BCM", "IN"

    def __init__(self):
        self.level, self.set_up, self.cleaned, self.reads = 1, [], [], 0

    def setmode(self, mode):
        assert mode == self.BCM

    def setup(self, pin, direction):
        self.set_up.append((pin, direction))

    def input(self, pin):
        self.reads += 1
        if self.level is None:
            raise OSError(5, "Input/output error")
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
    pins.put(None)
    assert "pin 25" in button.fault and button.count() == 0


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
