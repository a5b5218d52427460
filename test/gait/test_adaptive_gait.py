"""The adaptive gait: plans for the legs that are left, walked on Coulomb ground; changes while it walks."""

import itertools
import math

import numpy as np
import pytest
from support.guarded_walk import steps
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.errors import HexapodError, UnboundGaitError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.planning.library import PlanLibrary, find_library_file
from hexapod_dynamics.gait.terrain import WeighingSway
from hexapod_dynamics.gait_kinds import SWAY_PERIOD
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.se3 import rotation_from_vector
from hexapod_dynamics.simulation import Ground, Simulator, Truth

LIBRARY = PlanLibrary.load(ROBOT, find_library_file(ROBOT, "plans")[0])
SPEED, TICK = 0.0769, 0.02


def walking():
    """Return a gait that has walked for a second, level."""
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT)
    gait.sense(0.0, 0.0, 0.0)
    gait.command(SPEED, 0.0, 0.0)
    steps(gait, 50)
    return gait


def simulator(morphology=None, command=(SPEED, 0.0, 0.0)):
    """A robot that stands and has been told what it has lost, and to walk."""
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT, morphology)
    gait.command(*command)
    options = {"timestep": 2e-3, "command_period": 0.02, "ground": Ground(friction=0.6)}
    return Simulator(ROBOT, morphology, gait=gait, **options)


def walked(sim, cycles):
    """Speed (forward, left) [m/s] and turn [deg] over whole cycles, in which the sway adds nothing; largest tilt."""
    seconds = 0.02 * round(cycles * sim.gait.period / 0.02)
    start, rotation = sim.position.copy(), sim.rotation.copy()
    angles = np.degrees(sim.run(seconds, log_every=5).euler_zyx)
    way = rotation.T @ (sim.position - start) / seconds
    return way[:2], angles[-1, 0] - angles[0, 0], np.abs(angles[:, 1:]).max()


def test_a_whole_robot_walks_as_fast_as_commanded():
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT)
    assert gait.limit_command(0.17, 0.0, 0.0)[0] == 0.17
    for speed in (SPEED, 0.17):
        sim = simulator(command=(speed, 0.0, 0.0))
        sim.run(2.0)
        way, turn, tilt = walked(sim, 3)
        assert way[0] == pytest.approx(speed, rel=0.02)
        assert abs(turn) < 1.0 and tilt < 1.0


@pytest.mark.parametrize(
    "hurt, speed, least, most_turn, most_tilt",
    [
        (WHOLE.without("LM"), SPEED, 0.96, 3.0, 1.5),
        (WHOLE.without("RF"), SPEED, 0.96, 3.0, 1.5),
        (WHOLE.without("LM", "RM"), SPEED, 0.95, 3.0, 2.5),
        (WHOLE.without("LF", "RF"), SPEED, 0.95, 3.0, 2.5),
        (WHOLE.without("RF", "RM", "RR"), SPEED, 0.95, 3.0, 3.5),
        (WHOLE.without("LF", "RF"), 0.1, 0.95, 3.0, 2.5),
        (WHOLE.without("LM", "RF"), 0.1, 0.95, 3.0, 2.5),
        (WHOLE.without("LR", "RR"), 0.1, 0.95, 3.0, 2.5),
        (WHOLE.locked("RM.femur", 0.3), SPEED, 0.95, 2.0, 2.0),  # a leg with a bad joint is held up
        (WHOLE.limp("LF.tibia"), SPEED, 0.95, 2.0, 2.0),
    ],
    ids=lambda value: value.describe() if isinstance(value, Morphology) else None,
)
def test_it_walks_straight_without_legs_as_fast_as_commanded(hurt, speed, least, most_turn, most_tilt):
    sim = simulator(hurt, (speed, 0.0, 0.0))
    sim.run(4.0)
    way, turn, tilt = walked(sim, 4)
    assert least * speed <= way[0] <= 1.05 * speed and abs(way[1]) < 0.005
    assert abs(turn) < most_turn and tilt < most_tilt


TILTED = Truth(mass=0.93, payload=0.15, payload_x=-0.015, payload_y=0.01, stiffness=0.85, friction=0.5, slope=2.0)
# A payload and a slope tip the robot to one side.
TIPPED = Truth(
    mass=1.089,
    payload=0.102,
    payload_x=0.019,
    payload_y=-0.017,
    stiffness=1.04,
    friction=0.65,
    slope=2.4,
    slope_yaw=62.8,
)


@pytest.mark.parametrize(
    "left, truth, least, most_beside, most_turn, most_tilt",
    [
        *(
            (left, TILTED, 0.93, 0.01, 4.0, 7.0) for left in ("LF RF", "LM RM", "LR RM", "LR RF")
        ),  # 2 of 7 are the slope
        ("LF LR RF", TIPPED, 0.95, math.inf, 3.0, math.inf),
    ],
)
def test_two_and_three_legs_row_it_on_with_its_belly_on_the_ground(
    left, truth, least, most_beside, most_turn, most_tilt
):
    lost = WHOLE.without(*(name for name in ROBOT.leg_names if name not in left.split()))
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT, lost)
    assert gait.command(SPEED, 0.0, 0.0)[0] == SPEED
    sim = Simulator(ROBOT, lost, gait=gait, timestep=2e-3, command_period=0.02, truth=truth)
    sim.run(4.0)
    way, turn, tilt = walked(sim, 4)
    assert way[0] >= least * SPEED and abs(way[1]) < most_beside
    assert abs(turn) < most_turn and tilt < most_tilt


@pytest.mark.parametrize("lost", ["LF", "LF+RF", "LM+LR+RM"])
def test_losing_legs_while_it_walks_flips_nothing_and_it_walks_on(lost):
    sim = simulator()
    sim.run(2.37)
    sim.set_morphology(WHOLE.without(*lost.split("+")))
    angles = np.degrees(sim.run(6.0, log_every=5).euler_zyx)
    assert np.abs(angles[:, 1:]).max() < 45.0
    way, _, _ = walked(sim, 2)
    assert way[0] >= 0.9 * SPEED


def test_a_standing_foot_does_not_move_over_the_ground_while_the_twist_changes():
    gait = AdaptiveGait(plans=LIBRARY, yaw_hold=False).bind(ROBOT, WHOLE.without("RM"))
    gait.command(0.08, 0.0, 0.0)
    place, heading, dt = np.zeros(2), 0.0, 0.01
    feet = gait.data.feet
    last = {}
    for k in range(600):
        if k == 200:
            gait.command(0.0, 0.06, 0.3)
        gait.step(dt)
        vx, vy, wz = gait.data.state.corrected
        c, s = math.cos(heading + 0.5 * wz * dt), math.sin(heading + 0.5 * wz * dt)
        place += dt * np.array([c * vx - s * vy, s * vx + c * vy])
        heading += wz * dt
        c, s = math.cos(heading), math.sin(heading)
        for i in np.flatnonzero(gait.data.legs["used"]):
            if feet["in_air"][i] == 0.0:
                x, y = feet["place"][i, :2]
                now = place + np.array([c * x - s * y, s * x + c * y])
                if i in last:
                    assert np.abs(now - last[i]).max() < 1e-5
                last[i] = now
            else:
                last.pop(i, None)


@pytest.mark.parametrize("first", [("LF", "LM", "LR", "RR"), ("LF", "LM", "LR", "RR", "RM")])
def test_a_robot_with_too_few_legs_says_so_and_stays_down_whatever_else_it_loses(first):
    gait = walking()
    for lost in (first, ("LF", "LM", "LR", "RR", "RM"), ("LF", "LM", "LR", "RR"), ("LF", "LM", "LR", "RF")):
        gait.set_morphology(WHOLE.without(*lost))
        steps(gait, 300)
        assert gait.plan is None and gait.doing == "sitting", lost
        assert np.all(gait.twist == 0.0) and "fewer than 3" in gait.report()["why"]
        with pytest.raises(HexapodError, match="fewer than 3"):
            gait.stand()
    gait.set_morphology(WHOLE.without("LF"))  # whose legs are put back
    steps(gait, 300)
    assert gait.doing == "walking"


@pytest.mark.parametrize("change", ["a leg is lost", "a leg is back", "another pattern", "it could not stand"])
def test_a_robot_that_was_told_to_sit_stays_down_until_it_is_told_to_stand(change):
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT, WHOLE.without("LM"))
    gait.sit()
    steps(gait, 100)
    if change == "it could not stand":
        gait.set_morphology(WHOLE.without("LF", "LM", "LR", "RF"))
        with pytest.raises(HexapodError, match="cannot stand"):
            gait.stand()
    if change == "another pattern":
        gait.set_pattern("wave")
    else:
        gait.set_morphology(WHOLE.without("LM", "RF") if change == "a leg is lost" else WHOLE)
    steps(gait, 300)
    assert gait.doing == "sitting"
    gait.stand()
    steps(gait, 300)
    assert gait.doing == "standing"
    assert ("margin of the plan [mm]" in gait.report()) == (change != "another pattern")  # a wave is not searched


@pytest.mark.parametrize("rests", [0.0, 7.3])
def test_a_tilted_robot_sits_down_and_goes_on_when_it_is_level(rests):
    """A belly that rests inclined, on a stump and a slope, does not keep it down."""
    gait = walking()
    gait.sense(math.radians(9.0), 0.0, 0.0)
    steps(gait, 13)
    assert gait.doing == "sitting down"
    steps(gait, 100)
    assert gait.doing == "sitting"  # still tilted
    gait.sense(math.radians(rests), 0.0, 0.0)
    steps(gait, 150)
    assert gait.doing == "walking"


def test_a_body_that_tips_far_sits_down_at_once_and_a_short_tilt_does_not_stop_it():
    gait = walking()
    for tilt, ticks in ((13.0, 10), (0.0, 1), (13.0, 10), (0.0, 1)):
        gait.sense(math.radians(tilt), 0.0, 0.0)
        for _ in range(ticks):
            gait.step(0.02)
            assert gait.doing == "walking"
    gait.sense(0.0, math.radians(16.0), 0.0)
    gait.step(0.02)
    assert gait.doing == "sitting down"


@pytest.mark.parametrize("leg, phase", [("LF", 0.375), ("LF", 0.5), ("RF", 0.875), ("RF", 0.0)])
def test_a_front_leg_is_lost_in_the_middle_of_a_step_and_it_does_not_stop(leg, phase):
    sim = simulator()
    sim.run(4.0)
    while abs((sim.gait.phase - phase + 0.5) % 1.0 - 0.5) >= 0.02:
        sim.run(0.02)
    hurt, gait = WHOLE.without(leg), sim.gait
    sim.gait = None  # it is told 0.3 s later
    sim.set_morphology(hurt)
    sim.gait, doing = gait, set()
    start, rotation = sim.position.copy(), sim.rotation.copy()
    for k in range(160):
        if k == 15:
            gait.set_morphology(hurt)
        if k == 100:
            start, rotation = sim.position.copy(), sim.rotation.copy()
        sim.run(0.02)
        doing.add(gait.doing)
    assert doing <= {"walking", "settling", "shifting"}
    assert (rotation.T @ (sim.position - start))[0] / 1.2 >= 0.9 * SPEED  # 2.0 to 3.2 s after the loss, one cycle


@pytest.mark.parametrize("count, least", [(0, 0.17), (1, 0.15), (2, 0.10)])
def test_the_largest_speed_with_any_legs_lost(count, least):
    for lost in itertools.combinations(ROBOT.leg_names, count):
        gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT, WHOLE.without(*lost))
        assert gait.limit_command(least, 0.0, 0.0)[0] == least, lost


@pytest.mark.parametrize("lost", ["LF+RF", "LM+LR"])
def test_it_starts_to_walk_without_a_jerk(lost):
    """Its body took up the speed of its sway at once, by 9 m/s^2, which was braced against as a push."""
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT, WHOLE.without(*lost.split("+")))
    gait.command(0.07, 0.0, 0.0)
    places, ticks = [], 0
    while ticks < 10:
        gait.step(TICK)
        places.append(gait.data.body_place[0])
        ticks += gait.doing == "walking"
    assert np.linalg.norm(np.diff(places, 2, axis=0), axis=1).max() / TICK**2 < 6.0


@pytest.mark.parametrize("lost", ["", "RM+LM"])
def test_at_whatever_phase_it_stops_it_stands_as_it_stood(lost):
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT, WHOLE.without(*lost.split("+")) if lost else None)
    stood = gait.step(0.02)[0].copy()
    for ticks in range(100, 180):
        gait.reset()
        gait.command(0.0, 0.0, 0.3)
        steps(gait, ticks)
        gait.command(0.0, 0.0, 0.0)
        steps(gait, 250)
        assert gait.doing == "standing"
        np.testing.assert_allclose(gait.step(0.02)[0], stood, atol=2e-3)


def test_told_to_stand_it_lifts_no_foot_that_stands_where_it_is_to_stand():
    gait, lasts = AdaptiveGait(plans=LIBRARY).bind(ROBOT), {}
    for lost in ((), ("LM",)):  # without LM the feet have other places than with it
        gait.set_morphology(None)
        gait.reset()
        gait.sit()
        steps(gait, 100)
        gait.set_morphology(WHOLE.without(*lost))
        gait.stand()
        lasts[lost] = 0.0
        while gait.doing != "standing":
            gait.step(0.02)
            lasts[lost] += 0.02
    assert lasts[()] < 0.6 < lasts["LM",]


def test_a_heading_lost_in_a_fall_is_taken_up_again_and_one_given_at_rest_is_kept():
    gait = walking()
    for yaw in (-0.25, -0.5):
        gait.sense(math.radians(20.0), 0.0, yaw)  # it tips and slews
        gait.step(0.02)
    assert gait.doing == "sitting down"
    gait.sense(0.0, 0.0, -0.5)
    steps(gait, 150)
    assert gait.doing == "walking" and gait.data.state.corrected[2] == pytest.approx(0.3)  # back to 0
    gait.sit()
    steps(gait, 100)
    gait.sense(0.0, 0.0, 1.0)  # turned by hand
    gait.step(0.02)
    gait.stand()
    steps(gait, 150)
    assert gait.doing == "walking" and gait.data.state.corrected[2] == pytest.approx(0.0, abs=1e-9)


def test_settings_out_of_reach_are_refused_by_name():
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT)
    with pytest.raises(HexapodError, match="body_height 0.25"):
        gait.adjust(body_height=0.25)
    with pytest.raises(HexapodError, match="body_height 0.25"):
        AdaptiveGait(plans=LIBRARY, body_height=0.25).bind(ROBOT)
    gait.adjust(body_height=0.10, step_height=0.03, period=1.0)
    unbound = AdaptiveGait()
    with pytest.raises(UnboundGaitError):
        unbound.adjust(step_height=0.03)
    assert unbound.settings == AdaptiveGait().settings


def test_settings_that_only_the_whole_robot_can_follow_are_given_up_with_a_reason():
    gait = AdaptiveGait(plans=LIBRARY, body_height=0.17, period=0.9).bind(ROBOT)
    assert "why" not in gait.report()
    gait.set_morphology(WHOLE.without("LM", "RM"))
    assert "body_height 0.17" in gait.report()["why"]
    np.testing.assert_array_equal(gait.command(SPEED, 0.0, 0.0), [SPEED, 0.0, 0.0])
    gait.set_morphology(None)
    assert "why" not in gait.report()
    steps(gait, 300)
    assert gait.doing == "walking" and gait.period == 0.9


def test_accelerations_are_limited_and_can_change_while_it_walks():
    gait = AdaptiveGait(plans=LIBRARY, yaw_hold=False).bind(ROBOT)
    for acceleration, turning, goal in ((0.2, 0.5, (0.1, 0.0, 0.5)), (0.05, 0.1, (0.0, 0.05, -0.2))):
        gait.adjust(acceleration=acceleration, turning=turning)
        followed = gait.command(*goal)
        rates = []
        for _ in range(500):
            before = gait.twist
            gait.step(0.02)
            rates.append((gait.twist - before) / 0.02)
        rates = np.array(rates)
        assert np.hypot(rates[:, 0], rates[:, 1]).max() == pytest.approx(acceleration, rel=1e-6)
        assert np.abs(rates[:, 2]).max() == pytest.approx(turning, rel=1e-6)
        np.testing.assert_allclose(gait.twist, followed, atol=1e-12)


@pytest.mark.parametrize("lost, reach", [((), 0.28), (("LM", "RR", "RF"), 0.344)])
def test_feet_stay_within_the_radius_that_nav2_is_given(lost, reach):
    morphology = WHOLE.without(*lost)
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT, morphology)
    legs = [(LegKinematics.from_robot(ROBOT, name, morphology), ROBOT.leg_joints(name)) for name in gait.plan.legs]
    gait.command(0.12, 0.0, 0.0)
    poses = [gait.step(TICK)[0].copy() for _ in range(400)]
    feet = np.array([leg.to_base(leg.forward(pose[joints])) for pose in poses for leg, joints in legs])
    assert np.hypot(feet[:, 0], feet[:, 1]).max() == pytest.approx(reach, abs=0.006), "docs/foreign.md: 0.35"


def test_the_body_leans_over_feet_that_stay_where_they_are():
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT)
    legs = [LegKinematics.from_robot(ROBOT, leg.name) for leg in ROBOT.legs]

    def feet():
        return np.array([leg.to_base(leg.forward(gait.position[3 * k : 3 * k + 3])) for k, leg in enumerate(legs)])

    stood = feet()
    offset = np.array([0.015, -0.01, -0.02, 0.08, -0.06, 0.1])
    gait.lean(offset)
    moved = []
    for _ in range(100):
        before = gait.position.copy()
        gait.step(0.02)
        moved.append(np.abs(gait.position - before).max())
    # Pose of base_link in the frame it had: Rz(yaw) Ry(pitch) Rx(roll), then the feet as seen from it.
    roll, pitch, yaw = offset[3:]
    rotation = rotation_from_vector([0, 0, yaw]) @ rotation_from_vector([0, pitch, 0])
    rotation = rotation @ rotation_from_vector([roll, 0, 0])
    np.testing.assert_allclose(feet(), (stood - offset[:3]) @ rotation, atol=1e-6)
    assert max(moved) < 0.02 * 0.5 * ROBOT.servo.speed_limit


def test_the_walking_body_sways_while_a_load_is_weighed_within_the_reach_of_the_legs():
    gait = AdaptiveGait(plans=LIBRARY).bind(ROBOT)
    gait.sense(0.0, 0.0, 0.0)
    gait.adjust(weighing_sway=0.002)
    offsets = {"standing": [], "walking": []}
    for k in range(900):
        if k == 100:
            gait.command(SPEED, 0.0, 0.0)
        gait.step(0.02)
        gait.sense(0.0, 0.0, 0.0)
        offsets.setdefault(gait.doing, []).append(gait.data.state.body_offset.copy())
    assert not np.any(offsets["standing"])
    assert gait.report()[SWAY_PERIOD] == gait.period  # `dynamics` cannot find it in commands that do not repeat
    swayed = np.array(offsets["walking"])
    assert np.abs(swayed).max(axis=0) == pytest.approx([0.0014, 0.0014, 0.002, 0.0, 0.0, 0.0], rel=0.02)
    twin = gait.copy()
    assert (twin.step(0.02)[0] == gait.step(0.02)[0]).all()
    gait.adjust(weighing_sway=0.0)
    steps(gait, 10)
    assert not gait.data.state.body_offset.any() and SWAY_PERIOD not in gait.report()
    sway = WeighingSway()
    for _ in range(200):
        sway.advance(0.02, 0.005, 0.004)
        assert np.abs(sway.offset).max() <= 0.002
    sway.advance(0.02, 0.005, 0.0)
    assert not sway.size and not any(sway.offset)


def test_a_robot_whose_legs_came_back_is_told_to_stand_before_they_have_arrived():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("LF", "LM", "LR", "RF"))
    gait.measure_joints(gait.position)
    gait.sit()
    gait.set_morphology(WHOLE)
    assert gait.awaits_joints and gait.plan is None
    gait.stand()
    for _ in range(600):
        gait.measure_joints(gait.position)
        gait.step(0.02)
    assert gait.doing == "standing" and gait.plan is not None
