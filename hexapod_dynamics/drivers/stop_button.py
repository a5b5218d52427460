"""A stop button at a GPIO of the board, read by a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType

from hexapod_dynamics.drivers.jetson_gpio import import_gpio
from hexapod_dynamics.drivers.thread_priority import prefer_this_thread

_PERIOD = 0.01  # [s] between two readings; two consecutive readings must agree
_PRIORITY = 13  # real-time priority where permitted: above that of the bus thread
LEVELS = ("low", "high")


class StopButton:
    """Calls press() each time the button is pressed, also if it is pressed at the start.

    pin: BCM number. level: "low" or "high", what the pin reads while the button is pressed. gpio: module with the
    functions of Jetson.GPIO, by default Jetson.GPIO itself. Raises MissingPackageError without it.

    pressed: whether the button is pressed now. fault: why the pin cannot be read, else an empty text.
    """

    def __init__(self, pin: int, level: str, press: Callable[[], object], gpio: ModuleType | None = None) -> None:
        self._gpio = gpio if gpio is not None else import_gpio("a stop button")
        self._pin, self._level, self._press = pin, LEVELS.index(level), press
        self.pressed, self.fault = False, ""
        self._gpio.setmode(self._gpio.BCM)
        self._gpio.setup(pin, self._gpio.IN)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stop_button", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and release the pin."""
        self._ending.set()
        self._thread.join(1.0)
        self._gpio.cleanup(self._pin)

    def _run(self) -> None:
        prefer_this_thread(_PRIORITY)
        before = False
        while not self._ending.wait(_PERIOD):
            try:
                now = self._gpio.input(self._pin) == self._level
                self.fault = ""
            except (OSError, RuntimeError, ValueError) as error:
                self.fault = f"the pin {self._pin} of the stop button cannot be read: {error}"
                continue
            if now == before and now != self.pressed:
                self.pressed = now
                if now:
                    self._press()
            before = now
