"""The last minute of the shown robot: samples for the time slider, places for the trail."""

import numpy as np

from hexapod_dynamics.view.last_minute import EVERY, LENGTH, TRAIL_STEP, LastMinute, Sample


def walked(seconds, speed=0.1, rate=25.0):
    past = LastMinute()
    for k in range(int(seconds * rate)):
        t = k / rate
        past.add(Sample(t, np.array([speed * t, 0.0, 0.1]), np.array([0.0, 0.0, 0.0, 1.0]), {"RM_coxa": t}, "urdf"))
    return past


def test_a_time_gets_the_nearest_sample_and_nothing_older_than_a_minute_is_kept():
    past = walked(100.0)
    assert abs(past.find(80.0).time - 80.0) <= EVERY and past.find(80.0).joints["RM_coxa"] == past.find(80.0).time
    assert 100.0 - LENGTH - 2 * EVERY <= past.find(0.0).time <= 100.0 - LENGTH + 2 * EVERY
    assert LastMinute().find(1.0) is None


def test_the_trail_is_the_way_of_a_minute_in_steps():
    trail = walked(100.0).trail()
    steps = np.linalg.norm(np.diff(trail, axis=0), axis=1)
    assert steps.min() > TRAIL_STEP and abs(trail[-1, 0] - trail[0, 0] - 0.1 * LENGTH) < 0.1
    assert len(walked(30.0, speed=0.0).trail()) == 1
    assert len(walked(100.0, speed=0.0).trail()) <= 1
