"""Layout of the arrays that the tripod gait works on."""

from collections import namedtuple

from hexapod_dynamics.kernel_layout import columns, struct

# Period [s], step height and depth [m], response time [s], whether swings are smooth, speed limit [rad/s].
PARAMETERS_LAYOUT = struct(period=1, step_height=1, step_depth=1, response_time=1, smooth=1, speed_limit=1)
PERIOD, STEP_HEIGHT, STEP_DEPTH, RESPONSE_TIME, SMOOTH, SPEED_LIMIT, PARAMETERS = columns(PARAMETERS_LAYOUT)
# Phase, filtered (vx, vy, wz, body height), their rates, walking or standing, blend elapsed and in all.
STATE_LAYOUT = struct(phase=1, twist=4, rate=4, walking=1, blend=1, blend_time=1)
PHASE, TWIST, RATE, WALKING, BLEND, BLEND_TIME, STATE = columns(STATE_LAYOUT)
# Points (x, y) in base_link: foot now, where it lifted off, where it will touch down.
FOOT_LAYOUT = struct(place=2, lift_off=2, touch_down=2)
FOOT, LIFT_OFF, DOWN, FEET = columns(FOOT_LAYOUT)

# What the functions of `tripod_kernel` work on: rows of `legs` are those of `leg_table`; command is (vx, vy, wz, body
# height).
Tripod = namedtuple("Tripod", "parameters legs command state feet start position velocity")
