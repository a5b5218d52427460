"""The stop button of the board: the pin is a real pty, whose last byte is its level."""

import os
import threading
import time
import tty

import pytest

from hexapod_dynamics.drivers.gpio import StopButton
from hexapod_dynamics.errors import MissingPackageError


class PtyPins:
    """The functions of Jetson.GPIO that a button needs; the level of the pin is what was last written to a pty."""

    BCM, IN = "BCM", "IN"

    def __init__(self):
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._slave, False)
        self._level, self.set_up, self.cleaned, self.reads = 1, [], [], 0

    def setmode(self, mode):
        assert mode == self.BCM

    def setup(self, pin, direction):
        self.set_up.append((pin, direction))

    def input(self, pin):
        self.reads += 1
        try:
            self._level = int(os.read(self._slave, 4096).decode()[-1])
        except BlockingIOError:
            pass
        return self._level

    def cleanup(self, pin):
        self.cleaned.append(pin)

    def put(self, level):
        os.write(self._master, str(level).encode())

    def wait_read(self, count=4):
        """Wait until the pin has been read some times more."""
        goal, end = self.reads + count, time.monotonic() + 10.0
        while self.reads < goal:
            assert time.monotonic() < end, "the pin is read"
            time.sleep(0.002)

    def close_line(self):
        os.close(self._slave)


@pytest.fixture
def pins():
    return PtyPins()


@pytest.fixture
def press(pins):
    made, pressed = [], threading.Semaphore(0)

    def make(level="low"):
        made.append(StopButton(25, level, pressed.release, pins))
        made[-1].count = pressed
        return made[-1]

    yield make
    for each in made:
        each.close()
    assert pins.cleaned == [25] * len(made)


def presses(button):
    count = 0
    while button.count.acquire(blocking=False):
        count += 1
    return count


def test_each_press_stops_once_and_a_held_button_does_not_repeat(pins, press):
    button = press()
    assert pins.set_up == [(25, "IN")]
    pins.wait_read()
    assert presses(button) == 0 and not button.pressed
    for _ in range(2):
        pins.put(0)
        pins.wait_read(6)
        assert presses(button) == 1 and button.pressed
        pins.put(1)
        pins.wait_read()
        assert presses(button) == 0 and not button.pressed


def test_a_button_that_opens_a_contact_is_pressed_at_high(pins, press):
    pins.put(0)
    button = press("high")
    pins.wait_read()
    assert presses(button) == 0
    pins.put(1)
    pins.wait_read()
    assert presses(button) == 1


def test_a_button_that_is_pressed_at_the_start_stops(pins, press):
    pins.put(0)
    button = press()
    pins.wait_read()
    assert presses(button) == 1


def test_a_pin_that_cannot_be_read_is_a_fault(pins, press):
    button = press()
    pins.wait_read()
    pins.close_line()
    pins.wait_read()
    assert "pin 25" in button.fault and presses(button) == 0


def test_without_the_package_the_error_names_it():
    with pytest.raises(MissingPackageError, match=r"a stop button needs the package Jetson\.GPIO"):
        StopButton(25, "low", lambda: None)
