"""What the gait changes on rough and sloping ground, and that it changes nothing on smooth level ground; the tilt
reflex is relative to the slope under the robot, where a fall is still a fall.
"""

import copy
import math
from itertools import combinations

import numpy as np
import pytest
from support.guarded_walk import MujocoWalk, steps
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.ground import LASTING, MAX_SLOPE, GroundAdaptation, SlopeReference
from hexapod_dynamics.gait.limits import MOST_SHIFT, PERIODS, CommandLimits, Conditions
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import Truth

SPEED, DT, PERIOD = 0.077, 0.02, 1.2
STILL = 0.0, 0.0, 0.0
LOST = {"whole": (), "LM": ("LM",), "LF+RM": ("LF", "RM"), "LF+LR+RM": ("LF", "LR", "RM")}


def felt(ground, cycles, attitude):
    """Give so many cycles of attitudes (roll, pitch, heading) [deg] of the phase and of the cycle's number."""
    for tick in range(round(cycles * PERIOD / DT)):
        cycle, phase = divmod(tick * DT / PERIOD, 1.0)
        roll, pitch, heading = (math.radians(angle) for angle in attitude(phase, cycle))
        ground.update(DT, phase, complex(pitch, roll), 0j, heading, walks=True, tilted=False, twist=STILL)
    return ground


def test_what_repeats_is_not_rough_and_what_does_not_is():
    def rocks(phase, _cycle):
        return 5.0 * math.sin(math.tau * phase), 3.0 * math.cos(math.tau * phase), 0.5

    assert felt(GroundAdaptation(), 5.0, rocks).roughness < 1e-9
    drawn = np.random.default_rng(1).normal(0.0, 3.0, (20, 2))
    ground = felt(GroundAdaptation(), 5.0, lambda phase, cycle: (*drawn[int(2 * cycle + 2 * phase)], 0.0))
    assert ground.rough and ground.share == 1.0 and ground.roughness > math.radians(2.0)
    # It stays careful for a while, then the feet are lifted as before.
    felt(ground, 5.0, rocks)
    assert ground.rough
    felt(ground, LASTING / PERIOD, rocks)
    assert not ground.rough and ground.share < 1.0


def test_a_foot_that_runs_against_an_edge_turns_the_robot():
    ground = felt(GroundAdaptation(), 5.0, lambda _phase, cycle: (0.0, 0.0, 8.0 if cycle >= 3 else 0.0))
    assert ground.rough
    assert not felt(GroundAdaptation(), 5.0, lambda _phase, cycle: (0.0, 0.0, 0.2 * cycle)).rough


def gets_going(_phase, cycle):
    return (12.0, 5.0, 0.0) if cycle == 0 else (0.0, 0.0, 0.0)


def test_the_cycle_in_which_a_rowing_body_gets_going_is_compared_with_none():
    for rows in (False, True):
        ground = GroundAdaptation()
        ground.settles = rows
        ground.update(DT, 0.0, 0j, 0j, 0.0, walks=False, tilted=False, twist=STILL)
        assert felt(ground, 3.0, gets_going).rough != rows


def test_the_first_cycle_of_a_new_plan_is_compared_with_none_and_later_ones_are():
    ground = felt(GroundAdaptation(), 3.0, lambda *_: (0.0, 0.0, 0.0))
    ground.change_plan()
    for _ in range(50):  # it stands up, and shifts over its feet
        ground.update(DT, 0.0, 0.1j, 0j, 0.0, walks=False, tilted=False, twist=STILL)
    assert not felt(ground, 3.0, gets_going).rough
    assert felt(ground, 1.0, lambda *_: (5.0, 0.0, 0.0)).rough
    # The plan is no longer new: a stop and a start cost no cycle.
    felt(ground, 2.0 * LASTING / PERIOD, lambda *_: (0.0, 0.0, 0.0))
    assert not ground.rough
    ground.update(DT, 0.0, 0j, 0j, 0.0, walks=False, tilted=False, twist=STILL)
    assert felt(ground, 2.0, gets_going).rough


def test_what_a_lost_leg_explains_is_not_rough_ground():
    drawn = np.random.default_rng(1).normal(0.0, 3.0, (40, 2))

    def shakes(phase, cycle):
        return *drawn[int(2 * cycle + 2 * phase)], 0.0

    for cycles, rough in ((4.0, False), (12.0, True)):
        ground = felt(GroundAdaptation(), cycles, shakes)
        assert ground.rough
        ground.change_plan()
        assert ground.rough == rough


def test_a_body_that_tips_does_not_raise_its_own_limit():
    ground = felt(GroundAdaptation(), 4.0, lambda *_: (0.0, 0.0, 0.0))
    for tick in range(30):
        ground.update(DT, 0.02 * tick % 1.0, math.radians(12.0) * 1j, 0j, 0.0, walks=True, tilted=True, twist=STILL)
    assert ground.rough and ground.share > 0.0 and ground.leeway == 0.0


def test_the_body_is_shifted_uphill_as_far_as_the_legs_reach():
    ground = GroundAdaptation()
    ground.height, ground.most_shift = 0.1, 1.0
    felt(ground, 10.0, lambda *_: (10.0, -15.0, 0.0))
    assert ground.shift.real == pytest.approx(0.1 * math.tan(math.radians(15.0)), rel=1e-3)
    assert ground.shift.imag == pytest.approx(0.1 * math.tan(math.radians(10.0)), rel=1e-3)
    ground.most_shift = 0.01
    felt(ground, 10.0, lambda *_: (10.0, -15.0, 0.0))
    assert abs(ground.shift) == pytest.approx(0.01, rel=1e-3)
    felt(ground, 10.0, lambda *_: (2.0, -2.0, 0.0))
    assert abs(ground.shift) < 1e-4  # an IMU may be askew by so much


@pytest.mark.parametrize("lost", [(), ("LM",)])
def test_starts_stops_turns_and_changes_of_command_on_level_ground_feel_nothing(lost):
    morphology = WHOLE.without(*lost)
    truth = Truth.parse("servos=real,seed=3,friction=0.7")
    walk = MujocoWalk(AdaptiveGait().bind(ROBOT, morphology), truth, morphology)
    ground, felt_angles = walk.gait.terrain.ground, [0.0]
    for command in ((SPEED, 0.0, 0.0), (0.05, 0.0, 0.5), (0.0, 0.0, 0.0), (0.0, 0.05, 0.0), (0.0, 0.0, -1.0)):
        walk.gait.command(*command)
        walk.run(3.0, lambda: felt_angles.append(math.inf if ground.rough else ground.roughness))
        assert max(felt_angles) < math.radians(0.4), command


def test_a_body_that_is_told_to_lean_on_level_ground_feels_nothing():
    walk, rough = MujocoWalk(AdaptiveGait().bind(ROBOT), Truth.parse("servos=real,seed=5,friction=0.7")), []
    walk.run(0.1)
    walk.gait.command(SPEED, 0.0, 0.0)
    for seconds, lean in (
        (4.0, (0.0,) * 6),
        (3.0, (0.02, 0.01, 0.0, 0.1, 0.05, 0.0)),
        (4.0, (0.0, 0.0, 0.0, -0.1, 0.0, 0.2)),
    ):
        walk.gait.lean(lean)
        walk.run(seconds, lambda: rough.append(walk.gait.terrain.ground.rough))
        assert not any(rough), lean


def test_a_command_of_zero_is_not_said_to_be_scaled():
    gait = gait_of("LF+RM")
    gait.command(SPEED, 0.0, 0.0)
    for tick in range(300):
        gait.terrain.ground.assume_rough()
        gait.sense(0.0, 0.0, 0.0)
        gait.command(SPEED if tick < 100 else 0.0, 0.0, 0.0)
        gait.step(DT)
    assert gait.terrain.ground.rough and gait.doing == "standing" and "why" not in gait.report()


def test_an_attitude_that_is_not_a_number_changes_nothing():
    ground = felt(GroundAdaptation(), 3.0, lambda *_: (10.0, 5.0, 0.0))
    before = copy.deepcopy(ground)
    ground.update(DT, 0.5, complex(0.0, math.nan), 0j, 0.0, walks=True, tilted=False, twist=STILL)
    assert all(getattr(ground, name) == getattr(before, name) for name in ground.__slots__)


def gait_of(lost, **settings):
    """A gait of a robot that stands on level ground without some of its legs."""
    gait = AdaptiveGait(**settings).bind(ROBOT, WHOLE.without(*LOST[lost]))
    gait.sense(0.0, 0.0, 0.0)
    return gait


@pytest.mark.parametrize("lost", LOST)
def test_on_smooth_level_ground_it_walks_exactly_as_without_an_imu(lost):
    adapting = gait_of(lost, yaw_hold=False)
    plain = AdaptiveGait(yaw_hold=False).bind(ROBOT, WHOLE.without(*LOST[lost]))
    for gait in (adapting, plain):
        gait.command(SPEED, 0.01, 0.05)
    for tick in range(250):
        # The body rocks with the gait, and the IMU is askew by two degrees.
        angle = math.tau * plain.phase
        adapting.sense(0.034 + 0.03 * math.sin(angle), 0.02 * math.cos(angle), 0.05 * DT * tick)
        assert np.array_equal(adapting.step(DT)[0], plain.step(DT)[0])
    assert plain.walking and "why" not in adapting.report()


@pytest.mark.parametrize("lost", LOST)
def test_on_rough_ground_feet_are_lifted_by_40_mm_and_the_servos_follow(lost):
    gait = gait_of(lost)
    gait.command(SPEED, 0.0, 0.0)
    random = np.random.default_rng(2)
    highest, roll = 0.0, 0.0
    for tick in range(300):
        roll = random.uniform(-0.1, 0.1) if tick % 30 == 0 else roll
        gait.sense(roll, 0.0, 0.0)
        gait.step(DT)
        highest = max(highest, float(gait.data.feet["place"][:, 2].max())) if tick > 150 else 0.0
    assert gait.doing == "walking" and highest == pytest.approx(0.04, abs=0.002)
    assert gait.report()["lift of the feet [mm]"] == pytest.approx(40.0)
    legs = len(WHOLE.without(*LOST[lost]).parameters()) and 6 - len(LOST[lost])
    if legs == 4:
        assert gait.data.plan.period > gait.plan.period
    assert gait.twist[0] > 0.6 * SPEED


def test_a_rowing_robot_is_as_fast_as_before_once_the_ground_is_smooth_again():
    """Its limits are those of the lift that it is to have, not of the one on the way there."""
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("LF", "LR", "RF"))
    gait.command(SPEED, 0.0, 0.0)
    slowest = SPEED
    for tick in range(1200):
        if tick == 200:
            before = float(gait.twist[0])
            gait.terrain.ground.assume_rough()
        gait.sense(0.0, 0.0, 0.0)
        gait.step(DT)
        if gait.terrain.ground.rough and gait.report()["lift of the feet [mm]"] > 39.9:
            slowest, period = min(slowest, float(gait.twist[0])), gait.period
    assert gait.plan.kind == "row" and gait.doing == "walking"
    assert period > gait.plan.period and slowest > 0.6 * SPEED  # the servos follow the higher lift
    assert not gait.terrain.ground.rough and gait.report()["lift of the feet [mm]"] == pytest.approx(20.0)
    assert float(gait.twist[0]) == pytest.approx(before, rel=0.01)


@pytest.mark.parametrize("roll, pitch", [(0.0, -20.0), (0.0, 20.0), (20.0, 0.0)])
def test_on_steep_slopes_commands_are_scaled_with_a_reason(roll, pitch):
    attitude = math.radians(roll), math.radians(pitch), 0.0
    gait, whole = AdaptiveGait().bind(ROBOT, WHOLE.without("LF", "LR")), AdaptiveGait().bind(ROBOT)
    for each in (gait, whole):
        each.sense(*attitude)  # it stands there
        each.command(SPEED, 0.0, 0.0)
        steps(each, 200, attitude)
    assert 0.4 * SPEED < gait.twist[0] < 0.97 * SPEED
    assert "slope of 20 degrees" in gait.report()["why"]
    assert gait.terrain.ground.most_shift <= MOST_SHIFT
    assert whole.twist[0] == pytest.approx(SPEED) and "why" not in whole.report()
    uphill = np.array([-math.tan(attitude[1]), math.tan(attitude[0])])
    shift = whole.data.state.body_offset[:2]
    assert shift @ uphill / np.linalg.norm(uphill) > 0.025


@pytest.mark.parametrize(
    "lost, degrees, command, says",
    [
        ("LF+LR+RM", 12.0, (0.0, 0.04, 0.0), True),
        ("LF+LR+RM", 12.0, (0.0, 0.0, 0.25), True),
        ("LF+LR+RM", 12.0, (SPEED, 0.0, 0.0), False),
        ("LF+LR+RM", 4.0, (0.0, 0.04, 0.0), False),
        ("LF+RM", 12.0, (0.0, 0.04, 0.0), False),
    ],
)
def test_a_rowing_robot_says_how_it_slides_on_a_slope(lost, degrees, command, says):
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without(*LOST[lost]))
    gait.sense(math.radians(degrees), 0.0, 0.0)
    gait.command(*command)
    steps(gait, 100, (math.radians(degrees), 0.0, 0.0))
    assert ("slides on a slope of 12 degrees" in gait.report().get("why", "")) == says


@pytest.mark.parametrize("lost, degrees, high", [("LF+RM", 20.0, False), ("LF+RM", 8.0, True), ("LM", 20.0, True)])
def test_feet_are_lifted_higher_on_a_slope_only_where_the_margin_holds_so(lost, degrees, high):
    gait = gait_of(lost)
    limits = CommandLimits(ROBOT, gait.data)
    given = Conditions([gait.plan.period * share for share in PERIODS["high"]], True, 0.04)
    twist, drop = np.array([SPEED, 0.0, 0.0]), (-0.108 * math.tan(math.radians(degrees)), 0.0)
    *searching, found = limits.search_inclines(twist, given._replace(lift=0.02), 0.04, drop)
    assert set(searching) <= {None} and found.margin and found.high == high
    assert found.shift > 0.01
    given = given._replace(incline=found, lift=0.04 if high else 0.02)
    assert limits.find_possible_twist(twist, given)[0][0] > 0.9 * SPEED


@pytest.mark.parametrize("lost, settings", [("whole", {"pattern": "wave"}), ("LM", {"body_height": 0.06})])
def test_a_gait_that_cannot_step_40_mm_high_walks_on_on_rough_ground(lost, settings):
    gait = gait_of(lost, **settings)
    gait.command(SPEED, 0.0, 0.0)
    for _ in range(300):
        gait.terrain.ground.assume_rough()
        gait.sense(0.0, 0.0, 0.0)
        gait.step(DT)
    assert gait.twist[0] > 0.6 * SPEED and gait.report()["lift of the feet [mm]"] == pytest.approx(20.0)


def test_every_plan_with_legs_lost_steps_40_mm_high_and_keeps_its_speed():
    gait = AdaptiveGait(step_height=0.04).bind(ROBOT)
    for count in (1, 2, 3):
        for lost in combinations(ROBOT.leg_names, count):
            gait.set_morphology(WHOLE.without(*lost))
            gait.reset()
            followed = gait.command(SPEED, 0.0, 0.0)
            if gait.plan is None:
                continue
            assert gait.data.plan.lift == 0.04, lost
            assert followed[0] > 0.94 * SPEED, lost


@pytest.mark.parametrize(
    "rough, rate, sits_at",
    [(True, 100.0, 14.0), (True, 20.0, None), (False, 100.0, 15.2)],
    ids=["falls", "tilts", "level"],
)
def test_on_rough_ground_a_body_that_falls_sits_down_before_it_is_tilted_far(rough, rate, sits_at):
    """Lost legs: LF, RM. It walks, and tilts from 3 to 18 degrees, by `rate` [deg/s]."""
    gait = gait_of("LF+RM")
    gait.command(0.05, 0.0, 0.0)
    while gait.doing != "walking":
        gait.step(0.02)
    gait.terrain.ground.rough, gait.terrain.ground.leeway = rough, float(rough)
    tilt = 3.0
    while tilt < 18.0 and gait.doing == "walking":
        tilt += 0.02 * rate
        gait.sense(math.radians(tilt), 0.0, 0.0)
        gait.terrain.ground.rough = rough
        gait.step(0.02)
    assert (gait.doing == "sitting down") == (sits_at is not None)
    assert sits_at is None or tilt <= sits_at + 2.1


class SlopeWalk(MujocoWalk):
    """A walk on a slope of 10 degrees with the reflex and the fall detector fed at 50 Hz, as in the node `gait`, which
    stands for 1.5 s, and is then commanded; heading [deg]: direction in which gravity is turned.
    """

    def __init__(self, command, heading=0.0):
        truth = Truth(slope=10.0, slope_yaw=heading, friction=0.9)
        super().__init__(AdaptiveGait().bind(ROBOT), truth)
        self.falls, self.did, self.fell = FallDetector(), set(), False
        self.run(1.0, sense=False)
        self.run(0.5)
        self.gait.command(*command)

    def run(self, seconds, each=lambda: None, *, sense=True):
        def watch():
            sample = self.physics.time, self.physics.rotation, self.physics.specific_force, self.gait.ground_normal
            self.fell = self.falls.update(*sample) or self.fell
            self.did.add(self.gait.doing)
            each()

        super().run(seconds, watch, sense=sense)


@pytest.mark.parametrize("heading", [0.0, 90.0, 180.0])
def test_a_whole_robot_walks_on_a_slope_of_ten_degrees(heading):
    walk = SlopeWalk((SPEED, 0.0, 0.0), heading)
    walk.run(2.0)
    start = walk.physics.position.copy()
    walk.run(5.2)
    way = float(np.linalg.norm(walk.physics.position - start))
    assert "sitting down" not in walk.did and not walk.fell
    assert way > 0.6 * 5.2 * SPEED


def test_it_walks_from_level_ground_onto_a_slope_and_back_while_it_turns():
    """The tilt of a body that climbs grows by 3 degrees a second; the slope does not turn with the robot."""
    slope, yaw, worst = SlopeReference(), 0.0, 0.0
    for k in range(1500):
        t = 0.02 * k
        steep = math.radians(10.0) * min(1.0, max(0.0, (t - 2.0) / 3.3)) * min(1.0, max(0.0, (28.0 - t) / 3.3))
        yaw += 0.02 * 0.3
        slope.sense(math.sin(yaw) * steep, math.cos(yaw) * steep, yaw)
        worst = max(worst, slope.tilt)
        slope.learn(0.02, sits=False)
    assert math.degrees(worst) < 7.0


def test_a_robot_that_turns_on_a_slope_stays_level_with_it():
    walk, tilts = SlopeWalk((0.0, 0.0, 0.5)), []
    walk.run(8.0, lambda: tilts.append(walk.gait.terrain.slope.tilt))
    assert abs(roll_pitch_yaw(walk.physics.rotation)[2]) > 1.5
    assert math.degrees(max(tilts)) < 3.0 and "sitting down" not in walk.did


def test_two_legs_lost_on_a_slope_make_it_sit_down():
    walk = SlopeWalk((SPEED, 0.0, 0.0))
    walk.run(3.0)
    walk.physics.set_morphology(WHOLE.without("LF", "RF"))
    walk.run(3.0)
    assert "sitting down" in walk.did


def test_a_fall_on_a_slope_is_found():
    walk = SlopeWalk((SPEED, 0.0, 0.0))
    walk.run(3.0)
    assert not walk.fell
    walk.physics.push([0.0, 25.0, 40.0, 12.0, 0.0, 0.0])  # tipped over by hand
    walk.run(0.6)
    walk.physics.push(np.zeros(6))
    walk.run(1.5)
    assert walk.fell and "sitting down" in walk.did


def test_a_robot_that_lies_on_its_side_never_counts_as_level():
    slope = SlopeReference()
    slope.sense(math.radians(35.0), 0.0, 0.0)
    for _ in range(3000):
        slope.learn(0.02, sits=True)
    assert slope.tilt == pytest.approx(math.radians(35.0) - MAX_SLOPE)


def test_an_attitude_that_is_none_leaves_the_slope_as_it_was():
    slope = SlopeReference()
    slope.sense(0.05, 0.0, 0.0)
    slope.learn(2.0, sits=False)
    before = slope.slope
    slope.sense(math.nan, 0.0, 0.0)
    slope.learn(2.0, sits=False)
    slope.sense(0.05, 0.0, 0.0)
    assert slope.slope == before
    assert slope.tilt < 0.05
