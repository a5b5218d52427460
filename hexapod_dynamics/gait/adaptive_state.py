"""Layout of the arrays that the adaptive gait works on: modes, settings, command, state and feet."""

from collections import namedtuple

# What the gait does. STAND: feet planted. START: shifts the body over its feet before the first step. WALK.
# SETTLE: puts feet that are in the air down where they are. LOWER: sits down. MOVE: feet to their places, on the belly.
# SAT: stays on the belly. RISE: stands up. PRESS: presses one foot down, all others stand.
STAND, START, WALK, SETTLE, LOWER, MOVE, SAT, RISE, PRESS = range(9)
ON_FEET = STAND, START, WALK, SETTLE, PRESS

# Settings: limits of acceleration [m/s^2, rad/s^2], servo speed [rad/s], gain [1/s] and limit [rad/s] of the yaw hold
# (0: none), tilt [rad] that makes the robot sit down (0: none), height [m] of base_link on its belly, body height asked
# for [m], period asked for [s], speed at which legs are held up [rad/s].
ACCELERATION, TURNING, SPEED, YAW_GAIN, YAW_LIMIT, TILT, BELLY, BODY, ASKED_PERIOD, FOLDING, SETTINGS = range(11)
# Command: twist (3), then offset of the body over its feet: x, y, z [m], roll, pitch, yaw [rad].
OFFSET, COMMAND = 3, 9
# State: see the names. TWIST: commanded twist as it is followed (3); GOING: that with yaw hold (3); BODY_OFFSET (6).
# EASY: share of the command that is followed for EASY_FOR more cycles, after a change of plan. PRESSED: the leg that
# presses its foot down next (its row + 1), 0: none.
MODE, PHASE, TIME, SPAN, WEIGHT, TWIST, GOING, YAW, YAW_REFERENCE, SENSED, TILTED = 0, 1, 2, 3, 4, 5, 8, 11, 12, 13, 14
HEIGHT_NOW, HEIGHT_RATE, HEIGHT_FROM, FROM_SWAY, BODY_OFFSET, BLEND, BLEND_TIME, STAY = 15, 16, 17, 18, 20, 26, 27, 28
REFLEXES, LEVEL_FOR, FAST, TILTED_FOR, EASY, EASY_FOR, PRESSED, STATE = 29, 30, 31, 32, 33, 34, 35, 36
# A foot: place (x, y), lift; rates of the three; point of the ground where it lifted off, where it will touch down;
# whether it is in the air; place and lift from which a move began; whether its leg came back and is still held up.
X, Y, Z, XD, YD, ZD, OFF, DOWN, AIR, FROM, BACK, FEET = 0, 1, 2, 3, 4, 5, 6, 8, 10, 11, 14, 15

# What the compiled functions of the gait work on; rows of `legs` are those of `leg_table`, `plan` is that of `cycle`.
Walk = namedtuple("Walk", "plan legs settings command state feet start position velocity")
