"""Which page drives, within which limits, and when the robot is made to stand; times are given, nothing waits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_dynamics.view.drive_seat import LIMITS, PATIENCE, STAND, DriveSeat

AHEAD, BACK = (0.1, 0.0, 0.0), (-0.05, 0.0, 0.2)


COMMAND, TAKE, ALIVE = "command", "give_controls", "receive_sign_of_life"
# What happens (method and arguments), and what is published: (time, twist).
STORIES = {
    "a page without a sign of life drives for half a second, then the robot stands once, then nothing": [
        (COMMAND, 0, AHEAD, 10.0), (10.1, AHEAD), (10.4, AHEAD), (10.0 + PATIENCE, AHEAD),
        (10.0 + PATIENCE + 1e-6, STAND), (10.6, None), (99.0, None),
    ],
    "a late sign of life does not drive again": [
        (COMMAND, 0, AHEAD, 10.0), (ALIVE, 0, 10.4), (10.85, AHEAD), (ALIVE, 0, 11.0), (11.0, STAND), (11.1, None),
    ],
    "only signs of life of the page that drives count": [
        (COMMAND, 0, AHEAD, 10.0), (ALIVE, 1, 10.4), (10.45, AHEAD), (10.6, STAND),
    ],
    "a closed page ends driving, and another page that is closed does not": [
        (COMMAND, 0, AHEAD, 10.0), ("leave", 1), (10.1, AHEAD), ("leave", 0), (10.2, STAND), (10.3, None),
    ],
    "the second page takes over, and the robot stands before it drives": [
        (COMMAND, 0, AHEAD, 10.0), (COMMAND, 1, BACK, 10.1), (10.1, AHEAD), (TAKE, 1, 10.2), (10.2, STAND),
        (COMMAND, 0, AHEAD, 10.3), (COMMAND, 1, BACK, 10.3), (10.4, BACK),
    ],
    "taking over from oneself does not stop": [(COMMAND, 0, AHEAD, 10.0), (TAKE, 0, 10.1), (10.2, AHEAD)],
    "every page may make the robot stand": [
        (COMMAND, 0, AHEAD, 10.0), (10.0, AHEAD), (COMMAND, 1, STAND, 10.1), (10.2, STAND), (10.3, None),
    ],
    "nobody drives, nothing is published": [(ALIVE, 0, 1.0), (TAKE, 0, 1.0), ("leave", 0), (1.1, None), (2.0, None)],
    "a robot that walks by itself is made to stand": [
        (COMMAND, 0, STAND, 1.0), (1.1, STAND), (1.2, None), ("stand",), (1.3, STAND), (1.4, None),
    ],
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_what_is_published(story):
    seat = DriveSeat()
    for what, *arguments in story:
        if isinstance(what, str):
            getattr(seat, what)(*arguments)
        else:
            assert seat.next_command(what) == arguments[0], what


def test_who_drives_and_why_driving_ended_are_named():
    seat = DriveSeat()
    assert seat.command(0, AHEAD, 10.0) == ""
    assert "page 1 drives" in seat.command(1, BACK, 10.1)
    seat.give_controls(1, 10.2)
    assert "page 2 drives" in seat.command(0, AHEAD, 10.3)
    assert seat.command(1, BACK, 10.3) == ""
    seat.leave(1)
    assert seat.ended == "page 2 was closed: the robot stands" and seat.driver is None
    seat.command(0, AHEAD, 11.0)
    seat.next_command(12.0)
    assert "page 1" in seat.ended and seat.driver is None


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
                assert all(abs(value) <= limit for value, limit in zip(command, LIMITS.values(), strict=True))
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
