"""The robot's description (YAML file, checked) and its morphology: which parts exist, move, are locked or
shortened.
"""

from hexapod_dynamics.robot.description import Robot
from hexapod_dynamics.robot.geometry import Leg
from hexapod_dynamics.robot.morphology import Morphology
from hexapod_dynamics.robot.parts import Body, Contact, Imu, Joint, JointServo, Link, Servo

__all__ = ["Body", "Contact", "Imu", "Joint", "JointServo", "Leg", "Link", "Morphology", "Robot", "Servo"]
