"""Every limit of the guard of the servos, of the command check and of the reflexes, where it takes effect.

Each row has the limit as it was chosen and a function that finds where the behaviour changes: a limit that is changed
by a tenth fails here. `detection/` has limits of its own.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from hexapod_dynamics.control.command_check import CommandCheck, SourceLock, stamp_refusal
from hexapod_dynamics.control.pose_guard import GuardSettings, PoseGuard
from hexapod_dynamics.drivers.servos.supervisor import SupervisorSettings
from hexapod_dynamics.estimation.fall_detector import GRAVITY, FallDetector
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.slope_reference import SlopeReference
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_from_vector

ROBOT = Robot.jethexa()
CHECK = CommandCheck.of_robot(ROBOT)
DT = 0.02  # [s]
STEP = 0.005  # [s] between IMU samples


def edge(reacts, low, high):
    """Smallest value between low and high that reacts, to 1/500 of the interval."""
    assert reacts(high) and not reacts(low), (reacts(low), reacts(high))
    for _ in range(8):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reacts(middle) else (middle, high)
    return 0.5 * (low + high)


# ---- the guard: what is sent to one joint that was measured at 0 ---------------------------------------------------


def guard(following):
    """A guard whose joint has reached its command 0, or has not received one yet."""
    made = PoseGuard([-2.0], [2.0], 30.0, GuardSettings())
    made.meet(np.ones(1, int), np.zeros(1), np.ones(1, bool))
    if following:
        sent(made, 0.0)
    return made


def sent(made, command, torque=0.0):
    return float(made.update(np.array([command]), np.array([torque]), DT)[0])


def speed_limit():
    return sent(guard(True), 0.4) / DT


def approach_speed():
    return sent(guard(False), 0.4) / DT


def step_limit():
    def reacts(jump):
        made = guard(True)
        sent(made, jump)
        return made.clamped["step"] == 1 and not made.following[0]

    return edge(reacts, 0.1, 1.5)


def meeting_distance():
    def reacts(distance):
        made = guard(False)
        sent(made, distance)
        return not made.following[0]

    return edge(reacts, 0.0, 0.1)


def offset_limit():
    made = guard(True)
    return [sent(made, 0.0, torque=1000.0) for _ in range(200)][-1]


def offset_speed():
    return sent(guard(True), 0.0, torque=1000.0) / DT


# ---- the command check ---------------------------------------------------------------------------------------------


def position_margin():
    return edge(lambda beyond: CHECK.refusal([4], [CHECK.upper[4] + beyond]) != "", 0.0, 2.0)


def position_margin_below():
    return edge(lambda beyond: CHECK.refusal([4], [CHECK.lower[4] - beyond]) != "", 0.0, 2.0)


def speed_margin():
    limit = ROBOT.servo.speed_limit
    return edge(lambda times: CHECK.refusal([4], [0.0], [times * limit]) != "", 0.1, 10.0)


def oldest_stamp():
    return edge(lambda age: stamp_refusal(age, 0.3) != "", 0.0, 1.0)


def latest_stamp():
    return edge(lambda age: stamp_refusal(-age, 0.3) != "", 0.0, 1.0)


def source_timeout():
    def reacts(silence):
        lock = SourceLock(0.3)
        assert lock.accepts("one", 10.0)
        return lock.accepts("other", 10.0 + silence)

    return edge(reacts, 0.0, 1.0)


# ---- the fall detector ---------------------------------------------------------------------------------------------


@dataclass
class Lean:
    """A fall detector that is fed with a body that leans."""

    time: float = 0.0

    def __post_init__(self):
        self.detector = FallDetector()

    def feed(self, angle, seconds, *, force=1.0, attitude=True):
        """Let the body lean by an angle [rad] for a time; force: of the accelerometer, in g. Return whether it fell."""
        turned = rotation_from_vector([0.0, angle, 0.0])
        for _ in range(round(seconds / STEP)):
            self.time += STEP
            self.detector.update(self.time, turned if attitude else None, force * GRAVITY * turned[2])
        return self.detector.fallen


def fall_limit():
    return edge(lambda angle: Lean().feed(angle, 0.5), 0.2, 1.5)


def upright_limit():
    def reacts(angle):
        lean = Lean()
        assert lean.feed(math.pi, 0.5)
        return lean.feed(angle, 3.0)

    return edge(reacts, 0.0, 1.0)


def fall_hold():
    lean = Lean()
    lean.feed(0.0, 1.0)
    start = lean.time
    while not lean.feed(math.pi, STEP):
        assert lean.time < start + 1.0
    return lean.time - start - STEP


def fall_settle():
    lean = Lean()
    lean.feed(math.pi, 1.0)
    start = lean.time
    while lean.feed(0.0, STEP):
        assert lean.time < start + 5.0
    # The filtered force turns over in 0.13 s: from then on both are upright.
    return lean.time - start - 0.13


def fall_smoothing():
    """Time constant: the force of a body that leans by 90 degrees at once gives 45 degrees after ln 2 of it."""
    lean = Lean()
    lean.feed(0.0, 1.0)
    start = lean.time
    while lean.detector.tilt < math.pi / 4:
        lean.feed(math.pi / 2, STEP, attitude=False)
        assert lean.time < start + 1.0
    return (lean.time - start - 0.5 * STEP) / math.log(2.0)


def fall_gap():
    """After a longer gap the time for which the body leans begins anew."""

    def reacts(gap):
        lean = Lean()
        lean.feed(math.pi, 0.1)
        lean.time += gap
        return not lean.feed(math.pi, STEP)

    return edge(reacts, 0.1, 2.0)


def least_force():
    """Without an attitude a force of less than this says nothing of a fall [g]."""
    return edge(lambda force: Lean().feed(math.pi, 0.5, force=force, attitude=False), 0.1, 1.0)


def largest_force():
    return edge(lambda force: not Lean().feed(math.pi, 0.5, force=force, attitude=False), 1.0, 3.0)


# ---- the slope that the tilt reflex takes for level ----------------------------------------------------------------


def slope_at(angle):
    slope = SlopeReference()
    slope.sense(0.0, angle, 0.0)
    return slope


def slope_average():
    """Time constant [s] of a small tilt."""
    slope = slope_at(0.01)
    slope.learn(DT, sits=False)
    return DT * 0.01 / slope.east


def slope_follow():
    slope = slope_at(1.0)
    slope.learn(DT, sits=False)
    return math.degrees(slope.east / DT)


def slope_steepest():
    slope = slope_at(1.0)
    for _ in range(10):
        slope.adopt()
    return math.degrees(slope.east)


def slope_settled():
    slope, time = slope_at(0.1), 0.0
    while slope.east == 0.0:
        slope.learn(DT, sits=True)
        time += DT
        assert time < 20.0
    return time - 0.5 * DT


# ---- the tilt reflex of the adaptive gait --------------------------------------------------------------------------


def stepped(gait, tilt, seconds):
    """Let the gait run with a tilt [deg] that its slope does not learn."""
    for _ in range(round(seconds / DT)):
        gait.sense(math.radians(tilt), 0.0, 0.0)
        gait.step(DT)
        gait.slope.east = gait.slope.north = 0.0
    return gait.doing


@cache
def gait_that_walks():
    gait = AdaptiveGait().bind(ROBOT)
    gait.command(0.05, 0.0, 0.0)
    while stepped(gait, 0.0, DT) != "walking":
        pass
    return gait


def walking():
    """A gait that walks, level."""
    return gait_that_walks().copy()


def tilt_limit():
    return edge(lambda tilt: stepped(walking(), tilt, 0.4) == "sitting down", 4.0, 12.0)


def tilt_at_once():
    """Tilt [deg] that is not tolerated for a moment, over the limit of 8 degrees."""
    return edge(lambda tilt: stepped(walking(), tilt, DT) == "sitting down", 8.5, 40.0) / 8.0


def tilt_patience():
    gait, time = walking(), 0.0
    while stepped(gait, 10.0, DT) != "sitting down":
        time += DT
        assert time < 5.0
    return time + 0.5 * DT


@cache
def gait_that_sits():
    gait = walking()
    while stepped(gait, 20.0, DT) != "sitting":
        pass
    return gait


def sat_down():
    """A gait that has sat down because of a tilt, still tilted."""
    return gait_that_sits().copy()


def level_share():
    """Share of the limit below which a body that sits is level: time counts fully."""
    return edge(lambda tilt: stepped(sat_down(), tilt, 0.5) == "sitting", 1.0, 7.9) / 8.0


def level_time():
    gait, time = sat_down(), 0.0
    while stepped(gait, 0.0, DT) == "sitting":
        time += DT
        assert time < 10.0
    return time


def inclined_share():
    """Share of the time that counts while the body rests inclined."""
    gait, time = sat_down(), 0.0
    while stepped(gait, 7.0, DT) == "sitting":
        time += DT
        assert time < 10.0
    return level_time() / time


def lowering_when_tilted():
    gait, time = walking(), 0.0
    while stepped(gait, 20.0, DT) != "sitting":
        time += DT
        assert time < 10.0
    return time


def reflexes_until_it_stays():
    """How often it stands up again by itself."""
    gait, count = walking(), 0
    while True:
        while stepped(gait, 20.0, DT) != "sitting":
            pass
        stepped(gait, 0.0, 3.0)
        if gait.doing == "sitting":
            return count
        count += 1
        assert count < 20


LIMITS = [
    # where, limit, unit
    (speed_limit, 5.82, "rad/s"),
    (approach_speed, 0.8, "rad/s"),
    (step_limit, 0.5, "rad"),
    (meeting_distance, 0.02, "rad"),
    (offset_limit, 0.1, "rad"),
    (offset_speed, 1.0, "rad/s"),
    (position_margin, 0.5, "rad"),
    (position_margin_below, 0.5, "rad"),
    (speed_margin, 3.0, "of the servo's speed"),
    (oldest_stamp, 0.3, "s"),
    (latest_stamp, 0.3, "s"),
    (source_timeout, 0.3, "s"),
    (fall_limit, 1.05, "rad"),
    (upright_limit, 0.45, "rad"),
    (fall_hold, 0.15, "s"),
    (fall_settle, 1.0, "s"),
    (fall_smoothing, 0.1, "s"),
    (fall_gap, 0.5, "s"),
    (least_force, 0.5, "g"),
    (largest_force, 1.5, "g"),
    (slope_average, 2.0, "s"),
    (slope_follow, 3.5, "deg/s"),
    (slope_steepest, 25.0, "deg"),
    (slope_settled, 4.0, "s"),
    (tilt_limit, 8.0, "deg"),
    (tilt_at_once, 1.9, "of the limit"),
    (tilt_patience, 0.24, "s"),
    (level_share, 0.6, "of the limit"),
    (level_time, 0.3, "s"),
    (inclined_share, 0.3, ""),
    (lowering_when_tilted, 0.3, "s"),
    (reflexes_until_it_stays, 3, ""),
]


@pytest.mark.parametrize(("find", "limit", "unit"), LIMITS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_limit_takes_effect_where_it_was_chosen(find, limit, unit):
    assert find() == pytest.approx(limit, rel=0.08), unit


def test_the_pause_after_which_commands_are_approached_is_one_for_servos_and_models():
    assert SupervisorSettings(seated=np.zeros(18)).command_timeout == 0.3
    assert Observer(ROBOT).commands.pause == 0.3
