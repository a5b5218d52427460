"""When the robot sits down, and how."""

import math

import numpy as np
import pytest

from hexapod_dynamics.control.posture import SitDown, SupplyLimits, SupplyMonitor


@pytest.mark.parametrize(
    ("volts_and_seconds", "levels"),
    [
        pytest.param([(11.8, 3), (10.0, 3), (9.4, 3), (8.9, 3)], ["ok", "warn", "sit", "release"], id="lower, more"),
        pytest.param([(11.8, 3), (8.0, 1.5), (11.8, 3), (8.0, 1.5)], ["ok"] * 4, id="short sags"),
        pytest.param(
            [(9.5, 3), (9.7, 5), (9.95, 1), (10.3, 5), (10.6, 1)], ["sit", "sit", "warn", "warn", "ok"], id="hysteresis"
        ),
        pytest.param([(math.nan, 5), (9.0, 5), (math.nan, 5)], ["ok", "release", "release"], id="unknown"),
    ],
)
def test_the_supply_asks_for_more_the_lower_it_is_for_a_while(volts_and_seconds, levels):
    monitor, t, found = SupplyMonitor(SupplyLimits(10.2, 9.6, 9.1, 0.3, 2.0)), 0.0, []
    for volts, seconds in volts_and_seconds:
        for _ in range(round(seconds * 10)):
            t += 0.1
            level = monitor.update(volts, t)
        found.append(level)
    assert found == levels


def test_sitting_down_is_slow_and_all_joints_arrive_together():
    start, seated = np.array([0.0, 0.4, np.nan, -0.2]), np.array([0.0, 1.2, 1.0, np.nan])
    down = SitDown(start, seated, 0.5, 10.0)
    assert down.duration == pytest.approx(1.6)
    assert np.array_equal(down.pose(10.0), [0.0, 0.4, np.nan, np.nan], equal_nan=True), "a joint not known is left"
    assert np.array_equal(np.isnan(down.pose(11.0)), [False, False, True, True])
    assert down.pose(10.8)[1] == pytest.approx(0.8) and down.pose(20.0)[1] == pytest.approx(1.2)
    assert not down.done(11.7) and down.done(12.2)
