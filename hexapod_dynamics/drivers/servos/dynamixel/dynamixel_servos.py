"""Dynamixel servos as a ServoInterface; the parameter `servo_model` selects the model, and thereby the protocol."""

from __future__ import annotations

from hexapod_dynamics.drivers.servos.dynamixel.models import MODELS
from hexapod_dynamics.drivers.servos.registers.register_servos import RegisterServos


class DynamixelServos(RegisterServos):
    """Dynamixel servos of one model; see `models`."""

    MODELS, DEFAULT_MODEL = MODELS, "ax12"
