"""When a machine is too slow for the rate, and when the robot may walk."""

import pytest

from hexapod_dynamics.control.deadlines import AutomaticRate, DeadlineMonitor
from hexapod_dynamics.control.walk_permit import WalkPermit


class Machine:
    """Calls a task at its rate, or at what this machine can do, and keeps what is said and the rates (time, rate)."""

    def __init__(self):
        self.automatic, self.now = AutomaticRate(100.0), 1000.0
        self.said, self.rates = [], []

    def run(self, seconds, able=1e9):
        end = self.now + seconds
        while self.now < end:
            said = self.automatic.call(self.now)
            if said:
                self.said.append(said)
            if not self.rates or self.rates[-1][1] != self.automatic.rate:
                self.rates.append((self.now, self.automatic.rate))
            self.now += 1.0 / min(self.automatic.rate, able)
        return self


def test_a_machine_that_holds_the_rate_keeps_it_through_single_stalls():
    machine = Machine()
    for stall in (0.3, 0.5, 3.0, 20.0):
        machine.run(10.0)
        machine.now += stall
    machine.run(10.0, able=95.5)
    assert machine.automatic.rate == 100.0 and machine.said == [] and len(machine.rates) == 1


@pytest.mark.parametrize("able", [94.0, 70.0, 52.0, 20.0])
def test_a_slow_machine_is_told_once_and_gets_half_the_rate_within_seconds(able):
    machine = Machine().run(10.0).run(7.5, able)
    assert machine.automatic.halved and machine.automatic.rate == 50.0
    assert len(machine.said) == 1
    assert "too slow or too busy for 100 a second: 50 a second" in machine.said[0]
    assert "tried again in" in machine.automatic.assess(machine.now)


def test_tries_become_rare_while_they_fail_and_nothing_more_is_said():
    machine = Machine().run(2000.0, able=60.0)
    begun = [time for time, rate in machine.rates if rate == 100.0][1:]
    ended = [time for time, rate in machine.rates if rate == 50.0]
    waits = [begin - end for begin, end in zip(begun, ended, strict=False)]
    assert waits[:5] == pytest.approx([20.0, 40.0, 80.0, 160.0, 320.0], abs=1.5)
    assert all(wait == pytest.approx(320.0, abs=1.5) for wait in waits[4:])
    trials = [end - begin for begin, end in zip(begun, ended[1:], strict=False)]
    assert max(trials) < 7.5, "a try that fails is short"
    assert len(machine.said) == 1


def test_the_full_rate_comes_back_when_the_machine_can_and_is_told_when_it_lasts():
    machine = Machine().run(60.0, able=60.0)
    machine.run(200.0)
    assert machine.automatic.rate == 100.0 and machine.automatic.assess(machine.now) == ""
    assert len(machine.said) == 2 and machine.said[1] == "100 a second again"
    again = len(machine.rates)
    machine.run(7.5, able=60.0)  # the doubling of the first time is forgotten
    assert machine.automatic.halved and len(machine.rates) == again + 1
    assert "in 20 s" in machine.said[2] or "in 19 s" in machine.said[2]


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


def test_pauses_are_no_slow_seconds_and_a_halved_rate_does_not_outlast_one():
    machine = Machine()
    for _ in range(20):  # somebody looks for half a second, again and again
        machine.run(0.5)
        machine.automatic.pause(machine.now)
        machine.now += 7.0
    assert machine.automatic.rate == 100.0 and machine.said == []
    machine.run(20.0, able=60.0)
    assert machine.automatic.halved
    machine.automatic.pause(machine.now)
    assert machine.automatic.rate == 100.0 and machine.automatic.assess(machine.now) == ""


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
    for unknown in (None, permit.state | {"by_itself": 1}):
        assert not WalkPermit.restored(unknown, 1.0).may_walk


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


def test_who_is_told_to_sit_after_a_fall_stays_so_over_a_restart_and_a_fall_ends_what_was_before():
    permit = WalkPermit()
    for sits in (False, True):
        permit.sit(True)
        permit.update_fall(True, False)
        assert permit.sits == sits
    assert restarted(permit).seated


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
