"""Which joints do not follow, and which of their readings say how they are damaged."""

import numpy as np
import pytest

from hexapod_dynamics.detection.joint_watch import JointWatch

TICKS = 16  # of a slice
COXA = 0
# A recorded coxa that became limp (MuJoCo): its last readings and residuals [rad], one in 8 ticks.
ANGLES = [-0.004, 0.004, 0.017, 0.025, 0.021, 0.017, 0.034, 0.042, 0.063]
RESIDUALS = [-0.002, 0.000, -0.001, -0.005, 0.016, 0.028, 0.040, 0.041, 0.050]


class Readings:
    """The readings of one joint up to now; all others moved and followed."""

    def __init__(self, count):
        self.count = count

    def recent(self, joint, most):
        places = 8.0 * np.arange(self.count)[-most:]
        if joint != COXA:
            return places, 0.1 * np.sin(places), np.zeros(len(places))
        return places, np.array(ANGLES[: self.count])[-most:], np.array(RESIDUALS[: self.count])[-most:]


def watched(blamed_at=None):
    """The coxa's JointConditions after each reading from the sixth on; a bank blames it after reading `blamed_at`."""
    watch, found = JointWatch(18, TICKS), []
    for count in range(6, len(ANGLES) + 1):
        tick = 8 * (count - 1) + 1
        watch.look(Readings(count), tick, np.arange(18), np.zeros(18))
        found.append(watch.news.get(COXA))
        if count == blamed_at:
            watch.suspect(COXA, tick)
    return found


def counts(found):
    return [None if one is None else one.count for one in found]


def test_readings_count_from_when_the_joint_is_astray():
    found = watched()
    assert counts(found) == [None, None, 0, 2] and np.isinf(found[-1].spread)


def test_readings_count_from_when_a_bank_blames_the_joint():
    found = watched(blamed_at=6)
    assert counts(found) == [None, 1, 2, 3] and found[-1].spread == pytest.approx(0.029, abs=1e-9)
