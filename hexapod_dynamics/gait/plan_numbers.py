"""The numbers of a plan that compiled gaits read."""

from __future__ import annotations

from hexapod_dynamics.kernel_layout import columns, struct

# Period [s], duty factor, height of base_link over the ground [m], lift of a swinging foot [m], 1 for a rowing gait;
# rise of the rowing body [m]; sway [m]: a1, b1, a2, b2 of x, then of y, at rest, then their changes per vx /
# SPEED_UNIT, vy / SPEED_UNIT and wz / TURN_UNIT (see `cycle`).
PLAN = struct(period=1, duty=1, height=1, lift=1, rows=1, rise=1, sway=32)
PERIOD, DUTY, HEIGHT, LIFT, ROWS, RISE, SWAY, NUMBERS = columns(PLAN)
