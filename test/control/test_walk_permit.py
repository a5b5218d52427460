"""Who may make the robot walk: sequences of commands, falls and restarts."""

import pytest

from hexapod_dynamics.control.walk_permit import WalkPermit

GO, STOP = (0.05, 0.0, 0.0), (0.0, 0.0, 0.0)


def restarted(permit):
    return WalkPermit(permit.state)


def test_it_walks_by_itself_until_somebody_commands_it_and_never_after_a_restart():
    permit = WalkPermit()
    assert permit.by_itself and permit.may_walk
    assert restarted(permit).by_itself
    assert permit.command(1.0, STOP)
    assert not permit.by_itself and permit.may_walk
    assert not restarted(permit).by_itself


def fallen(time=10.0):
    permit = WalkPermit()
    permit.command(time, GO)
    permit.update_fall(True, False)
    return permit


def test_after_a_fall_nothing_starts_it_before_it_is_upright():
    permit = fallen()
    for k in range(100):
        assert not permit.command(11.0 + k, STOP if k % 2 else GO)
    assert permit.fallen and not permit.by_itself


@pytest.mark.parametrize("again", [lambda permit: permit, restarted], ids=["", "after a restart"])
def test_upright_again_it_waits_for_a_new_command(again):
    permit = again(fallen())
    assert permit.fallen  # also after the restart, until somebody has seen it upright
    permit.command(10.9, GO)
    permit.update_fall(False, True)
    assert not permit.fallen and not permit.may_walk
    for k in range(50):  # a joystick that is still pushed
        assert not permit.command(11.0 + 0.1 * k, GO)
    assert not permit.command(16.0, STOP)
    assert permit.command(16.1, GO)
    assert permit.may_walk


def test_a_pause_of_the_commands_makes_the_next_one_new():
    permit = fallen()
    permit.update_fall(False, True)
    assert not permit.command(10.5, GO)
    assert permit.command(11.6, GO)


def test_a_stop_before_it_was_upright_does_not_release_it_and_a_second_fall_stops_it_again():
    permit = fallen()
    permit.command(10.1, STOP)
    permit.update_fall(False, True)
    assert not permit.command(10.2, GO)
    permit.command(10.3, STOP)
    assert permit.command(10.4, GO)
    permit.update_fall(True, False)
    assert not permit.may_walk
