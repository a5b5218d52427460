"""Commands that are too fast are followed as fast as the plan allows, and set-points are no faster than the servos."""

from pathlib import Path

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot

LOST = {"whole": (), "RM": ("RM",), "LF+RM": ("LF", "RM"), "LF+LR+RM": ("LF", "LR", "RM")}
DIRECTIONS = [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0), (-1.0, 0.3, -2.0)]


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_larger_command_is_followed_at_the_limit(lost, direction):
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without(*LOST[lost]))
    sizes = [gait.limit_command(*(size * np.array(direction))) for size in (3.0, 25.0, 1e3, 1e6, 1e300)]
    limit = np.array(sizes)
    assert np.abs(limit[0]).max() > 0.05
    np.testing.assert_allclose(limit, np.tile(limit[0], (5, 1)), rtol=0.03)
    np.testing.assert_allclose(np.cross(limit[0], direction), 0.0, atol=1e-9)
    for share in (0.5, 0.9):
        np.testing.assert_allclose(gait.limit_command(*(share * limit[0])), share * limit[0])


def test_a_question_for_the_limit_changes_nothing():
    gait = AdaptiveGait().bind(ROBOT)
    gait.command(0.05, 0.0, 0.0)
    room = gait.terrain.shift_room
    gait.limit_command(0.17, 0.0, 0.0)
    assert gait.terrain.shift_room == room > 0.0


@pytest.mark.parametrize("lost", ["whole", "RM"])
@pytest.mark.parametrize("slope", [8.0, 15.0])
def test_on_a_slope_a_command_that_is_too_fast_is_followed_as_the_fastest_of_level_ground(lost, slope):
    morphology, found = WHOLE.without(*LOST[lost]), []
    fastest = AdaptiveGait().bind(ROBOT, morphology).limit_command(1e3, 0.0, 0.0)[0]
    for speed in (fastest, 0.5, 1e6):
        gait = AdaptiveGait().bind(ROBOT, morphology)
        for tick in range(300):
            gait.sense(0.0, np.radians(slope), 0.0)
            gait.command(speed if tick > 10 else 0.0, 0.0, 0.0)
            gait.step(0.02)
        found.append((gait.commanded_twist[0], gait.limiter.incline.shift, gait.limiter.incline.share))
    assert found[0][0] > 0.02
    np.testing.assert_allclose(found, np.tile(found[0], (3, 1)), rtol=0.03)


def test_a_copy_that_is_made_while_a_slope_is_considered_finds_the_same_limits():
    gait, twin = AdaptiveGait().bind(ROBOT, WHOLE.without("RM")), None
    for tick in range(400):
        for one in (gait,) if twin is None else (gait, twin):
            one.sense(0.0, np.radians(15.0), 0.0)
            one.command(0.1 if tick > 10 else 0.0, 0.0, 0.0)
            one.step(0.02)
        if twin is None and gait.limiter._search is not None:
            twin = gait.copy()
    assert gait.limiter.incline.shift > 0.0
    assert twin.limiter.incline.shift == pytest.approx(gait.limiter.incline.shift, abs=5e-3)
    assert twin.commanded_twist[0] == pytest.approx(gait.commanded_twist[0], rel=0.05)


@pytest.mark.parametrize(
    "name, lost", [*(("jethexa", lost) for lost in LOST), ("phantomx", "whole"), ("hexapod_sts3215", "whole")]
)
def test_no_set_point_is_clamped_in_steady_walking_at_any_command(name, lost):
    """0.5 m/s and 1 rad/s are the defaults of teleop_twist_keyboard."""
    robot = Robot.load(Path(__file__).parents[2] / "config" / f"{name}.yaml")
    morphology = Morphology.whole(robot).without(*LOST[lost])
    for command in ((0.5, 0.0, 0.0), (-0.5, 0.0, 0.0), (0.0, 0.0, 1.0), (0.5, 0.0, 1.0), (0.3, -0.3, -0.5)):
        gait, guard = AdaptiveGait().bind(robot, morphology), PoseGuard.from_robot(robot)
        guard.synchronise_setpoint(np.zeros(18, np.int64), gait.position.copy(), np.ones(18, bool))
        gait.command(*command)
        for _ in range(500):
            guard.update(gait.step(0.02)[0], np.zeros(18), 0.02)
        assert gait.walking and set(guard.clamped.values()) == {0}, (command, guard.clamped)
