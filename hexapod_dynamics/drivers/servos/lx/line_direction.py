"""Switching the half-duplex servo line between sending and listening: by the adapter, or by two GPIOs of the board."""

from __future__ import annotations

from typing import Any, Protocol

from hexapod_dynamics.drivers.jetson_gpio import import_gpio


class Direction(Protocol):
    """Switches the half-duplex line between sending and listening.

    needs_drain: whether `listen` has to be called after the last byte, to switch the sender off.
    """

    needs_drain: bool

    def send(self) -> None:
        """Switch the line to sending."""

    def listen(self) -> None:
        """Switch the line to listening."""

    def close(self) -> None:
        """Release the hardware."""


class AdapterDirection:
    """The adapter (BusLinker, TTL-to-UART with hardware direction, or a pty) switches by itself."""

    needs_drain = False

    def send(self) -> None:
        """Do nothing."""

    def listen(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class GpioDirection:
    """The JetHexa's expansion board: two GPIOs (BCM numbers) gate sender and receiver.

    Sending: transmit pin 1, receive pin 0; listening: the other way round.
    """

    needs_drain = True

    def __init__(self, transmit_pin: int = 27, receive_pin: int = 17, gpio: Any = None) -> None:
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
