"""Layout of the adaptive gait's arrays: modes, settings, command, state and feet."""

from collections import namedtuple

from hexapod_dynamics.kernel_layout import columns, struct

# Modes of the gait. STAND: all feet stand. START: shifts the body over its feet before the first step. WALK. SETTLE:
# puts feet that are in the air down where they are. LOWER: sits down. MOVE: feet to their places, on the belly. SAT:
# stays on the belly. RISE: stands up. PRESS: presses one foot down, all others stand.
STAND, START, WALK, SETTLE, LOWER, MOVE, SAT, RISE, PRESS = range(9)
ON_FEET = STAND, START, WALK, SETTLE, PRESS

# Settings: limits of acceleration [m/s^2, rad/s^2], servo speed [rad/s], gain [1/s] and limit [rad/s] of the yaw hold
# (0: none), tilt [rad] that makes the robot sit down (0: none), height [m] of base_link on its belly, body height asked
# for [m], period asked for [s], speed at which legs are held up [rad/s].
SETTINGS_LAYOUT = struct(
    acceleration=1,
    turning=1,
    speed=1,
    yaw_gain=1,
    yaw_limit=1,
    tilt=1,
    belly=1,
    body=1,
    asked_period=1,
    folding=1,
)
ACCELERATION, TURNING, SPEED, YAW_GAIN, YAW_LIMIT, TILT, BELLY, BODY, ASKED_PERIOD, FOLDING, SETTINGS = columns(
    SETTINGS_LAYOUT
)
# Command: twist, then offset of the body over its feet: x, y, z [m], roll, pitch, yaw [rad].
COMMAND_LAYOUT = struct(twist=3, offset=6)
_, OFFSET, COMMAND = columns(COMMAND_LAYOUT)
# State: see the names. twist: the commanded twist as it is followed; going: the twist with yaw hold; easy: share of the
# command that is followed for easy_for more cycles, after a change of plan. pressed: the row + 1 of the leg that
# presses its foot down next, 0: none.
STATE_LAYOUT = struct(
    mode=1,
    phase=1,
    time=1,
    span=1,
    weight=1,
    twist=3,
    going=3,
    yaw=1,
    yaw_reference=1,
    sensed=1,
    tilted=1,
    height=1,
    height_rate=1,
    height_from=1,
    from_sway=2,
    body_offset=6,
    blend=1,
    blend_time=1,
    stay=1,
    reflexes=1,
    level_for=1,
    fast=1,
    tilted_for=1,
    easy=1,
    easy_for=1,
    pressed=1,
)
MODE, PHASE, TIME, SPAN, WEIGHT, TWIST, GOING, YAW, YAW_REFERENCE, SENSED, TILTED, *_more = columns(STATE_LAYOUT)
HEIGHT_NOW, HEIGHT_RATE, HEIGHT_FROM, FROM_SWAY, BODY_OFFSET, BLEND, BLEND_TIME, STAY, *_more = _more
REFLEXES, LEVEL_FOR, FAST, TILTED_FOR, EASY, EASY_FOR, PRESSED, STATE = _more
# A foot: place (x, y) and lift; rates of these three; points of the ground where it lifted off, and where it will touch
# down; whether it is in the air; place and lift from which a move began (for a restored leg: its joint angles); whether
# its leg is restored and still held up.
FOOT_LAYOUT = struct(place=3, rate=3, lift_off=2, touch_down=2, in_air=1, start=3, back=1)
X, XD, OFF, DOWN, AIR, FROM, BACK, FEET = columns(FOOT_LAYOUT)
Y, Z, YD, ZD = X + 1, X + 2, XD + 1, XD + 2

# What the compiled functions of the gait work on; rows of `legs` are those of `leg_table`, `plan` is `plan_numbers`.
Walk = namedtuple("Walk", "plan legs settings command state feet start position velocity")
