"""Identification: what a robot is made of, from commands, joint readings and an IMU. Pure."""

from hexapod_dynamics.identification.exercise import Exercise, standing_exercise, suspended_exercise
from hexapod_dynamics.identification.identify import Finding, Identification, identify
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.robot.robot_file import robot_yaml

__all__ = [
    "Exercise",
    "Finding",
    "Identification",
    "Recording",
    "identify",
    "robot_yaml",
    "standing_exercise",
    "suspended_exercise",
]
