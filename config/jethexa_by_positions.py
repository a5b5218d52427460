"""The JetHexa once more, its legs described by positions alone: where each point of a link is, as a function of q.

`ros2 launch hexapod_dynamics walk.launch.py robot:=<this file>`. To try another leg, change the positions; masses,
body, servos and mounts are taken from the JetHexa here.
"""

import dataclasses

import numpy as np

from hexapod_dynamics.robot import Leg, Robot
from hexapod_dynamics.robot.geometry import LinkGeometry

COXA, FEMUR = 0.045, 0.077  # [m]


def coxa(q, point):
    """Turns about z."""
    x, y, z = point
    return np.cos(q[0]) * x - np.sin(q[0]) * y, np.sin(q[0]) * x + np.cos(q[0]) * y, z


def femur(q, point):
    """Begins where the coxa ends and lifts."""
    x, y, z = point
    return coxa(q, (COXA + np.cos(q[1]) * x - np.sin(q[1]) * z, y, np.sin(q[1]) * x + np.cos(q[1]) * z))


def tibia(q, point):
    """Begins where the femur ends, points down at zero and opens outwards."""
    x, y, z = point
    return femur(q, (FEMUR + np.cos(q[2]) * z + np.sin(q[2]) * x, y, np.sin(q[2]) * z - np.cos(q[2]) * x))


def robot() -> Robot:
    """The robot that the launch file asks for."""
    jethexa = Robot.jethexa()
    legs = []
    for leg in jethexa.legs:
        links = [
            LinkGeometry(
                link.name,
                place,
                link.mass,
                link.length,
                link.inertia,
                link.com,
                joint.lower,
                joint.upper,
                joint.servo_id,
                joint.servo_direction,
            )
            for place, link, joint in zip((coxa, femur, tibia), leg.links, leg.joints, strict=True)
        ]
        legs.append(
            Leg.from_geometry(
                leg.name,
                links,
                mount_rotation=leg.mount_rotation,
                mount_position=leg.mount_position,
                tripod_group=leg.tripod_group,
                module=leg.module,
            )
        )
    return dataclasses.replace(jethexa, name="jethexa_by_positions", legs=tuple(legs))
