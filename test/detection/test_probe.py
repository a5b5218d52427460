"""When the detector asks for a foot to be pressed down."""

import pytest

from hexapod_dynamics.detection.probe import Probe


def asked(suspects):
    """Times at which a foot is to be pressed; suspects: (time [s], suspect)."""
    probe = Probe()
    found = [(time, probe.asks(time, suspect)) for time, suspect in suspects]
    assert probe.count == sum(leg is not None for _, leg in found)
    return [(time, leg) for time, leg in found if leg is not None]


def times(until):
    return [0.1 * k for k in range(round(10 * until))]


def test_a_leg_that_is_suspected_for_long_is_pressed_and_not_again_for_a_while():
    found = asked((t, ("RM lost", 0.7, 1.0)) for t in times(12.0))
    assert [leg for _, leg in found] == ["RM", "RM"]
    assert 2.0 < found[0][0] < 3.5 and found[1][0] - found[0][0] == pytest.approx(8.0, abs=0.11)


def test_a_short_suspicion_a_joint_and_nothing_are_not():
    assert asked((t, ("RM lost", 0.9, 10.0 * (t // 1.0))) for t in times(5.0)) == []
    assert asked((t, ("joint 3", 0.9, 0.0)) for t in times(5.0)) == []
    assert asked((t, None) for t in times(5.0)) == []


def test_a_doubted_leg_is_pressed_once_as_soon_as_the_gait_knows_of_the_other():
    probe = Probe()
    probe.doubt(3.0, "LM")
    assert [probe.asks(3.0 + 0.02 * k, None) for k in range(20)].count("LM") == 1
    assert probe.asks(3.01, None) is None and probe.count == 1
    assert probe.asks(5.0, ("RM lost", 0.9, 3.2)) is None  # not so soon after it
    probe.doubt(6.0, "LM")
    probe.doubt(6.02, None)  # another change: who was doubted with the last loss does not matter any more
    assert probe.asks(7.0, None) is None
