"""The conditions under which a search tries manoeuvres: servos, masses, ground, speed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """truth: as for `Truth.parse`; slope [degrees] upward in the direction slope_yaw [degrees] of the robot's x axis;
    spread [rad]: how far joints are off STAR at the start; speed [rad/s]: `get_up_speed` instead of the trial's. must:
    whether a manoeuvre has to turn the robot over; where it need not, falling back costs.
    """

    truth: str
    slope: float = 0.0
    slope_yaw: float = 0.0
    spread: float = 0.0
    speed: float | None = None
    must: bool = True


# Conditions as hardly any robot is: weak servos, and more payload than is allowed. A manoeuvre that only just serves
# under the others falls back in some of a hundred falls; under these it does so often. Seed, friction, factors on mass
# and stiffness, payload [kg] and where it is [m], `get_up_speed` [rad/s].
HARD: tuple[tuple[int, float, float, float, float, float, float, float | None], ...] = (
    (31, 0.87, 1.06, 0.77, 0.33, 0.028, 0.006, None),
    (32, 0.92, 1.00, 0.96, 0.71, -0.012, 0.025, None),
    (33, 0.53, 1.05, 0.98, 0.51, 0.011, -0.002, None),
    (34, 0.61, 0.97, 0.72, 0.90, 0.021, -0.024, 5.0),
    (35, 0.87, 1.08, 0.74, 0.39, -0.007, 0.015, None),
    (36, 0.77, 1.15, 0.69, 0.65, -0.006, -0.018, None),
    (37, 0.94, 0.93, 0.70, 0.62, 0.028, -0.022, None),
    (38, 0.77, 1.03, 0.85, 0.81, -0.001, -0.025, 5.0),
    (39, 0.88, 1.07, 0.70, 0.55, -0.016, -0.025, None),
    (40, 0.72, 1.11, 0.95, 0.53, 0.006, -0.018, None),
    (41, 0.92, 1.04, 0.94, 0.65, -0.016, 0.023, None),
    (42, 0.53, 0.96, 0.85, 0.76, 0.016, -0.023, 5.0),
)
# Servos, masses and ground as they may be, then HARD.
CONDITIONS = (
    Condition("friction=0.7"),
    Condition("servos=real,seed=11,friction=0.55,mass=1.1"),
    Condition("servos=real,seed=12,friction=0.9,mass=0.95,stiffness=0.85", spread=0.05),
    Condition("servos=real,seed=13,friction=0.6,mass=1.0,stiffness=1.15", slope=5.0, slope_yaw=70.0),
    Condition("servos=real,seed=14,friction=0.8,mass=1.05", slope=5.0, slope_yaw=-110.0),
    Condition("servos=real,seed=15,friction=0.45,mass=0.9", spread=0.1),
    Condition("servos=real,seed=16,friction=0.75,mass=1.15,stiffness=0.85", spread=0.05),
    Condition("servos=real,seed=17,friction=0.5,mass=1.15", slope=4.0, slope_yaw=180.0, spread=0.05),
    Condition("servos=real,seed=18,friction=1.0,mass=1.0", slope=4.0, spread=0.05),
    Condition("servos=real,seed=21,friction=0.7,mass=1.1,payload=0.6,payload_x=0.03,payload_y=0.02"),
    Condition("servos=real,seed=22,friction=0.55,mass=1.0,payload=0.5,payload_x=-0.03,payload_y=-0.03", spread=0.05),
    Condition("servos=real,seed=19,friction=0.55,mass=1.05", spread=0.05, speed=5.0),
    Condition("servos=real,seed=20,friction=0.85,mass=0.95", slope=4.0, slope_yaw=90.0, speed=5.0),
    *(
        Condition(
            f"servos=real,seed={seed},friction={friction},mass={mass},stiffness={stiffness},"
            f"payload={payload},payload_x={x},payload_y={y}",
            spread=0.05,
            speed=speed,
            must=False,
        )
        for seed, friction, mass, stiffness, payload, x, y, speed in HARD
    ),
)
