"""Feetech STS servos as a ServoInterface."""

from __future__ import annotations

from hexapod_dynamics.drivers.servos.feetech.models import MODELS
from hexapod_dynamics.drivers.servos.registers.register_servos import RegisterServos


class FeetechServos(RegisterServos):
    """Feetech servos of one model; see `models`."""

    MODELS, DEFAULT_MODEL = MODELS, "sts3215"
