"""A robot that makes no way feels it, lifts its feet higher, stops at last and says why."""

import math

import numpy as np
import pytest
from support.guarded_walk import steps
from support.walks import walk_on

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.ground import AS_FELT, BACK, BACK_SPEED, CLIMB, RAISE, SLOW, STOP, ObstacleResponse, Sample
from hexapod_dynamics.robot import Morphology, Robot

SPEED, PERIOD, DT = 0.077, 1.2, 0.02


def walk_against(
    response, seconds, *, thrown_back, whole=True, bias=0.0, planned=lambda _: 0.0, climbing=SPEED, command=SPEED
):
    """Let a response feel a body that walks, thrown back twice a cycle by `thrown_back` [m/s]; return what it did.

    climbing: speed [m/s] that is possible while it climbs; command: that which is commanded.
    """
    did, before = [], 0.0
    for k in range(round(seconds / DT)):
        t = k * DT
        speed = planned(t) - thrown_back * max(0.0, math.sin(4.0 * math.pi * t / PERIOD)) ** 3
        force = (speed - before) / DT + bias
        before = speed
        twist, phase = min(command, climbing if response.does == CLIMB else SPEED), t / PERIOD % 1.0
        sample = Sample(DT, force, SPEED + planned(t), twist, PERIOD, phase, walks=True, slow=command < SLOW)
        response.update(sample, raised=False, whole=whole)
        if not did or did[-1] != response.does:
            did.append(response.does)
    return did


ANEW = [BACK, CLIMB] * 2  # steps back and approaches it anew


@pytest.mark.parametrize("seconds, thrown_back, whole", [(60.0, 0.3, True), (120.0, 0.45, False)])
def test_a_body_that_is_thrown_back_tries_higher_steps_then_steps_back_and_stops_until_another_direction(
    seconds, thrown_back, whole
):
    """With legs lost it tries for longer."""
    response = ObstacleResponse()
    assert walk_against(response, seconds, thrown_back=thrown_back, whole=whole)[1:] == [RAISE, CLIMB, *ANEW, STOP]
    response.process_command(0.05, 0.01)
    assert response.does == STOP
    response.process_command(0.0, 0.05)
    assert response.does != STOP


def test_it_steps_back_against_the_command_to_one_side_and_the_other_and_no_further_when_commanded_otherwise():
    response, ways = ObstacleResponse(), []
    while response.backs < 2:
        walk_against(response, 1.0, thrown_back=0.3)
        if response.does == BACK and len(ways) < response.backs:
            ways.append(response.back_twist)
    (x, y, turn), (_, _, other) = ways
    assert x == pytest.approx(-BACK_SPEED) and y == 0.0 and turn == -other != 0.0
    response.process_command(SPEED, 0.0)
    assert response.does == BACK
    response.process_command(0.0, 0.0)
    assert response.does == AS_FELT


def test_a_slow_command_is_felt_down_to_3_cm_a_second_and_only_where_it_is_set_back_for_longer():
    acts = {}
    for command in (0.06, 0.04, 0.02):
        response = ObstacleResponse()
        acts[command] = [walk_against(response, PERIOD, thrown_back=0.3, command=command)[-1] for _ in range(8)]
    cycles = {command: did.index(RAISE) if RAISE in did else None for command, did in acts.items()}
    assert cycles[0.02] is None and cycles[0.06] < cycles[0.04]


def test_attempts_too_slow_to_be_felt_end_after_three():
    did = walk_against(ObstacleResponse(), 250.0, thrown_back=0.45, whole=False, climbing=0.03)
    anew = [RAISE, BACK, CLIMB, AS_FELT] * 2
    assert did[1:] == [RAISE, CLIMB, AS_FELT, RAISE, CLIMB, AS_FELT, RAISE, CLIMB, AS_FELT, *anew, RAISE, STOP]


def test_planned_sway_and_a_biased_accelerometer_are_no_obstacle():
    response = ObstacleResponse()
    sway = walk_against(
        response, 60.0, thrown_back=0.0, bias=0.1, planned=lambda t: 0.2 * math.sin(2.0 * math.pi * t / PERIOD)
    )
    assert len(sway) == 1
    assert response.progress.setback < 0.1


def test_a_body_that_is_thrown_back_now_and_then_goes_on():
    response = ObstacleResponse()
    for _ in range(10):
        walk_against(response, 2.5, thrown_back=0.3)
        walk_against(response, 4.0, thrown_back=0.0)
    assert response.does not in (CLIMB, STOP)


@pytest.mark.parametrize("whole", [True, False])
def test_an_obstacle_that_lets_the_body_go_for_a_moment_is_felt(whole):
    response, did = ObstacleResponse(), []
    for _ in range(6):
        for cycles, thrown_back in ((2.0, 0.45), (1.0, 0.0)):
            did += walk_against(response, cycles * PERIOD, thrown_back=thrown_back, whole=whole)
    assert RAISE in did


def test_a_body_that_stalls_and_catches_up_at_any_time_is_no_obstacle():
    """As set-points that come late do, on a busy computer: the speed errs by more than at an obstacle."""
    response, random, errors, before = ObstacleResponse(), np.random.default_rng(1), np.zeros(3000), 0.0
    for start in range(0, len(errors) - 11, 11):
        moves = start + int(random.integers(2, 9))
        errors[start:moves] = -SPEED
        errors[moves : start + 11] = SPEED * (moves - start) / (start + 11 - moves)
    assert np.std(errors) > SPEED
    for k, error in enumerate(errors):
        force, phase = (error - before) / DT, k * DT / PERIOD % 1.0
        before = error
        sample = Sample(DT, force, SPEED, SPEED, PERIOD, phase, walks=True)
        response.update(sample, raised=False, whole=True)
        assert response.does == AS_FELT


def test_forces_that_are_not_numbers_change_nothing():
    response = ObstacleResponse()
    walk_against(response, 3.0, thrown_back=0.0, bias=math.nan)
    assert response.progress.setback == 0.0
    assert not response.progress.hindered


def walk_ahead(ground, lost, seed):
    """Return a walk straight ahead on a ground, of a robot that knows which legs are lost, and where it begins [m]."""
    walk = walk_on(ground, lost, seed, AdaptiveGait())
    walk.twist[0] = SPEED
    return walk, walk.physics.position[0]


def test_on_mujoco_a_rowing_body_rises_over_blocks_of_40_mm():
    walk, start = walk_ahead("blocks:0.04", ("LF", "LR", "RM"), 5000)
    walk.run(20.0, until=lambda walk: walk.physics.position[0] - start > 0.6)  # the first ten to feel them
    assert walk.physics.position[0] - start > 0.6  # 0.05 m in 60 s where it rises as on level ground


def test_on_mujoco_it_steps_onto_60_mm():
    walk, start = walk_ahead("steps:0.06", (), 5)
    walk.run(60.0, until=lambda walk: walk.physics.position[0] - start > 0.7)
    assert walk.physics.position[0] - start > 0.7  # the edge that stops it otherwise is at 0.5 m


def test_on_mujoco_a_robot_that_tilts_on_blocks_again_and_again_gets_up_more_often_than_on_level_ground():
    walk, _ = walk_ahead("blocks:0.04", ("LF", "RM"), 5000)
    gait, reflexes = walk.gait, []
    for rough in (False, True):
        gait.data.state.reflexes, gait.data.state.stay_down, gait.terrain.ground.rough = 0.0, 0.0, rough
        walk.step()
        for count in range(1, 10):
            gait.data.state.reflexes, gait.data.state.stay_down = count, 0.0
            gait.step(0.0)
            if gait.data.state.stay_down:
                reflexes.append(count)
                break
    assert reflexes == [4, 7]


def stepping_back(lost=("LM",)):
    """A gait that walks by a command straight ahead and has begun to step back from an obstacle; its heading is 0."""
    gait = AdaptiveGait().bind(Robot.jethexa(), Morphology.whole(Robot.jethexa()).without(*lost))
    gait.sense(0.0, 0.0, 0.0)
    gait.command(SPEED, 0.0, 0.0)
    while gait.doing != "walking":
        gait.step(DT)
    gait.terrain.obstacle.does, gait.terrain.obstacle.backs, gait.terrain.obstacle._stopped = BACK, 1, SPEED
    gait.limiter.follow_again()
    return gait


def test_a_robot_that_steps_back_goes_on_when_its_imu_falls_silent():
    gait = stepping_back()
    steps(gait, round(1.0 / DT))
    assert gait.twist[0] < 0.0
    steps(gait, round(3.0 / DT))
    assert gait.terrain.obstacle.does == CLIMB and gait.twist[0] > 0.0


def test_behind_the_obstacle_it_turns_back_by_what_it_has_turned_and_not_by_what_it_was_told_to_turn():
    gait = stepping_back()
    while gait.terrain.obstacle.does == BACK:
        gait.step(DT)
    turned = gait.data.state.yaw_reference
    assert turned > 0.15
    told = turned + 1.0  # by commands, since
    gait.data.state.yaw_reference = gait.data.state.yaw = told
    for _ in range(round(15.0 / DT)):
        gait.sense(0.0, 0.0, told)
        gait.sense_force(0.0, 0.0, 9.81)
        gait.step(DT)
        if gait.terrain.obstacle.does == AS_FELT:
            break
    assert gait.terrain.obstacle.does == AS_FELT
    assert gait.data.state.yaw_reference - told == pytest.approx(-turned, abs=0.06)


def test_a_command_that_ends_the_way_back_ends_its_turn_too():
    gait = stepping_back()
    steps(gait, round(1.0 / DT))
    gait.command(0.0, 0.0, 0.0)
    assert gait.terrain.obstacle.turned == 0.0 and gait.terrain.obstacle.does == AS_FELT


def test_a_command_that_is_refused_does_not_end_the_stop_at_an_obstacle():
    gait = stepping_back()
    gait.terrain.obstacle.does = STOP
    with pytest.raises(HexapodError, match="finite"):
        gait.command(-math.inf, 0.0, 0.0)
    assert gait.terrain.obstacle.does == STOP
