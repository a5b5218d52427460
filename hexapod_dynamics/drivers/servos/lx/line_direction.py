"""Switching the half-duplex servo line between sending and listening by two GPIOs of the board."""

from __future__ import annotations

from typing import Any

from hexapod_dynamics.drivers.jetson_gpio import import_gpio


class GpioDirection:
    """The JetHexa's expansion board: two GPIOs (BCM numbers) gate sender and receiver.

    Sending: transmit pin 1, receive pin 0; listening: the other way round.
    """

    def __init__(self, transmit_pin: int, receive_pin: int, gpio: Any = None) -> None:
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
