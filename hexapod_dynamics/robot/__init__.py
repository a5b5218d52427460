"""The robot's description (YAML file, checked) and its morphology: what exists, moves, is locked or shortened."""

from hexapod_dynamics.robot.description import Body, Contact, Imu, Joint, Leg, Link, Robot, Servo
from hexapod_dynamics.robot.morphology import Morphology

__all__ = ["Body", "Contact", "Imu", "Joint", "Leg", "Link", "Morphology", "Robot", "Servo"]
