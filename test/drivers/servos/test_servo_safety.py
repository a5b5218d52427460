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


def assess(state, errors=None, *, simulated=False, **changes):
    """Assess a state before and after 60 good answers, errors (fault, joints, of each) and changed attributes."""
    health = ServoHealth(NAMES, simulated=simulated)
    health.assess(state, 0.0)
    if errors is not None:
        fault, joints, count = errors
        state.errors[joints, FAULTS.index(fault)] += count
    for name, value in changes.items():
        setattr(state, name, value)
    state.reads += 60
    return health.assess(state, 1.0)


def test_all_well_is_ok(state):
    assert assess(state) == ("ok", [])


def test_lost_answers_of_simulated_servos_have_no_cable_for_a_cause(state):
    lost = "timeout", range(6), 20
    (real,), (simulated,) = assess(state, lost)[1], assess(state, lost, simulated=True)[1]
    assert real.endswith("cable, ground or bus drive")
    assert simulated.endswith("this computer is too busy, or the simulator has faults")


def test_a_port_not_yet_tried_is_no_error_and_one_that_failed_says_why(state):
    assert assess(state, connected=False, last_port_error="") == ("warn", ["opening the port"])
    assert assess(state, last_port_error="/dev/x is in use") == ("error", ["/dev/x is in use"])


@pytest.mark.parametrize("late, said", [(13, True), (11, False)])
def test_a_line_of_which_a_fifth_of_the_answers_is_late_is_named(state, late, said):
    """A busy machine delays single answers; a USB adapter of FTDI delays all, and the driver waits for them."""
    words = [f"slow line ({late} of 60 answers late): latency timer of the USB adapter?"]
    assert assess(state, late_answers=late) == (("warn", words) if said else ("ok", []))


@pytest.mark.parametrize(
    ("changes", "joint", "words"),
    [
        ({"silent": True}, 2, "does not answer"),
        ({"torque_on": 0.0, "lagging": True}, 3, "has switched its torque off"),
        ({"lagging": True}, 4, "blocked or overloaded"),
    ],
)
def test_each_trouble_has_its_own_words(state, changes, joint, words):
    for name, value in changes.items():
        getattr(state, name)[joint] = value
    level, wrong = assess(state)
    assert level == "error" and len(wrong) == 1 and f"joint_{joint}" in wrong[0] and words in wrong[0]


def test_what_a_servo_reports_is_the_cause_of_its_lost_torque(state):
    state.torque_on[3] = 0.0
    state.reports = ("", "", "", "reports overload", "reports 6144, outside 0..4095: multi-turn mode?", "")
    _, wrong = assess(state)
    assert wrong == [
        "joint_3 has switched its torque off: it reports overload",
        "joint_4 reports 6144, outside 0..4095: multi-turn mode?",
    ]


def test_one_bad_joint_is_told_from_a_noisy_line(state):
    other = state.copy()
    assert "joint_1 answers badly" in assess(state, ("checksum", [1], 8))[1][0]
    assert "noisy line (48 checksum" in assess(other, ("checksum", range(6), 8))[1][0]


def test_late_answers_are_told_and_single_ones_are_no_news(state):
    other = state.copy()
    assert assess(state, ("timeout", range(2), 1)) == ("ok", [])
    assert "answers lost or late" in assess(other, ("timeout", range(6), 1))[1][0]


@pytest.mark.parametrize("late, machine", [(0, False), (1, False), (6, True), (40, True)])
def test_answers_lost_while_the_own_thread_woke_late_are_the_machines_fault(state, late, machine):
    level, (words,) = assess(state, ("timeout", range(6), 1), late_wakes=late)
    assert level == "warn" and "6 answers lost or late beside 60 good ones" in words
    assert ("this machine is too slow or too busy" in words) == machine
    assert ("cable" in words) != machine


def test_late_wakes_alone_are_told_only_where_measurements_are_old(state):
    state.stamp[:] = 0.9
    state.stamp[2] = 0.8
    assert assess(state, late_wakes=40) == ("ok", [])
    state.stamp[2] = 0.5
    level, (words,) = assess(state, late_wakes=80)
    assert level == "warn" and "too slow or too busy" in words and "0.50 s" in words


def test_damaged_answers_are_the_lines_whoever_woke_late(state):
    assert "noisy line (48 checksum" in assess(state, ("checksum", range(6), 8), late_wakes=40)[1][0]


def test_a_dead_bus_and_a_lost_port_are_one_error(state):
    state.last_received, state.unanswered = 0.0, 20
    assert assess(state)[1] == ["no servo answers: is the servo supply on, is another program using the bus?"]
    state.connected, state.last_port_error = False, "servo port /dev/x does not exist"
    assert assess(state) == ("error", ["servo port /dev/x does not exist"])
