"""What hangs at the pins of a Jetson: the direction of the servos' line, and a stop button.

Pins have BCM numbers. `gpio` is a module with the functions of Jetson.GPIO, by default Jetson.GPIO itself; its classes
raise MissingPackageError without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import ModuleType

from hexapod_dynamics.drivers.thread_priority import raise_thread_priority
from hexapod_dynamics.drivers.wake import Worker
from hexapod_dynamics.errors import MissingPackageError

_log = logging.getLogger(__name__)


def import_gpio(purpose: str, remedy: str = "pip install Jetson.GPIO") -> ModuleType:
    """Return the module Jetson.GPIO; MissingPackageError names `purpose` and `remedy` if it cannot be imported."""
    try:
        from Jetson import GPIO
    except Exception as error:  # importing it detects the board and may raise any exception
        raise MissingPackageError(
            f"{purpose} needs the package Jetson.GPIO on a Jetson, and importing it failed "
            f"({type(error).__name__}: {' '.join(str(error).split())}); {remedy}"
        ) from error
    return GPIO


class GpioDirection:
    """The JetHexa's expansion board: two GPIOs gate sender and receiver.

    Sending: transmit pin 1, receive pin 0; listening: the other way round.
    """

    def __init__(self, transmit_pin: int, receive_pin: int, gpio: ModuleType | None = None) -> None:
        if gpio is None:
            gpio = import_gpio(
                'direction "gpio"', 'pip install Jetson.GPIO, or with a USB adapter set direction to "adapter"'
            )
        self._gpio, self._transmit, self._receive = gpio, transmit_pin, receive_pin
        gpio.setmode(gpio.BCM)
        gpio.setup(transmit_pin, gpio.OUT, initial=gpio.HIGH)
        gpio.setup(receive_pin, gpio.OUT, initial=gpio.LOW)

    def send(self) -> None:
        """Switch the line to sending."""
        self._gpio.output(self._receive, self._gpio.LOW)
        self._gpio.output(self._transmit, self._gpio.HIGH)

    def listen(self) -> None:
        """Switch the line to listening."""
        self._gpio.output(self._transmit, self._gpio.LOW)
        self._gpio.output(self._receive, self._gpio.HIGH)

    def close(self) -> None:
        """Release both pins."""
        self._gpio.cleanup((self._transmit, self._receive))


_PRIORITY = 13  # real-time priority where permitted: above that of the bus thread
PIN_LEVELS = ("low", "high")


class StopButton(Worker):
    """Calls press() each time the button is pressed, also if it is pressed at the start.

    level: "low" or "high", what the pin reads while the button is pressed. pressed: whether the button is pressed now.
    fault: why the pin cannot be read, else an empty text.
    """

    def __init__(self, pin: int, level: str, press: Callable[[], object], gpio: ModuleType | None = None) -> None:
        super().__init__("stop_button")
        self._gpio = gpio if gpio is not None else import_gpio("a stop button")
        self._pin, self._level, self._press = pin, PIN_LEVELS.index(level), press
        self.pressed, self.fault = False, ""
        self._gpio.setmode(self._gpio.BCM)
        self._gpio.setup(pin, self._gpio.IN)
        self.start()

    def close(self) -> None:
        """End the thread and release the pin."""
        self.stop()
        self._gpio.cleanup(self._pin)

    def _run(self) -> None:
        raise_thread_priority(_PRIORITY)
        before = False
        while not self._stopping:
            time.sleep(0.01)  # two consecutive readings must agree; a sleep cannot fail
            try:
                now = self._gpio.input(self._pin) == self._level
                self.fault = ""
            except Exception as error:  # whatever the library raises: this thread alone reads the button
                self.fault = f"the pin {self._pin} of the stop button cannot be read: {error}"
                continue
            if now == before and now != self.pressed:
                self.pressed = now
                if now:
                    try:
                        self._press()
                    except Exception:
                        _log.exception("the stop button was pressed, and the stop has failed")
            before = now
