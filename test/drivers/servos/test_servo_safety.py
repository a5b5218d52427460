"""When the robot sits down, and what the bus's state says to people."""

import numpy as np
import pytest

from hexapod_dynamics.control.posture import SitDown, SupplyLimits, SupplyMonitor
from hexapod_dynamics.drivers.servos.chain_state import ChainState
from hexapod_dynamics.drivers.servos.health import ServoHealth
from hexapod_dynamics.drivers.servos.interface import FAULTS
from hexapod_dynamics.errors import DeviceError

NAMES = [f"joint_{i}" for i in range(6)]


def levels(volts_and_seconds):
    """Feed a supply voltage by pieces of (volts, seconds); return the level after each piece."""
    assess, t, found = SupplyMonitor(SupplyLimits(10.2, 9.6, 9.1, 0.3, 2.0)), 0.0, []
    for volts, seconds in volts_and_seconds:
        for _ in range(round(seconds * 10)):
            t += 0.1
            level = assess.update(volts, t)
        found.append(level)
    return found


def test_the_supply_asks_for_more_the_lower_it_is():
    assert levels([(11.8, 3), (10.0, 3), (9.4, 3), (8.9, 3)]) == ["ok", "warn", "sit", "release"]


def test_a_short_sag_asks_for_nothing():
    assert levels([(11.8, 3), (8.0, 1.5), (11.8, 3), (8.0, 1.5)]) == ["ok"] * 4


def test_a_level_is_left_only_above_its_hysteresis():
    assert levels([(9.5, 3), (9.7, 5), (9.95, 1), (10.3, 5), (10.6, 1)]) == ["sit", "sit", "warn", "warn", "ok"]


def test_an_unknown_supply_asks_for_nothing():
    assert levels([(float("nan"), 5), (9.0, 5), (float("nan"), 5)]) == ["ok", "release", "release"]


def test_limits_out_of_order_are_refused():
    with pytest.raises(DeviceError, match="release <= sit <= warn"):
        SupplyLimits(warn=9.0, sit=9.6)


def test_sitting_down_is_slow_and_all_joints_arrive_together():
    start, seated = np.array([0.0, 0.4, np.nan, -0.2]), np.array([0.0, 1.2, 1.0, np.nan])
    down = SitDown(start, seated, 0.5, 10.0)
    assert down.duration == pytest.approx(1.6)
    assert np.array_equal(down.pose(10.0), [0.0, 0.4, np.nan, np.nan], equal_nan=True), "a joint not known is left"
    assert np.array_equal(np.isnan(down.pose(11.0)), [False, False, True, True])
    assert down.pose(10.8)[1] == pytest.approx(0.8) and down.pose(20.0)[1] == pytest.approx(1.2)
    assert not down.done(11.7) and down.done(12.2)


@pytest.fixture
def state():
    state = ChainState.empty(6)
    state.angle[:], state.stamp[:], state.torque_on[:], state.connected = 0.0, 0.0, 1.0, True
    state.last_received = 0.9
    return state


def assess(state, change=lambda state: None, *, simulated=False):
    health = ServoHealth(NAMES, simulated=simulated)
    health.assess(state, 0.0)
    change(state)
    state.reads += 60
    return health.assess(state, 1.0)


def test_all_well_is_ok(state):
    assert assess(state) == ("ok", [])


def test_lost_answers_of_simulated_servos_have_no_cable_for_a_cause(state):
    def lose(state):
        state.errors[:, 0] += 20

    (real,), (simulated,) = assess(state, lose)[1], assess(state, lose, simulated=True)[1]
    assert real.endswith("cable, ground or bus drive")
    assert simulated.endswith("this computer is too busy, or the simulator has faults")


def test_a_port_not_yet_tried_is_no_error_and_one_that_failed_says_why(state):
    def closed(error):
        def change(state):
            state.connected, state.last_port_error = False, error

        return change

    assert assess(state, closed("")) == ("warn", ["opening the port"])
    assert assess(state, closed("/dev/x is in use")) == ("error", ["/dev/x is in use"])


@pytest.mark.parametrize("late, said", [(13, True), (11, False)])
def test_a_line_of_which_a_fifth_of_the_answers_is_late_is_named(state, late, said):
    """A busy machine delays single answers; a USB adapter of FTDI delays all, and the driver waits for them."""

    def slow(state):
        state.late_answers = late

    words = [f"slow line ({late} of 60 answers late): latency timer of the USB adapter?"]
    assert assess(state, slow) == (("warn", words) if said else ("ok", []))


def test_each_trouble_has_its_own_words(state):
    def silent(state):
        state.silent[2] = True

    def limp(state):
        state.torque_on[3] = 0.0
        state.lagging[3] = True

    def blocked(state):
        state.lagging[4] = True

    for change, name, words in (
        (silent, "joint_2", "does not answer"),
        (limp, "joint_3", "has switched its torque off"),
        (blocked, "joint_4", "blocked or overloaded"),
    ):
        state_ = state.copy()
        level, wrong = assess(state_, change)
        assert level == "error" and len(wrong) == 1 and name in wrong[0] and words in wrong[0]


def test_what_a_servo_reports_is_the_cause_of_its_lost_torque(state):
    state.torque_on[3] = 0.0
    state.reports = ("", "", "", "reports overload", "reports 6144, outside 0..4095: multi-turn mode?", "")
    _, wrong = assess(state)
    assert wrong == [
        "joint_3 has switched its torque off: it reports overload",
        "joint_4 reports 6144, outside 0..4095: multi-turn mode?",
    ]


def test_one_bad_joint_is_told_from_a_noisy_line(state):
    def damaged(joints):
        def change(state):
            state.errors[joints, FAULTS.index("checksum")] += 8

        return change

    other = state.copy()
    assert "joint_1 answers badly" in assess(state, damaged([1]))[1][0]
    assert "noisy line (48 checksum" in assess(other, damaged(range(6)))[1][0]


def test_late_answers_are_told_and_single_ones_are_no_news(state):
    def lost(count):
        def change(state):
            state.errors[:count, FAULTS.index("timeout")] += 1

        return change

    other = state.copy()
    assert assess(state, lost(2)) == ("ok", [])
    assert "answers lost or late" in assess(other, lost(6))[1][0]


@pytest.mark.parametrize("late, machine", [(0, False), (1, False), (6, True), (40, True)])
def test_answers_lost_while_the_own_thread_woke_late_are_the_machines_fault(state, late, machine):
    def change(state):
        state.errors[:6, FAULTS.index("timeout")] += 1
        state.late_wakes += late

    level, (words,) = assess(state, change)
    assert level == "warn" and "6 answers lost or late beside 60 good ones" in words
    assert ("this machine is too slow or too busy" in words) == machine
    assert ("cable" in words) != machine


def test_late_wakes_alone_are_told_only_where_measurements_are_old(state):
    def change(state):
        state.late_wakes += 40
        state.stamp[:] = 0.9
        state.stamp[2] = 0.5 if old else 0.8

    old = False
    assert assess(state, change) == ("ok", [])
    old = True
    level, (words,) = assess(state, change)
    assert level == "warn" and "too slow or too busy" in words and "0.50 s" in words


def test_damaged_answers_are_the_lines_whoever_woke_late(state):
    def change(state):
        state.errors[:, FAULTS.index("checksum")] += 8
        state.late_wakes += 40

    assert "noisy line (48 checksum" in assess(state, change)[1][0]


def test_a_dead_bus_and_a_lost_port_are_one_error(state):
    state.last_received, state.unanswered = 0.0, 20
    assert assess(state)[1] == ["no servo answers: is the servo supply on, is another program using the bus?"]
    state.connected, state.last_port_error = False, "servo port /dev/x does not exist"
    assert assess(state) == ("error", ["servo port /dev/x does not exist"])
