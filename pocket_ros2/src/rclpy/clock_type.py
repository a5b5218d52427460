"""The kinds of clocks."""

from enum import IntEnum


class ClockType(IntEnum):
    """Enum for clock type, as in rcl/time.h."""

    UNINITIALIZED = 0
    ROS_TIME = 1
    SYSTEM_TIME = 2
    STEADY_TIME = 3
