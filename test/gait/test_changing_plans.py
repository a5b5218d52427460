"""Legs are lost and come back while the robot walks: the phase and the speed from which the walk holds, rehearsed
beforehand; it stands on legs that came back when their joints have arrived; what is left of lost ones is out of the
way. It presses one foot down and walks on: one that is there tilts the body, a lost one does not.
"""

import mujoco
import numpy as np
import pytest
from support.guarded_walk import TICK, GuardedWalk, MujocoWalk, largest_step, steps
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.gait.legs import prepare_legs

SPEED = 0.077
# Losses after which four legs can go on at once at some phase, or at less speed.
PAIRS = [("LF", "RM"), ("LF", "LR"), ("RR", "RF"), ("LM", "RR"), ("LR", "RM"), ("LF", "RR"), ("LM", "RF")]
SITTING = {"sitting down", "sitting", "moving feet", "standing up"}


def walking(phase):
    """A gait in its steady walk at a phase."""
    gait = AdaptiveGait().bind(ROBOT)
    gait.reset(walking=True, phase=phase)
    gait.command(SPEED, 0.0, 0.0)
    return gait


def rehearsed(gait):
    """Findings of the gait's next cycles."""
    return gait.data.copy().rehearse(ROBOT.body.box_and_com, ROBOT.body.mass, ROBOT.gravity, -1.0)


@pytest.mark.parametrize("lost", [("LF",), ("RM",), ("RR", "RF"), ("LM", "RF"), ("LF", "LM")])
def test_a_steady_walk_has_the_margin_of_its_plan_and_no_foot_misses_its_place(lost):
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without(*lost))
    gait.reset(walking=True)
    found = rehearsed(gait)
    # The plan's margin is the least over all twists, with a guard at lift-off and touch-down.
    assert gait.plan.margin - 1e-3 < found["margin"] < gait.plan.margin + 0.015
    assert found["miss"] < 1e-9
    assert found["rate"] < 1.2 * ROBOT.servo.speed_limit


@pytest.mark.parametrize("lost", PAIRS)
def test_no_leg_is_dragged_out_of_reach_so_that_its_set_point_jumps(lost):
    legs = [3 * i + k for i, leg in enumerate(ROBOT.leg_names) if leg not in lost for k in range(3)]
    for phase in np.arange(4) / 4:
        gait = walking(phase)
        gait.set_morphology(WHOLE.without(*lost))
        largest = largest_step(gait, round(4.0 / TICK), legs, {"walking", "shifting", "settling"})
        assert largest < 0.5, f"phase {phase}"  # the guard takes more for a jump and approaches slowly
        assert gait.doing == "walking"


def run(lost, phase, seconds, late):
    """Lose legs at a phase, declared `late` [s] later, behind the servos' guard; way [m], largest tilt [deg] since."""
    walk, hurt = GuardedWalk(walking(phase)), WHOLE.without(*lost)
    walk.run(1.2)
    walk.physics.set_morphology(hurt)
    walk.run(late)
    walk.gait.set_morphology(hurt)
    begin, walk.tilt = walk.physics.position.copy(), []
    walk.run(seconds)
    return (walk.physics.position - begin)[0], max(walk.tilt[round(0.2 / TICK) :])


@pytest.mark.parametrize("lost", PAIRS)
def test_after_a_loss_it_goes_on_without_tipping_or_sliding(lost):
    ways = []
    for phase in (0.1, 0.6):
        way, tilt = run(lost, phase, 6.0, late=0.1)
        ways.append(way / (6.0 * SPEED))
        assert tilt < 8.0, f"phase {phase}: {tilt:.1f} degrees"
        assert ways[-1] > 0.65, f"phase {phase}: {ways}"


def test_where_no_phase_holds_it_sits_down_first():
    for phase in (0.1, 0.6):
        gait = walking(phase)
        gait.set_morphology(WHOLE.without("LF", "LM"))
        seen = set()
        for _ in range(round(3.0 / TICK)):
            gait.step(TICK)
            seen.add(gait.doing)
        assert SITTING <= seen and gait.doing == "walking"


def test_the_share_of_the_command_ends_with_the_first_cycle():
    gait = walking(0.1)
    gait.set_morphology(WHOLE.without("LF", "LR"))
    slow, state = [], gait.data.state
    assert state.scaled_cycles > 0.0 and state.command_scale < 1.0
    while state.scaled_cycles > 0.0:
        gait.step(TICK)
        if gait.doing == "walking":
            slow.append(gait.twist[0])
    assert min(slow) == pytest.approx(state.command_scale * SPEED)
    steps(gait, round(1.0 / TICK))
    assert gait.twist[0] == pytest.approx(SPEED)


def test_legs_that_weigh_something_again_do_not_stop_the_walk():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("LF", "RF"))
    gait.measure_joints(np.full(18, np.nan))
    gait.command(SPEED, 0.0, 0.0)
    steps(gait, 150)
    before, phase = gait.plan, gait.phase
    gait.set_morphology(WHOLE)
    assert gait.plan != before and gait.plan.legs == before.legs
    assert gait.doing == "walking" and gait.phase == phase and gait.awaits_joints


ON_ITS_FEET = {"walking", "shifting", "settling"}


class Walk(GuardedWalk):
    """A robot that walks without legs."""

    def __init__(self, lost):
        hurt = WHOLE.without(*lost)
        gait = AdaptiveGait().bind(ROBOT, hurt)
        gait.command(0.077, 0.0, 0.0)
        gait.measure_joints(np.full(18, np.nan))
        super().__init__(gait, hurt)

    def bring_back(self, pose):
        """Restore all legs; the joints of those that were lost stand at `pose` (3,) [rad]."""
        back = ~self.physics.morphology.existing_mask
        self.physics.set_morphology(WHOLE)
        self.physics.q[back] = np.tile(pose, back.sum() // 3)
        self.guard.synchronise_setpoint(np.where(back, 1, 0), self.physics.q.copy(), np.ones(18, bool))
        self.gait.set_morphology(WHOLE)
        self.tilt, self.doing = [], []


# Largest tilt [deg]. Without both front legs the body sways by 43 mm; when they come back with their weight, it tilts
# by 1.5 to 8.3 degrees, which depends on the phase.
MOST = {("RM",): 4.0, ("RM", "LM"): 4.0, ("LF", "RF"): 9.0, ("LF", "LM"): 4.0}


@pytest.mark.parametrize("lost", MOST)
@pytest.mark.parametrize("pose", [(0.0, 0.0, 0.0), (0.3, 1.2, -1.0)])
def test_legs_that_come_back_do_not_tip_the_body(lost, pose):
    walk = Walk(lost)
    walk.run(3.0)
    walk.bring_back(pose)
    walk.run(9.0)
    assert max(walk.tilt) < MOST[lost]
    assert set(walk.doing) <= ON_ITS_FEET and walk.doing[-1] == "walking"
    assert set(walk.gait.plan.legs) == set(ROBOT.leg_names)


def test_while_their_joints_are_on_the_way_it_walks_on_without_them_and_says_so():
    walk = Walk(("RM",))
    walk.run(2.0)
    walk.bring_back((0.3, 1.2, -1.0))
    walk.run(0.5)
    assert set(walk.doing) <= ON_ITS_FEET and walk.doing[-1] == "walking" and walk.gait.awaits_joints
    assert "RM came back" in walk.gait.report()["why"]
    walk.gait.set_morphology(WHOLE.without("RM"))  # gone again before they arrived
    assert not walk.gait.awaits_joints and "why" not in walk.gait.report()
    walk.run(1.0)
    assert set(walk.doing) <= ON_ITS_FEET and walk.doing[-1] == "walking" and max(walk.tilt) < 4.0


def test_the_wait_ends_after_a_time_where_joints_do_not_arrive():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("RM"))
    gait.measure_joints(np.full(18, np.nan))
    gait.set_morphology(WHOLE)
    steps(gait, round(5.5 / TICK))
    assert gait.awaits_joints and "RM" not in gait.plan.legs
    steps(gait, round(1.0 / TICK))
    assert not gait.awaits_joints and "RM" in gait.plan.legs


def test_without_measurements_there_is_no_wait():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("RM"))
    gait.set_morphology(WHOLE)
    assert not gait.awaits_joints and "RM" in gait.plan.legs


@pytest.mark.parametrize("lost", [("RM",), ("RM", "LM"), ("LF", "RF"), ("RF", "RM", "RR")])
def test_no_set_point_jumps_while_all_feet_move_to_their_places(lost):
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without(*lost))
    gait.command(0.077, 0.0, 0.0)
    steps(gait, 150)
    gait.set_morphology(WHOLE)
    # The guard takes more for a jump and approaches slowly.
    assert 0.0 < largest_step(gait, 250, slice(None), {"moving feet", "settling"}) < 0.5


STARTING = 3.0  # [s] until legs that are lost are held up


def touching(physics):
    """Names of the pairs of links that touch each other now."""
    model, data = physics.model, physics.data
    bodies = ([model.geom_bodyid[geom] for geom in (one.geom1, one.geom2)] for one in data.contact[: data.ncon])
    name = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) for body in range(model.nbody)]
    return {tuple(sorted(name[body] for body in pair)) for pair in bodies if 0 not in pair}


@pytest.mark.parametrize("lost", [("RR", "RM"), ("LM", "LR"), ("RM", "RF"), ("LM", "RF"), ("LF", "LM")], ids="+".join)
def test_legs_without_tibias_are_not_touched_by_those_that_walk(lost):
    """Straight ahead of their hips they are hit in each cycle with half of the pairs of lost legs."""
    morphology = WHOLE
    for leg in lost:
        morphology = morphology.broken(f"{leg}.tibia", 0.05)
    gait = AdaptiveGait().bind(ROBOT)
    gait.set_morphology(morphology)
    walk = MujocoWalk(gait, damage=morphology)
    gait.walk()

    def is_free():
        if walk.physics.time > STARTING:
            assert touching(walk.physics) == set(), f"at {walk.physics.time:.2f} s"

    walk.run(8.0, is_free, sense=False)
    assert walk.physics.position[0] > 0.2


def rest_angles(morphology, leg):
    """Joint angles at which a lost leg is held up."""
    gait = AdaptiveGait().bind(ROBOT)
    gait.set_morphology(morphology)
    return gait.data.legs["rest"][ROBOT.leg_names.index(leg)]


def test_a_single_lost_leg_stays_straight_ahead_of_its_hip():
    for leg in ROBOT.leg_names:
        assert rest_angles(WHOLE.broken(f"{leg}.tibia", 0.05), leg)[0] == 0.0


def test_a_coxa_that_is_stuck_or_limp_is_not_asked_to_turn():
    whole = WHOLE.broken("RR.tibia", 0.05)
    assert rest_angles(whole.broken("RM.tibia", 0.05), "RM")[0] != 0.0
    assert rest_angles(whole.broken("RM.tibia", 0.05).locked("RM.coxa", 0.1), "RM")[0] == pytest.approx(0.1)
    assert rest_angles(whole.broken("RM.tibia", 0.05).limp("RM.coxa"), "RM")[0] == 0.0


def test_only_the_coxa_turns():
    morphology = WHOLE.broken("RR.tibia", 0.05).broken("RM.tibia", 0.05)
    row = ROBOT.leg_names.index("RM")
    before = prepare_legs(ROBOT, morphology)[0]["rest"][row, 1:]
    assert np.array_equal(rest_angles(morphology, "RM")[1:], before)


def walked(damage=WHOLE):
    """A walk of 4 s with a damage that the gait does not know."""
    walk = MujocoWalk(AdaptiveGait().bind(ROBOT), damage=damage)
    walk.gait.walk()
    walk.run(4.0, sense=False)
    return walk


def pressed(walk, seconds):
    """Largest tilt [rad] while the gait presses, None if it does not."""
    tilts = []
    walk.run(seconds, lambda: tilts.append(walk.tilt) if walk.gait.doing == "pressing" else None, sense=False)
    return max(tilts, default=None)


@pytest.mark.parametrize("leg", ["LF", "RM", "LR"])
def test_a_foot_that_is_there_tilts_the_body_by_more_than_two_degrees_and_a_lost_one_by_less_than_half_of_that(leg):
    there, gone = walked(), walked(WHOLE.broken(f"{leg}.tibia", 0.85))
    assert there.gait.contact_probe(leg) and gone.gait.contact_probe(leg)
    healthy = pressed(there, 2.0)
    assert healthy > np.radians(2.0)
    assert pressed(gone, 2.0) < 0.5 * healthy


def test_it_walks_on_as_before_and_a_foot_is_pressed_again_only_after_that():
    walk = walked()
    assert walk.gait.contact_probe("RM") and not walk.gait.contact_probe("LM")
    pressed(walk, 2.5)
    assert walk.gait.doing == "walking"
    before = walk.physics.position[0]
    pressed(walk, 2.6)
    assert walk.physics.position[0] - before == pytest.approx(2.6 * walk.gait.twist[0], rel=0.05)
    assert walk.gait.contact_probe("LM")


def test_set_points_do_not_jump():
    gait, last = AdaptiveGait().bind(ROBOT), None
    gait.walk()
    for tick in range(350):
        if tick == 200:
            assert gait.contact_probe("LF")
        now = gait.step(TICK)[0].copy()
        assert last is None or np.abs(now - last).max() < ROBOT.servo.speed_limit * TICK
        last = now


def test_a_leg_that_is_lost_while_its_foot_is_pressed_is_held_up_and_the_others_walk_on():
    damage = WHOLE.broken("RM.tibia", 0.05)
    walk = walked(damage)
    walk.gait.contact_probe("RM")
    pressed(walk, 0.8)
    assert walk.gait.doing == "pressing"
    walk.gait.set_morphology(damage)
    again = pressed(walk, 3.0)
    standing = [i for i, leg in enumerate(ROBOT.leg_names) if leg != "RM"]
    assert again is None and walk.gait.doing == "walking" and (walk.gait.data.feet["place"][standing, 2] >= 0.0).all()


@pytest.mark.parametrize("request_, ends", [("sit", "sitting"), ("stop", "standing")])
def test_sitting_down_and_a_command_to_stop_end_it(request_, ends):
    walk = walked()
    walk.gait.contact_probe("RM")
    pressed(walk, 0.6)
    _ = walk.gait.sit() if request_ == "sit" else walk.gait.command(0.0, 0.0, 0.0)
    pressed(walk, 3.0)
    assert walk.gait.doing == ends and (walk.gait.data.feet["place"][:, 2] == 0.0).all()


def test_where_it_cannot_be_pressed_nothing_happens():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("RM"))
    assert not gait.contact_probe("RM")  # it is held up
    gait.sit()
    assert not gait.contact_probe("LM")
    rows = AdaptiveGait().bind(ROBOT, WHOLE.without("RM").without("RF").without("RR"))
    assert rows.plan is None or not rows.contact_probe(rows.plan.legs[0])
    assert not TripodGait().bind(ROBOT).contact_probe("LM")
