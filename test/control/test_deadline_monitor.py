"""Missed calls of a periodic task."""

import pytest

from hexapod_dynamics.control.deadlines import DeadlineMonitor


def called(times):
    deadlines = DeadlineMonitor(0.01)
    for time in times:
        deadlines.call(time)
    return deadlines


def test_calls_in_time_and_a_few_milliseconds_late_are_no_complaint():
    deadlines = called([0.01 * k + (0.004 if k % 7 == 0 else 0.0) for k in range(100)])
    assert deadlines.assess("predictions") == "" and deadlines.missed == 0


@pytest.mark.parametrize(
    "times, left_out",
    [([0.02 * k for k in range(50)], 49), ([0.01 * k for k in range(50)] + [1.0], 50)],
    ids=["half the rate", "a stall of half a second"],
)
def test_what_is_left_out_is_counted_and_said(times, left_out):
    deadlines = called(times)
    assert f"{left_out} of {left_out + len(times)} predictions" in deadlines.assess("predictions")
    assert deadlines.missed == left_out
    assert deadlines.assess("predictions") == ""  # each second is judged by itself
