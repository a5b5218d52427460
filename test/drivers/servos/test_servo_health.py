"""What the bus's state and the servos' temperatures say to people."""

import math

import numpy as np
import pytest
from support.servo_temperature import ServoTemperature

from hexapod_dynamics.drivers.servos.chain_state import ChainState
from hexapod_dynamics.drivers.servos.health import HOT, SOURCES, ServoHealth, ServoHeat
from hexapod_dynamics.drivers.servos.interface import FAULTS

NAMES = [f"joint_{i}" for i in range(6)]


def assess(source="bus", errors=None, joints=None, **changes):
    """Assess six joints that are well, and again after 60 good answers, errors {fault: (joints, of each)}, changes of
    attributes, and of values of joints {attribute: (joint, value)}.
    """
    state, health = ChainState(6), ServoHealth(NAMES, source)
    state.angle[:], state.stamp[:], state.torque_on[:], state.connected = 0.0, 0.9, 1.0, True
    state.last_received = 0.9
    health.assess(state, 0.0)
    for fault, (which, count) in (errors or {}).items():
        state.errors[which, FAULTS.index(fault)] += count
    for name, (joint, value) in (joints or {}).items():
        getattr(state, name)[joint] = value
    for name, value in changes.items():
        setattr(state, name, value)
    state.reads += 60
    return health.assess(state, 1.0)


SLOW = "slow line ({} of 60 answers late): latency timer of the USB adapter?"
CABLE, BUSY = "cable, ground or bus drive", "this machine is too slow or too busy"
DEAD = "no servo answers, none is moved: is the supply on, is another program on the bus, is `direction` right?"
REPORTS = ("", "", "", "reports overload", "reports 6144, outside 0..4095: multi-turn mode?", "")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ("ok", [])),
        ({"connected": False}, ("warn", ["opening the port"])),
        ({"connected": False, "last_port_error": "/dev/x is in use"}, ("error", ["/dev/x is in use"])),
        ({"last_received": 0.0, "unanswered": 20}, ("error", [DEAD])),
        ({"last_received": 0.0, "unanswered": 20, "source": "topics"}, ("error", [SOURCES["topics"][0]])),
        ({"last_received": 0.0, "unanswered": 20, "connected": False, "last_port_error": "gone"}, ("error", ["gone"])),
        # A busy machine delays single answers; a USB adapter of FTDI delays all, and the driver waits for them.
        ({"late_answers": 13}, ("warn", [SLOW.format(13)])),
        ({"late_answers": 11}, ("ok", [])),
        ({"errors": {"timeout": (range(2), 1)}}, ("ok", [])),
        ({"late_wakes": 40}, ("ok", [])),
        (
            {"joints": {"torque_on": (3, 0.0), "unconfirmed": (3, True)}, "torque_time": -1.0},
            ("error", ["joint_3 has no torque although it was switched on: the command is repeated"]),
        ),
        # What a servo reports is the cause of its lost torque.
        (
            {"joints": {"torque_on": (3, 0.0)}, "reports": REPORTS},
            (
                "error",
                [
                    "joint_3 has switched its torque off: it reports overload",
                    "joint_4 reports 6144, outside 0..4095: multi-turn mode?",
                ],
            ),
        ),
    ],
)
def test_what_is_said(given, expected):
    assert assess(**given) == expected


@pytest.mark.parametrize(
    ("given", "level", "words", "others"),
    [
        ({"joints": {"silent": (2, True)}}, "error", ["joint_2", "and is not moved", "declare it missing"], []),
        (
            {"joints": {"torque_on": (3, 0.0), "lagging": (3, True)}},
            "error",
            ["joint_3", "has switched its torque off"],
            ["blocked"],
        ),
        ({"joints": {"lagging": (4, True)}}, "error", ["joint_4", "blocked or overloaded"], []),
        # One bad joint is told from a noisy line, whoever woke late.
        ({"errors": {"checksum": ([1], 8)}}, "warn", ["joint_1 answers badly"], []),
        ({"errors": {"checksum": (range(6), 8)}}, "warn", ["noisy line (48 checksum"], []),
        ({"errors": {"checksum": (range(6), 8)}, "late_wakes": 40}, "warn", ["noisy line (48 checksum"], []),
        # Answers that were lost while the own thread woke late are the machine's fault.
        ({"errors": {"timeout": (range(6), 1)}}, "warn", ["6 answers lost or late beside 60 good ones", CABLE], [BUSY]),
        ({"errors": {"timeout": (range(6), 1)}, "late_wakes": 1}, "warn", ["6 answers lost or late", CABLE], [BUSY]),
        ({"errors": {"timeout": (range(6), 1)}, "late_wakes": 6}, "warn", ["6 answers lost or late", BUSY], ["cable"]),
        # Late wakes alone are told only where measurements are old.
        ({"late_wakes": 80, "joints": {"stamp": (2, 0.5)}}, "warn", [BUSY, "0.50 s"], ["cable"]),
        # Lost answers of simulated servos have no cable for a cause.
        ({"errors": {"timeout": (range(6), 20)}}, "warn", [CABLE], ["simulator"]),
        (
            {"errors": {"timeout": (range(6), 20)}, "source": "simulator"},
            "warn",
            ["too busy, or the simula"],
            ["cable"],
        ),
        ({"errors": {"timeout": (range(6), 20)}, "source": "topics"}, "warn", ["their stamps repeat"], ["simulator"]),
    ],
)
def test_each_fault_has_its_own_words(given, level, words, others):
    found, (said,) = assess(**given)
    assert found == level
    assert all(word in said for word in words) and not any(word in said for word in others), said


# Hot servos are named before: the truth has two heat capacities, winding and case, and is read in whole degrees ------


def warm(powers, seconds, seed=0):
    """Temperatures (T, n) each second of cases whose windings take powers (n,) [W], and what was said at each."""
    truth = ServoTemperature(len(powers), seed=seed)
    heat, temperatures, said = ServoHeat([f"joint_{k}" for k in range(len(powers))]), [], []
    for second in range(seconds):
        truth.warm(1.0, powers)
        heat.update(float(second), truth.read())
        temperatures.append(truth.case.copy())
        said.append(heat.assess())
    return np.array(temperatures), said, heat


@pytest.mark.parametrize("seed", range(3))
def test_a_servo_that_becomes_hot_is_named_before_and_others_are_not(seed):
    # Ends of 34, 52 and 70 degrees.
    temperatures, said, heat = warm([1.0, 3.0, 5.0], 1800, seed)
    assert temperatures[-1] == pytest.approx([34.0, 52.0, 70.0], abs=1.0)
    hot_at = int(np.argmax(temperatures[:, 2] >= HOT))
    named = [second for second, (level, _) in enumerate(said) if level == "warn"]
    assert named and 60 < hot_at - named[0] < 700
    assert all("joint_2" in text for _, texts in said for text in texts)
    assert "let it rest" in said[-1][1][0]
    assert heat.time_to_hot(0) == heat.time_to_hot(1) == math.inf and heat.time_to_hot(2) == 0.0


def test_the_time_until_it_is_hot_is_about_right():
    temperatures, _, _ = warm([5.0], 1800)
    hot_at = int(np.argmax(temperatures[:, 0] >= HOT))
    _, _, heat = warm([5.0], hot_at - 240)
    assert heat.time_to_hot(0) == pytest.approx(240.0, abs=120.0)


def test_nothing_is_said_of_what_is_not_known_or_after_a_pause():
    heat = ServoHeat(["a", "b"])
    for second in range(190):
        heat.update(float(second), [np.nan, 40.0 + 0.1 * second])
    assert heat.time_to_hot(0) == math.inf and heat.time_to_hot(1) < math.inf
    heat.update(1000.0, [np.nan, 45.0])
    assert heat.assess() == ("ok", [])
