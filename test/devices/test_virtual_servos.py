"""Motions, torque and supply of the simulated LX servos."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.lx import protocol as lx

COUNT = 1.0 / lx.BUS_SERVO.per_radian


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 400)), min_size=1, max_size=6))
def test_a_servo_moves_uniformly_and_a_new_move_interrupts(moves):
    servos = VirtualServos([1], [1], [0.0], loaded=True, speed_limit=1e12)
    t, here = 0.0, 0.0
    for count, milliseconds in moves:
        (frame,) = lx.FrameParser().feed(lx.move_time(1, lx.angle_from_count(count), milliseconds / 1000))
        servos.execute(frame, t)
        target, duration = lx.angle_from_count(count), milliseconds / 1000
        for share in (0.0, 0.25, 0.5, 1.0, 2.0):
            expected = here + (target - here) * min(1.0, share) if duration else target
            assert servos.setpoints(t + share * duration + (1e-9 if not duration else 0.0))[0] == pytest.approx(
                expected, abs=1e-5
            )
        t += 0.6 * duration
        here = here + (target - here) * 0.6 if duration else target
        t += 1e-9


def test_latched_moves_start_together_and_only_once():
    servos = VirtualServos([1, 2, 3], [1, -1, 1], np.zeros(3), loaded=True)
    parser = lx.FrameParser()
    *latched, start = parser.feed(lx.pose((servo_id, lx.count_from_angle(0.3), 0.1) for servo_id in (1, 2)))
    for frame in latched:
        servos.execute(frame, 0.0)
    assert np.allclose(servos.setpoints(1.0), 0.0)
    servos.execute(start, 2.0)
    assert np.allclose(servos.setpoints(2.05), [0.15, -0.15, 0.0], atol=COUNT)
    assert np.allclose(servos.setpoints(2.1), [0.3, -0.3, 0.0], atol=COUNT)
    servos.execute(parser.feed(lx.move_time(1, 0.0, 0.0))[0], 3.0)
    servos.execute(start, 4.0)
    assert np.allclose(servos.setpoints(5.0), [0.0, -0.3, 0.0], atol=COUNT)


def test_a_limp_servo_starts_its_move_where_it_hangs():
    servos = VirtualServos([1], [1], [0.0])
    servos.set_angles(np.array([0.4]))
    assert not servos.are_holding()[0]
    (frame,) = lx.FrameParser().feed(lx.move_time(1, 0.0, 1.0))
    servos.execute(frame, 0.0)
    assert servos.are_holding()[0]
    assert servos.setpoints(0.5)[0] == pytest.approx(0.2, abs=COUNT)
