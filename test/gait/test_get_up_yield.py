"""Yielding on joints that follow at once unless they are held, read one after the other as on the bus."""

import numpy as np
import pytest
from support.jethexa import ROBOT

from hexapod_dynamics.gait.recovery.motion import DELAY, FREE_DISTANCE, YIELD_SHARE, YieldControl

N, DT, SPEED = ROBOT.joint_count, 0.02, 2.0
LIMIT = ROBOT.servo.torque_limit / ROBOT.servo.stiffness  # [rad] error of a servo at its torque limit


class Bus:
    """Joints at their set-points of two ticks ago, except those of `held`; `reads` of them are read in each tick."""

    def __init__(self, reads=2):
        self.yielding, self.reads, self.held = YieldControl(ROBOT, DT), reads, []
        self.joints, self.readings, self.plan = np.zeros(N), np.zeros(N), np.zeros(N)
        self.before, self.next, self.gave = [np.zeros(N)] * 2, 0, np.zeros(N, bool)
        self.forced = self.longest = np.zeros(N)  # [s] at the torque limit: until now, and at most

    def tick(self, rates):
        self.plan = self.plan + np.asarray(rates) * DT
        last = self.yielding.sent.copy()
        sent = self.yielding.follow(DT, self.plan, self.readings, SPEED)
        if np.isfinite(last).all():
            away = np.abs(sent - self.readings) > np.abs(last - self.readings)
            assert np.abs(sent - last)[away].max(initial=0.0) <= SPEED * DT + 1e-8
        self.gave |= self.yielding.gives
        self.before = [*self.before[1:], sent]
        free = np.ones(N, bool)
        free[self.held] = False
        self.joints = np.where(free, self.before[0], self.joints)
        self.forced = np.where(np.abs(sent - self.joints) * ~free > LIMIT, self.forced + DT, 0.0)
        self.longest = np.maximum(self.longest, self.forced)
        for _ in range(self.reads):
            self.readings[self.next] = self.joints[self.next]
            self.next = (self.next + 1) % N
        return sent

    def run(self, seconds, rates):
        for _ in range(round(seconds / DT)):
            sent = self.tick(rates)
        return sent


def moved(bus):
    """Let all joints move to and fro, so that the period of the bus is known."""
    for rate in (SPEED, -SPEED, SPEED, -SPEED):
        bus.run(0.6, np.full(N, rate))
    return bus


@pytest.mark.parametrize("reads", [1, 2])
def test_joints_that_move_do_not_give_way_however_old_their_readings_are(reads):
    bus = moved(Bus(reads))
    bus.run(1.0, np.zeros(N))
    assert not bus.gave.any()
    np.testing.assert_allclose(bus.joints, bus.plan, atol=1e-6)


@pytest.mark.parametrize("rate", [0.3, -1.0, SPEED])
@pytest.mark.parametrize("joint", [0, 7, 17])
def test_a_joint_that_is_held_is_pushed_with_all_its_torque_for_a_period_of_the_bus_only(joint, rate):
    bus = moved(Bus())
    bus.held = [joint]
    sent = bus.run(1.5, rate * (np.arange(N) == joint))
    period, goes_back = N / bus.reads * DT, 4 * DT
    assert 0.0 < bus.longest[joint] <= period + DELAY + goes_back + 2.1 * DT
    assert bus.yielding.gives[joint] and bus.gave.sum() == 1
    assert abs(sent[joint] - bus.joints[joint]) == pytest.approx(YIELD_SHARE * LIMIT, abs=1e-9)


def test_a_joint_that_comes_free_follows_the_plan_again_and_one_that_is_pushed_back_does_not():
    bus = moved(Bus())
    bus.held = [4]
    bus.run(1.0, SPEED * (np.arange(N) == 4))
    bus.joints[4] -= 0.2
    sent = bus.run(0.2, np.zeros(N))
    assert bus.yielding.gives[4] and sent[4] == pytest.approx(bus.joints[4] + YIELD_SHARE * LIMIT, abs=1e-9)
    bus.joints[4] += 0.5 * FREE_DISTANCE
    bus.run(0.4, np.zeros(N))
    assert bus.yielding.gives[4]
    bus.held = []
    bus.run(1.5, np.zeros(N))
    np.testing.assert_allclose(bus.joints, bus.plan, atol=1e-6)
    assert not bus.yielding.gives.any()


def test_what_is_not_commanded_or_not_read_stays_as_it_is():
    yielding = YieldControl(ROBOT, DT)
    plan, readings = np.zeros(N), np.zeros(N)
    plan[3] = readings[3] = readings[5] = np.nan
    for k in range(100):
        plan[5] = plan[6] = 0.01 * k
        sent = yielding.follow(DT, plan, readings, SPEED)
    assert np.isnan(sent[3]) and sent[5] == pytest.approx(0.99) and sent[6] == pytest.approx(YIELD_SHARE * LIMIT)
