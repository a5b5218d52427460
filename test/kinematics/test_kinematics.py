"""The three-joint leg: inverse is the inverse of forward, refusals say what is reachable, damage is met as well as can
be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.core._core import place_foot
from hexapod_dynamics.errors import HexapodError, ReachError
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.se3 import exp

LF = LegKinematics.from_robot(ROBOT, "LF")
unit = st.floats(0.0, 1.0)


def angles(*fractions):
    return LF.lower + np.array(fractions) * (LF.upper - LF.lower)


@given(unit, unit, unit)
@settings(max_examples=200, deadline=None)
def test_forward_is_the_product_of_exponentials(a, b, c):
    q, leg = angles(a, b, c), ROBOT.leg("LF")
    pose = np.eye(4)
    for joint, angle in zip(leg.joints, q, strict=True):
        pose = pose @ exp(joint.screw * angle)
    tip = pose @ np.append(leg.joints[2].origin + leg.links[2].tip, 1.0)  # (12)
    assert LF.forward(q) == pytest.approx(tip[:3], abs=1e-14)


@given(unit, unit, unit)
@settings(max_examples=300, deadline=None)
def test_inverse_finds_the_angles_of_any_pose_within_the_limits(a, b, c):
    q = angles(a, b, c)
    found = LF.inverse(LF.forward(q), near=q)
    assert LF.forward(found) == pytest.approx(LF.forward(q), abs=1e-9)
    assert np.all((LF.lower <= found) & (found <= LF.upper))
    # Away from the stretched leg and from the coxa's axis, where angles are hard to tell.
    if abs(np.cos(q[2])) > 0.05 and np.hypot(*LF.forward(q)[:2]) > 0.005:
        assert found == pytest.approx(q, abs=1e-6)


def test_the_usual_solution_is_foot_outward_and_knee_up():
    q = LF.inverse([0.122, 0.0, -0.12])
    assert abs(q[0]) < 1e-12 and -0.2 < q[1] < 0.2 and -np.pi / 2 < q[2] < np.pi / 2


def test_a_broken_tibia_reaches_what_its_length_allows():
    leg = LegKinematics.from_robot(ROBOT, "LF", WHOLE.broken("LF.tibia", 0.5))
    assert leg.forward(leg.inverse([0.1, 0.0, -0.08])) == pytest.approx([0.1, 0.0, -0.08], abs=1e-12)
    with pytest.raises(ReachError, match="0.1385 m"):  # 77 + 61.5 mm
        leg.inverse([0.122, 0.0, -0.14])


@pytest.mark.parametrize("lost", ["LF", "LF.femur", "LF.tibia"])
def test_a_leg_without_its_tibia_has_no_foot_to_place(lost):
    with pytest.raises(HexapodError, match="leg LF has lost"):
        LegKinematics.from_robot(ROBOT, "LF", WHOLE.without(lost))


def test_an_unknown_leg_is_answered_with_the_known_ones():
    with pytest.raises(HexapodError, match="no leg 'XX'.*LF, LM"):
        LegKinematics.from_robot(ROBOT, "XX")


@pytest.mark.parametrize("locks", ["coxa", "femur", "tibia", "coxa femur", "coxa tibia", "femur tibia"])
@pytest.mark.parametrize("target", [[0.13, 0.03, -0.1], [0.11, -0.02, -0.13], [0.17, 0.0, -0.06]])
def test_nearest_with_locked_joints_is_the_nearest(locks, target):
    morphology, locks = WHOLE, locks.split()
    held = {"coxa": 0.15, "femur": 0.35, "tibia": -0.25}
    for name in locks:
        morphology = morphology.locked(f"LF.{name}", held[name])
    leg = LegKinematics.from_robot(ROBOT, "LF", morphology)
    found, miss = leg.nearest(target)
    assert all(found[k] == held[name] for k, name in enumerate(held) if name in locks)
    # A free search from many starts finds nothing nearer.
    rng = np.random.default_rng(1)
    best = min(
        minimize(lambda q: np.sum((leg.forward(q) - target) ** 2), start, method="BFGS", tol=1e-14).fun
        for start in rng.uniform(leg.lower, leg.upper, (12, 3))
    )
    assert miss <= np.sqrt(best) + 1e-6
    if miss > 1e-6:
        with pytest.raises(ReachError, match="leg LF.*locked"):
            leg.inverse(target)


def test_inverse_with_a_locked_joint_meets_targets_it_can_meet():
    leg = LegKinematics.from_robot(ROBOT, "LF", WHOLE.locked("LF.femur", 0.2))
    q = np.array([0.3, 0.2, -0.4])
    assert leg.inverse(leg.forward(q)) == pytest.approx(q, abs=1e-9)


@pytest.mark.parametrize("free", [(1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_rates_are_the_derivatives_of_the_angles(free):
    lengths, held, knee = (0.045, 0.077, 0.123), (0.1, 0.2, -0.3), (1.0, -1.0)
    target, rate, dt = np.array([0.12, 0.03, -0.11]), np.array([0.2, -0.1, 0.15]), 1e-6
    ahead = np.array(place_foot(target + dt * rate, rate, lengths, free, held, knee)[0])
    behind = np.array(place_foot(target - dt * rate, rate, lengths, free, held, knee)[0])
    rates = place_foot(target, rate, lengths, free, held, knee)[1]
    # Rates near a stretched leg are damped: a relative 1e-6 / sin(knee)^2 away from it.
    assert rates == pytest.approx((ahead - behind) / (2 * dt), rel=1e-5, abs=1e-6)


def test_rates_stay_bounded_when_the_leg_stretches():
    lengths = (0.045, 0.077, 0.123)
    for reach in (0.2, 0.2 + 1e-12, 0.25):
        target, rate = (0.045 + reach, 0.0, 0.0), (0.1, 0.0, 0.1)
        rates = place_foot(target, rate, lengths, (1, 1, 1), (0.0, 0.0, 0.0), (1.0, -1.0))[1]
        assert np.isfinite(rates).all() and np.abs(rates).max() < 0.1 / (1e-3 * 0.077) * 2
