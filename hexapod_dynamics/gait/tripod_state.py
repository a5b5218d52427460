"""Layout of the tripod gait's arrays."""

from collections import namedtuple

from hexapod_dynamics.kernel_layout import columns, struct

# Period [s], step height and depth [m], response time [s], whether swings are smooth, speed limit [rad/s].
PARAMETERS_LAYOUT = struct(period=1, step_height=1, step_depth=1, response_time=1, smooth=1, speed_limit=1)
PERIOD, STEP_HEIGHT, STEP_DEPTH, RESPONSE_TIME, SMOOTH, SPEED_LIMIT, PARAMETERS = columns(PARAMETERS_LAYOUT)
# Phase, filtered (vx, vy, wz, body height), their rates, whether it walks, elapsed time and duration [s] of the
# transition.
STATE_LAYOUT = struct(phase=1, twist=4, rate=4, walking=1, blend=1, blend_time=1)
PHASE, TWIST, RATE, WALKING, BLEND, BLEND_TIME, STATE = columns(STATE_LAYOUT)
# Points (x, y) in base_link: of the foot now, of its lift-off, of its touch-down.
FOOT_LAYOUT = struct(place=2, lift_off=2, touch_down=2)
FOOT, LIFT_OFF, DOWN, FEET = columns(FOOT_LAYOUT)

# The data of the functions of `tripod_kernel`: rows of `legs` are those of `leg_table`; command is (vx, vy, wz, body
# height).
Tripod = namedtuple("Tripod", "parameters legs command state feet start position velocity")
