"""Joints of lost legs that another driver still reports, with their last position."""

import numpy as np
import pytest

from hexapod_dynamics.drivers.servos.topics import FrozenChains

LEGS = [[0, 1, 2], [3, 4, 5]]
COUNT = np.radians(0.29)  # [rad] of an AX-12's encoder


def walk(frozen, seconds=3.0, quick=1.0):
    """What is found at the end of a walk in which some joints keep their position from 1 s on, and when [s]."""
    chains, kept, first = FrozenChains(6, LEGS), None, np.inf
    phases = np.linspace(0.0, 2.0, 6)
    for now in np.arange(0.0, seconds, 0.01):
        targets = 0.2 * np.sin(4.0 * quick * now + phases)
        shown = np.round(0.2 * np.sin(4.0 * quick * (now - 0.05) + phases) / COUNT) * COUNT
        if now >= 1.0:
            kept = shown.copy() if kept is None else kept
            shown[frozen] = kept[frozen]
        found = chains.update(100.0 + now, shown, targets)
        if found.any():
            first = min(first, now - 1.0)
    return np.flatnonzero(found).tolist(), first


@pytest.mark.parametrize("lost", [[3, 4, 5], [4, 5], [0, 1, 2, 4, 5], [0, 1, 2, 3, 4, 5]])
def test_legs_and_links_that_report_one_position_are_found_within_a_second(lost):
    found, after = walk(lost)
    assert found == lost
    assert 0.28 < after < 0.8


@pytest.mark.parametrize("stuck", [[], [5], [4], [3], [0, 4]])
def test_single_joints_that_stand_still_are_left_to_the_detector(stuck):
    assert walk(stuck) == ([], np.inf)


def test_joints_that_are_not_commanded_to_move_may_stand_still():
    assert walk([3, 4, 5], quick=0.0) == ([], np.inf)


def test_joints_that_are_measured_seldom_and_reported_often_are_not_lost():
    """Each joint is measured every 0.48 s, and its value repeated 100 times a second."""
    chains, shown, found = FrozenChains(6, LEGS), np.zeros(6), []
    for k in range(800):
        targets = 0.4 * np.sin(4.0 * 0.01 * k + np.linspace(0.0, 2.0, 6))
        measured = np.arange(6) == (k % 48) / 8
        shown[measured] = targets[measured] + 1e-4
        found.append(chains.update(0.01 * k, shown, targets).any())
    assert not any(found[200:])


def test_what_moves_again_is_measured_again():
    chains, targets = FrozenChains(6, LEGS), np.zeros(6)
    for now in np.arange(0.0, 1.0, 0.01):
        targets[:] = now
        found = chains.update(now, np.array([now, now, now, 0.0, 0.0, 0.0]), targets)
    assert found.tolist() == [False] * 3 + [True] * 3
    assert not chains.update(1.0, np.array([1.0, 1.0, 1.0, 1e-9, 1e-9, 1e-9]), targets).any()


def test_after_a_restart_a_joint_that_is_declared_missing_is_measured_once_it_moves():
    """Else the last position of a lost leg, which is still reported, would look like its return."""
    chains, none = FrozenChains(6, LEGS), np.full(6, np.nan)
    chains.set_missing(np.array([False] * 3 + [True] * 3))
    for now in np.arange(0.0, 1.0, 0.01):
        assert chains.update(now, np.zeros(6), none).tolist() == [False] * 3 + [True] * 3
    moved = np.array([0.0, 0.0, 0.0, 0.0, 0.01, 0.0])
    assert chains.update(1.0, moved, none).tolist() == [False] * 3 + [True, False, True]


def test_joints_without_commands_are_never_found():
    chains = FrozenChains(6, LEGS)
    for now in np.arange(0.0, 1.0, 0.01):
        assert not chains.update(now, np.zeros(6), np.full(6, np.nan)).any()
