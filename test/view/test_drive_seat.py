"""Which page drives, within which limits, and when the robot is made to stand; times are given, nothing waits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_dynamics.view.drive_seat import LIMITS, PATIENCE, STAND, DriveSeat

AHEAD, BACK = (0.1, 0.0, 0.0), (-0.05, 0.0, 0.2)


def published(seat, times):
    return [seat.next_command(t) for t in times]


def test_a_page_without_a_sign_of_life_drives_for_half_a_second_then_stands_once_then_nothing():
    seat = DriveSeat()
    assert seat.command(0, AHEAD, 10.0) == ""
    assert published(seat, [10.1, 10.4, 10.0 + PATIENCE]) == [AHEAD] * 3
    assert published(seat, [10.0 + PATIENCE + 1e-6, 10.6, 99.0]) == [STAND, None, None]
    assert "page 1" in seat.ended and seat.driver is None


def test_a_late_sign_of_life_does_not_drive_again():
    seat = DriveSeat()
    seat.command(0, AHEAD, 10.0)
    seat.receive_sign_of_life(0, 10.4)
    assert seat.next_command(10.85) == AHEAD
    seat.receive_sign_of_life(0, 11.0)
    assert published(seat, [11.0, 11.1]) == [STAND, None]


def test_only_signs_of_life_of_the_page_that_drives_count():
    seat = DriveSeat()
    seat.command(0, AHEAD, 10.0)
    seat.receive_sign_of_life(1, 10.4)
    assert published(seat, [10.45, 10.6]) == [AHEAD, STAND]


def test_a_closed_page_ends_driving_and_another_page_that_is_closed_does_not():
    seat = DriveSeat()
    seat.command(0, AHEAD, 10.0)
    seat.leave(1)
    assert seat.next_command(10.1) == AHEAD
    seat.leave(0)
    assert published(seat, [10.2, 10.3]) == [STAND, None]
    assert seat.ended == "page 1 was closed: the robot stands"


def test_the_second_page_asks_and_takes_over():
    seat = DriveSeat()
    seat.command(0, AHEAD, 10.0)
    assert "page 1 drives" in seat.command(1, BACK, 10.1)
    assert seat.next_command(10.1) == AHEAD
    seat.give_controls(1, 10.2)
    assert seat.next_command(10.2) == STAND
    assert "page 2 drives" in seat.command(0, AHEAD, 10.3)
    assert seat.command(1, BACK, 10.3) == ""
    assert seat.next_command(10.4) == BACK


def test_taking_over_from_oneself_does_not_stop():
    seat = DriveSeat()
    seat.command(0, AHEAD, 10.0)
    seat.give_controls(0, 10.1)
    assert seat.next_command(10.2) == AHEAD


def test_every_page_may_make_the_robot_stand():
    seat = DriveSeat()
    seat.command(0, AHEAD, 10.0)
    assert seat.next_command(10.0) == AHEAD
    assert seat.command(1, STAND, 10.1) == ""
    assert published(seat, [10.2, 10.3]) == [STAND, None]


def test_nobody_drives_nothing_is_published():
    seat = DriveSeat()
    seat.receive_sign_of_life(0, 1.0)
    seat.give_controls(0, 1.0)
    seat.leave(0)
    assert published(seat, [1.1, 2.0]) == [None, None]


def test_a_robot_that_walks_by_itself_is_made_to_stand():
    seat = DriveSeat()
    seat.command(0, STAND, 1.0)
    assert published(seat, [1.1, 1.2]) == [STAND, None]
    seat.stand()
    assert published(seat, [1.3, 1.4]) == [STAND, None]


@pytest.mark.parametrize("value", [5.0, -0.1501, 1e308, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_twist_beyond_the_limits_is_refused_with_them(value, axis):
    seat = DriveSeat()
    seat.command(0, AHEAD, 10.0)
    twist = [0.0, 0.0, 0.0]
    twist[axis] = value
    assert "allowed are -0.15 to 0.15" in seat.command(0, twist, 10.1)
    assert seat.next_command(10.2) == AHEAD


events = st.one_of(
    st.tuples(st.just("command"), st.integers(0, 2), st.tuples(*[st.floats(-2, 2) | st.just(math.nan)] * 3)),
    st.tuples(st.sampled_from(["give_controls", "receive_sign_of_life", "leave"]), st.integers(0, 2), st.none()),
    st.tuples(st.just("stand"), st.none(), st.none()),
    st.tuples(st.just("next_command"), st.none(), st.none()),
)


@given(st.lists(st.tuples(events, st.floats(0.0, 0.7)), max_size=60))
def test_whatever_happens_motion_is_within_limits_and_follows_input_of_the_driver(steps):
    seat, now, last, may_stand = DriveSeat(), 0.0, {}, False
    for (name, client, twist), pause in steps:
        now += pause
        if name == "next_command":
            command = seat.next_command(now)
            if command is not None and command != STAND:
                assert all(abs(value) <= limit for value, limit in zip(command, LIMITS, strict=True))
                assert now - last[seat.driver] <= PATIENCE
            assert command != STAND or may_stand  # once, after motion or a request
            may_stand = may_stand and command != STAND
        elif name == "stand":
            seat.stand()
            may_stand = True
        elif name == "leave":
            seat.leave(client)
        else:
            arguments = (client, twist, now) if name == "command" else (client, now)
            getattr(seat, name)(*arguments)
            last[client] = now
            may_stand = may_stand or name == "command"
