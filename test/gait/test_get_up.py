"""GetUp on a robot that is an equation: what it does in each phase, what stops it, how joints yield that are held.

Falls in MuJoCo: test/tools/get_up_search.
"""

import dataclasses
import itertools

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.planning.plan import mirror_partners
from hexapod_dynamics.gait.recovery.get_up import EASING_DELAY, ROLL_SPEED, YIELDS, GetUp, Phase
from hexapod_dynamics.gait.recovery.manoeuvres import (
    GetUpLibrary,
    choose_side,
    find_damage,
    joint_poses,
)
from hexapod_dynamics.gait.recovery.motion import (
    DELAY,
    FREE_DISTANCE,
    LIFT,
    YIELD_SHARE,
    FollowWatch,
    Measured,
    YieldControl,
    find_seat,
)
from hexapod_dynamics.gait.recovery.untangle import BODY, LegSpace, plan_moves
from hexapod_dynamics.robot import Robot

LIBRARY = GetUpLibrary.load_for_robot(ROBOT)
MISSING = {0, 1, 2}  # joints of a leg that does not push with any
DT = 0.02
GAIT = AdaptiveGait().bind(ROBOT)
STANCE = GAIT.position.copy()


class Puppet:
    """Joints that are where they are commanded, but for `held`; the body turns to belly in the last pose of a roll.

    fastest: {phase: largest speed of a set-point [rad/s]}.
    """

    def __init__(self, up=-1.0, held=(), joints=STANCE, speed=2.0):
        self.get_up = GetUp(ROBOT, LIBRARY, dt=DT, speed=speed)
        self.speed, self.fastest = speed, {}
        self.joints, self.held = joints.copy(), list(held)
        self.sensed = Measured(joints.copy(), (0.0, 0.0, up), (0.0, 0.0, 0.0), (0.0, 0.0, 9.81 * up))
        self.turns, self.phases, self.moved = True, [], 0.0
        self.gait, self.start = GAIT, joints.copy()

    def begin(self, morphology=None):
        self.gait.set_morphology(morphology)
        self.get_up.begin(self.gait, morphology)
        return self

    def tick(self):
        phase, setpoints = self.get_up.phase, self.get_up.step(DT, self.sensed)
        if setpoints is not None:
            free = np.isfinite(setpoints)
            free[self.held] = False
            step = np.abs(setpoints - self.joints)[free].max()
            assert step <= self.speed * DT + 0.011, f"faster than {self.speed} rad/s"
            self.fastest[phase] = max(self.fastest.get(phase, 0.0), step / DT)
            self.joints[free] = setpoints[free]
            self.sensed.joints[:] = self.joints
            self.moved = max(self.moved, np.abs(self.joints - self.start).max())
        if self.get_up.phase is Phase.ROLL and self.turns and "pose 2" in self.get_up.doing:
            self.sensed.up = (0.0, 0.0, 1.0)
        if not self.phases or self.phases[-1] is not self.get_up.phase:
            self.phases.append(self.get_up.phase)

    def run(self, seconds=40.0, until=None):
        for _ in range(round(seconds / DT)):
            self.tick()
            if not self.get_up.active or (until is not None and self.get_up.phase is until):
                return self
        return self


def test_what_is_not_measured_is_waited_for_before_anything_moves_and_ends_it_later():
    puppet = Puppet().begin()
    joints, puppet.sensed.joints = puppet.sensed.joints, np.full(len(STANCE), np.nan)
    puppet.run(20.0)  # on a computer that is too busy
    assert puppet.get_up.phase is Phase.ANNOUNCED and puppet.moved == 0.0
    puppet.sensed.joints = joints
    for _ in range(100):
        puppet.get_up.note_missing("no imu/data")
        puppet.tick()
    assert puppet.get_up.phase is Phase.ANNOUNCED and puppet.moved == 0.0
    puppet.run(1.9)
    assert puppet.get_up.phase is Phase.ANNOUNCED  # it has to rest for 2 s from then on
    puppet.run(until=Phase.ROLL)
    puppet.get_up.note_missing("no imu/data")
    assert puppet.get_up.phase is Phase.STOPPED and puppet.get_up.reason == "no imu/data"
    silent = Puppet().begin()
    silent.sensed.joints[3] = np.nan
    silent.run(29.5)
    assert silent.get_up.phase is Phase.ANNOUNCED
    silent.run(1.0)
    assert silent.get_up.phase is Phase.FAILED and silent.moved == 0.0
    assert silent.get_up.reason.startswith(f"{ROBOT.joint_names[3]}: no reading")


def test_from_the_back_it_rolls_over_and_stands_with_the_gait():
    puppet = Puppet().begin().run()
    assert puppet.get_up.phase is Phase.DONE and puppet.get_up.attempts == 1
    assert puppet.phases == [
        *(Phase.ANNOUNCED, Phase.PROBE, Phase.STAR, Phase.LIES, Phase.ROLL),
        *(Phase.TUCK, Phase.STAND, Phase.DONE),
    ]
    np.testing.assert_allclose(puppet.joints, puppet.gait.position, atol=1e-9)
    assert puppet.gait.doing == "standing"


def test_on_the_belly_it_stands_up_without_a_roll():
    puppet = Puppet(up=1.0).begin().run()
    assert puppet.get_up.phase is Phase.DONE and Phase.ROLL not in puppet.phases


def test_it_waits_no_longer_than_for_what_it_waits_for():
    """The joints answer at once, and the robot is at rest whenever it asks: no time is left over."""
    puppet, took = Puppet().begin(), {}
    while puppet.get_up.active:
        took[puppet.get_up.phase] = took.get(puppet.get_up.phase, 0.0) + DT
        puppet.tick()
    assert took[Phase.PROBE] < 0.25 + 2 * DT and took[Phase.LIES] < 2 * DT
    slow = Puppet().begin()
    slow.run(until=Phase.TUCK)
    slow.sensed.rate = (0.7, 0.0, 0.0)  # it sways: the tucked robot is waited for, but not for ever
    began = 0.0
    while slow.get_up.phase is Phase.TUCK:
        slow.tick()
        began += DT
    assert began == pytest.approx(took[Phase.TUCK] + 0.5, abs=2 * DT)


def test_a_request_alone_does_not_change_what_the_gait_commands():
    puppet = Puppet()
    puppet.gait.reset()
    before = puppet.gait.position.copy()
    puppet.begin().run(until=Phase.ROLL)
    puppet.get_up.stop("emergency stop")
    np.testing.assert_array_equal(puppet.gait.position, before)
    assert puppet.gait.doing == "standing"


@pytest.mark.parametrize("when", ["before", "on the way", "never"])
def test_legs_are_tucked_as_far_as_the_robot_sits_as_soon_as_it_is_upright(when):
    """Without LF and LR the feet are beside the body when it sits, and the knees higher than TUCK has them."""
    lost = WHOLE.without("LF", "LR")
    GAIT.set_morphology(lost)
    seat = find_seat(GAIT).reshape(-1, 3)[lost.existing_mask[::3]]
    puppet = Puppet().begin(lost)
    puppet.turns = when == "before"
    puppet.run(until=Phase.TUCK)
    began, before = puppet.get_up.phase, puppet.joints.copy()
    for _ in range(20):
        puppet.tick()
    puppet.sensed.up = (0.0, 0.0, -1.0 if when == "never" else 1.0)
    puppet.run(until=Phase.STAR if when == "never" else Phase.STAND)
    angles = puppet.joints.reshape(-1, 3)[lost.existing_mask[::3]]
    assert began is Phase.TUCK and np.abs(seat[:, 0]).max() > 1.0 and np.abs(puppet.joints - before).max() > 0.5
    np.testing.assert_allclose(angles[:, 0], 0.0 if when == "never" else seat[:, 0], atol=2.0 * DT)
    np.testing.assert_allclose(angles[:, 1], 1.6 if when == "never" else np.minimum(seat[:, 1], 1.6), atol=2.0 * DT)
    np.testing.assert_allclose(angles[:, 2], -1.0 if when == "never" else np.maximum(seat[:, 2], -1.0), atol=2.0 * DT)


def test_in_a_roll_no_joint_is_faster_than_manoeuvres_allow():
    """Also where joints may move at 5 rad/s."""
    puppet = Puppet(speed=5.0).begin().run()
    assert puppet.get_up.phase is Phase.DONE
    assert puppet.fastest[Phase.ROLL] == pytest.approx(ROLL_SPEED)
    assert puppet.fastest[Phase.STAND] == pytest.approx(5.0)


@pytest.mark.parametrize("up, ends", [(1.0, Phase.DONE), (-1.0, Phase.FAILED)])
def test_a_leg_in_whose_way_the_ground_is_matters_on_the_back_only(up, ends):
    puppet = Puppet(up=up).begin().run(until=Phase.STAR)
    puppet.turns = False
    while abs(puppet.joints[2] - 1.17) > 0.5:
        puppet.tick()
    puppet.held = [2]
    while puppet.get_up.phase is not Phase.TUCK and puppet.get_up.active:
        puppet.tick()
    puppet.held = []
    if puppet.get_up.active:
        puppet.joints[2] = puppet.get_up.step(0.0, puppet.sensed)[2]  # the body lifts, and the leg is free
    puppet.run()
    assert puppet.get_up.phase is ends
    assert "no way to spread the legs" in puppet.get_up.reason or ends is Phase.DONE


def test_a_robot_that_stands_on_its_edge_topples_first_and_three_times_at_most():
    puppet = Puppet(up=0.1).begin()
    puppet.sensed.force = (0.0, 0.0, 9.81)
    puppet.run(until=Phase.TOPPLE)
    puppet.sensed.up = (0.0, 0.0, 1.0)
    puppet.run()
    assert puppet.get_up.phase is Phase.DONE and puppet.get_up.attempts == 0
    stays = Puppet(up=0.1).begin()
    stays.turns, stays.sensed.force = False, (0.0, 0.0, 9.81)
    stays.run(80.0)
    assert stays.get_up.phase is Phase.FAILED and stays.phases.count(Phase.TOPPLE) == 3


def swing(puppet, seconds, tilt, hertz=2.0, shakes=0.0):
    """Let the robot swing about x by +-tilt [rad] for a time, with `shakes` [rad/s] at random; return its set-points at
    each tick, None: none.
    """
    out, omega, random = [], 2.0 * np.pi * hertz, np.random.default_rng(1)
    puppet.get_up.step(DT, dataclasses.replace(puppet.sensed, up=(np.nan,) * 3))  # one that is not known
    for k in range(round(seconds / DT)):
        angle = tilt * np.sin(omega * k * DT)
        puppet.sensed.up = (0.0, np.sin(angle), -np.cos(angle))
        puppet.sensed.rate = random.normal(0.0, shakes, 3) + [tilt * omega * np.cos(omega * k * DT), 0.0, 0.0]
        puppet.sensed.joints[:] = puppet.joints + 0.05 * np.sin(omega * k * DT)
        setpoints = puppet.get_up.step(DT, puppet.sensed)
        out.append(None if setpoints is None else setpoints.copy())
        if setpoints is not None:
            assert np.abs(setpoints - puppet.joints).max() <= 0.05 + 1e-9
    return out


def test_the_joints_of_a_robot_that_swings_where_it_lies_give_way_until_it_rests():
    puppet = Puppet().begin()
    setpoints = swing(puppet, EASING_DELAY - DT, 0.03)
    assert all(one is None for one in setpoints)
    setpoints = swing(puppet, 2.0 * YIELDS, 0.03)
    changes = [np.abs(np.diff(pair, axis=0)).max() for pair in itertools.pairwise(setpoints[2:])]
    follows = round(YIELDS / DT)
    assert min(changes[: follows - 4]) > 0.0 == max(changes[follows:])  # after that they hold where they are
    assert "swings" in puppet.get_up.doing and puppet.get_up.phase is Phase.ANNOUNCED
    puppet.sensed.rate = (0.0, 0.0, 0.0)
    puppet.sensed.joints[:] = puppet.joints = setpoints[-1].copy()
    assert puppet.run().get_up.phase is Phase.DONE


@pytest.mark.parametrize(
    "tilt, hertz, shakes, gives",
    [(0.1, 2.0, 0.1, True), (0.1, 0.5, 0.1, False), (0.2, 0.9, 0.0, False), (0.0, 2.0, 0.3, False)],
    ids=["limit cycle", "slowly", "far", "at random"],
)
def test_what_is_swayed_by_hands_does_not_give_way(tilt, hertz, shakes, gives):
    """Nothing else ever moves: the set-points are those of the readings."""
    puppet = Puppet().begin()
    setpoints = swing(puppet, 12.1, tilt, hertz, shakes)
    assert puppet.get_up.phase is Phase.FAILED and "rest" in puppet.get_up.reason
    assert any(one is not None for one in setpoints) == gives


@pytest.mark.parametrize(
    "what",
    [{"rate": (0.06, 0.0, 0.0)}, {"force": (0.0, 0.0, 10.6)}, {"force": (0.0, 0.0, 0.1)}, {"rate": (np.nan,) * 3}],
)
def test_a_robot_that_is_not_at_rest_never_moves_and_the_reason_is_given(what):
    puppet = Puppet().begin()
    puppet.sensed = dataclasses.replace(puppet.sensed, **what)
    puppet.run()
    assert puppet.get_up.phase is Phase.FAILED and puppet.moved == 0.0
    assert "rest" in puppet.get_up.reason


def test_at_rest_it_measures_the_gravity_of_the_robot_file():
    puppet = Puppet()
    puppet.get_up = GetUp(dataclasses.replace(ROBOT, gravity=1.62), LIBRARY, dt=DT)
    puppet.sensed.force = (0.0, 0.0, -1.62)
    assert puppet.begin().run().get_up.phase is Phase.DONE


@pytest.mark.parametrize("joint", range(18))
def test_a_joint_that_is_held_stops_it_before_anything_moves_far_and_is_named(joint):
    puppet = Puppet(held=[joint]).begin().run()
    assert puppet.get_up.phase is Phase.STOPPED and ROBOT.joint_names[joint] in puppet.get_up.reason
    assert puppet.moved < 0.11


def test_a_joint_that_the_ground_holds_under_a_standing_robot_is_tried_with_its_foot_lifted():
    puppet = Puppet(up=1.0, held=[5]).begin()
    while puppet.get_up.active and puppet.joints[4] < STANCE[4] + 0.15:
        puppet.tick()
    assert puppet.get_up.phase is Phase.PROBE
    others = np.delete(np.arange(18), [3, 4, 5])
    assert np.abs(puppet.joints - STANCE)[others].max() < 0.11
    puppet.held = []
    puppet.joints[5] = puppet.get_up.step(0.0, puppet.sensed)[5]  # the foot slides to where the servo pulls it
    assert puppet.run().get_up.phase is Phase.DONE
    stays = Puppet(up=1.0, held=[5]).begin().run()
    assert stays.get_up.phase is Phase.STOPPED and ROBOT.joint_names[5] in stays.get_up.reason
    assert stays.moved < LIFT + 0.01


@pytest.mark.parametrize("phase", [Phase.PROBE, Phase.STAR, Phase.ROLL, Phase.TUCK, Phase.STAND])
def test_stopped_in_any_phase_it_commands_nothing_until_it_is_asked_again(phase):
    puppet = Puppet().begin().run(until=phase)
    assert puppet.get_up.phase is phase
    puppet.get_up.stop("emergency stop")
    assert all(puppet.get_up.step(DT, puppet.sensed) is None for _ in range(500))
    assert puppet.get_up.reason == "emergency stop"
    puppet.begin().run()
    assert puppet.get_up.phase is Phase.DONE


def caught():
    """A puppet whose joint 4 was caught in a roll, and has let go."""
    puppet = Puppet().begin().run(until=Phase.ROLL)
    puppet.held = [4]
    puppet.run(until=Phase.BLOCKED)
    assert ROBOT.joint_names[4] in puppet.get_up.reason and ROBOT.joint_names[4] in puppet.get_up.doing
    return puppet


def test_what_is_caught_on_the_way_lets_go_rests_and_is_tried_again():
    puppet = caught()
    before = puppet.joints.copy()
    puppet.run(1.9)
    np.testing.assert_array_equal(puppet.joints, before)  # it lets go where the joints are, and rests for 2 s
    puppet.held = []
    puppet.run()
    assert puppet.phases[-1] is Phase.DONE and puppet.phases.count(Phase.PROBE) == 2


@pytest.mark.parametrize(
    "rate, ends, reason", [(0.0, Phase.STOPPED, ROBOT.joint_names[4]), (0.06, Phase.FAILED, "rest")]
)
def test_a_hand_that_keeps_hold_of_a_joint_or_moves_the_robot_meanwhile_ends_it(rate, ends, reason):
    puppet = caught()
    before = puppet.joints.copy()
    puppet.sensed.rate = (rate, 0.0, 0.0)
    puppet.run()
    assert puppet.get_up.phase is ends and reason in puppet.get_up.reason
    assert np.abs(puppet.joints - before).max() < 0.11


def test_a_joint_that_is_caught_is_pushed_with_part_of_its_torque_until_the_motion_stops():
    puppet = Puppet().begin().run(until=Phase.ROLL)
    puppet.held, pushed = [4], []
    while puppet.get_up.phase is Phase.ROLL:
        puppet.tick()
        pushed.append(abs(puppet.get_up.step(0.0, puppet.sensed)[4] - puppet.joints[4]))
    assert puppet.get_up.phase is Phase.BLOCKED
    limit = ROBOT.servo.torque_limit / ROBOT.servo.stiffness
    assert max(pushed) > limit and pushed[-2] == pytest.approx(YIELD_SHARE * limit)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_that_comes_closer_is_not_blocked_however_far_it_is_behind_and_one_that_a_hand_moves_away_is(side):
    far, off = np.array([side]), []
    for moved in (0.0, 0.2, -0.2):
        watch = FollowWatch(1, DT)
        watch.start(far)
        for _ in range(50):
            watch.update(DT, far, np.zeros(1), np.array([side * moved]))
        off.append(watch.off_for[0])
    assert off == pytest.approx([1.0, 0.0, 1.0])


def test_what_was_caught_on_the_belly_raises_its_legs_before_it_folds_them():
    puppet = Puppet(up=1.0).begin().run(until=Phase.TUCK)
    puppet.held = [5]
    puppet.run(until=Phase.BLOCKED)
    puppet.held = []
    puppet.run(until=Phase.RAISE)
    puppet.run(until=Phase.TUCK)
    np.testing.assert_allclose(puppet.joints.reshape(-1, 3)[:, 1:], [[1.6, 1.17]] * 6, atol=2.0 * DT)
    puppet.run()
    assert puppet.get_up.phase is Phase.DONE


def test_something_in_the_way_of_a_joint_for_the_third_time_stops_it():
    puppet = Puppet().begin()
    puppet.turns = False
    for _ in range(3):
        puppet.run(until=Phase.ROLL)
        puppet.held = [4]
        puppet.run(10.0, until=Phase.BLOCKED)
        puppet.held = []
    assert puppet.get_up.phase is Phase.STOPPED and puppet.phases.count(Phase.ROLL) == 3
    assert ROBOT.joint_names[4] in puppet.get_up.reason


def test_free_fall_stops_it():
    puppet = Puppet().begin().run(until=Phase.ROLL)
    puppet.sensed.force = (0.0, 0.0, 0.5)
    puppet.run(0.4)
    assert puppet.get_up.phase is Phase.STOPPED and "fall" in puppet.get_up.reason


def test_it_gives_up_after_three_attempts_over_both_sides_the_second_one_slowly():
    puppet = Puppet().begin()
    puppet.turns = False
    sides, took = set(), {}
    while puppet.get_up.active:
        puppet.tick()
        if puppet.get_up.phase is Phase.ROLL:
            took[puppet.get_up.attempts] = took.get(puppet.get_up.attempts, 0.0) + DT
            sides.add(np.sign(puppet.get_up.step(0.0, puppet.sensed)[1]) if "pose 1" in puppet.get_up.doing else 0.0)
    assert puppet.get_up.phase is Phase.FAILED and puppet.get_up.attempts == 3
    assert "3 attempts" in puppet.get_up.reason and {1.0, -1.0} <= sides
    assert took[1] == pytest.approx(took[3], abs=0.3) and took[2] > 1.5 * took[1]


UNIVERSAL = dict(
    zip(LIBRARY.universal.legs, LIBRARY.universal.angles[0, :, 1].tolist(), strict=True)
)  # femurs, the left side pushes


@pytest.mark.parametrize("joint, femurs", [("coxa", (UNIVERSAL["RM"], 1.6)), ("tibia", (-1.6, UNIVERSAL["LM"]))])
def test_a_leg_without_coxa_takes_part_then_is_put_aside_and_another_damaged_one_the_other_way_round(joint, femurs):
    morphology = WHOLE.locked(f"LM.{joint}", float(STANCE[3 if joint == "coxa" else 5]))
    puppet, ends = Puppet().begin(morphology), {}
    puppet.turns = False
    while puppet.get_up.active:
        puppet.tick()
        if puppet.get_up.phase is Phase.ROLL:
            ends[puppet.get_up.attempts, puppet.get_up.doing.split(",")[1]] = puppet.joints[4]
    assert [ends[k, " pose 1 of 4"] for k in (1, 2)] == pytest.approx(femurs, abs=0.05)
    assert puppet.get_up.attempts == 3


@pytest.mark.parametrize("declared", [True, False])
def test_a_blocked_joint_of_a_leg_that_is_declared_damaged_gives_way_in_a_roll(declared):
    morphology = WHOLE.limp("LM.coxa") if declared else WHOLE
    puppet = Puppet().begin(morphology)
    puppet.turns = False
    puppet.run(until=Phase.ROLL)
    puppet.held = [4]
    puppet.run(8.0, until=Phase.TUCK)
    assert (Phase.BLOCKED in puppet.phases) is not declared
    puppet.held, puppet.sensed.up = [], (0.0, 0.0, 1.0)
    if declared:
        puppet.joints[4] = puppet.get_up.step(0.0, puppet.sensed)[4]
    puppet.run()
    assert puppet.get_up.phase is (Phase.DONE if declared else Phase.STOPPED)


def test_lost_and_limp_joints_are_not_commanded():
    morphology = WHOLE.without("RM").limp("LF.tibia")
    puppet = Puppet().begin(morphology)
    puppet.sensed.joints[12:15] = np.nan
    puppet.run(until=Phase.TUCK)
    assert puppet.get_up.phase is Phase.TUCK
    setpoints = puppet.get_up.step(DT, puppet.sensed)
    assert np.flatnonzero(np.isnan(setpoints)).tolist() == [2, 12, 13, 14]


def test_it_is_refused_while_it_is_under_way_and_without_manoeuvres():
    puppet = Puppet().begin()
    with pytest.raises(HexapodError, match="already"):
        puppet.begin()
    with pytest.raises(HexapodError, match="plan --get-up"):
        GetUp(ROBOT, GetUpLibrary(ROBOT)).begin(puppet.gait)


def test_a_manoeuvre_of_the_other_side_is_the_mirror_image():
    universal, partners = LIBRARY.universal, mirror_partners(ROBOT)
    one, other = (joint_poses(ROBOT, it, np.zeros(18)) for it in (universal, universal.mirror(partners)))
    for name, image in partners.items():
        np.testing.assert_allclose(
            one[:, ROBOT.leg_joints(name)] * (-1.0, 1.0, 1.0), other[:, ROBOT.leg_joints(image)], atol=1e-12
        )


def test_the_side_with_both_corner_legs_pushes():
    assert choose_side(ROBOT, ["RF"]) == "left" and choose_side(ROBOT, ["LR", "LM"]) == "right"
    assert choose_side(ROBOT, ["LM"]) == "right" and choose_side(ROBOT, ["LF", "RR"]) is None
    library = GetUpLibrary(ROBOT, [LIBRARY.universal])
    for lost, side in (["RF"], "left"), (["LR", "LM"], "right"):
        pushers = [one.pushers for one in library.choose(dict.fromkeys(lost, MISSING))]
        assert pushers[0] == side and set(pushers) == {"left", "right"}


def test_manoeuvres_in_which_a_leg_without_coxa_takes_part_come_first():
    def chosen(**damage):
        return [(one.lost, one.pushers) for one in LIBRARY.choose(damage)]

    assert chosen(LM={0}) == [((), "right"), ((), "left"), (("LM",), "right")]
    first, *_, last = chosen(LF=MISSING, LM={0})
    assert first[0] == ("LF",) and last[0] == ("LF", "LM")
    assert chosen(LM={1}) == [((), "left"), ((), "right"), (("LM",), "right")]
    assert chosen(LF={1}) == chosen(LF=MISSING)
    assert chosen(LM={1}, RF=MISSING) == chosen(LM=MISSING, RF=MISSING)
    both = chosen(LF={0}, RR={0})  # neither side has both corner legs
    assert {one[1] for one in both[:2]} == {"left", "right"} and both[2][0] == ("LF", "RR")


@pytest.mark.parametrize(
    "damage, joints",
    [
        (lambda whole: whole.limp("LM.coxa"), {0}),
        (lambda whole: whole.locked("LM.coxa", 0.1), {0}),
        (lambda whole: whole.limp("LM.coxa").limp("LM.tibia"), {0, 2}),
        (lambda whole: whole.limp("LM.coxa").broken("LM.tibia", 0.5), MISSING),
        (lambda whole: whole.without("LM"), MISSING),
    ],
)
def test_the_joints_with_which_a_damaged_leg_does_not_push(damage, joints):
    assert find_damage(ROBOT, damage(WHOLE)) == {"LM": joints}


def test_a_library_is_read_as_it_was_written_and_that_of_another_robot_is_refused(tmp_path):
    own = LIBRARY.universal.without(("LF", "RR"))
    library = GetUpLibrary(ROBOT, [LIBRARY.universal, own])
    library.save(tmp_path / "get_up.yaml")
    again = GetUpLibrary.load(ROBOT, tmp_path / "get_up.yaml")
    assert list(again) == list(library)
    image = again.choose({"RF": MISSING, "LR": MISSING})[0]
    assert image.lost == ("LR", "RF") and image.pushers != own.pushers and set(image.legs) == {"LF", "LM", "RR", "RM"}
    assert again.find_all(["LF", "RR"]) and again.find_all(["LR", "RF"]) and not again.find_all(["LF"])
    again.remove(["LR", "RF"])
    assert not again.find_all(["LF", "RR"])
    text = (tmp_path / "get_up.yaml").read_text()
    (tmp_path / "get_up.yaml").write_text(text.replace("digest: c", "digest: d"))
    with pytest.raises(HexapodError, match="digest"):
        GetUpLibrary.load(ROBOT, tmp_path / "get_up.yaml")


def test_crossed_legs_are_taken_apart_on_ways_that_are_clear():
    space, start = LegSpace(ROBOT), np.tile((0.0, 0.0, 1.17), 6)
    goal = start.copy()
    start[0:3], start[3:6] = (1.5, 0.0, 1.0), (-1.5, 0.0, 1.0)  # LF and LM, each on the other's side
    assert not space.is_clear(start, goal)
    moves = [move for move in plan_moves(space, start, goal) if move is not None]
    here = start
    for move in moves:
        assert space.is_clear(here, move)
        here = move
    np.testing.assert_allclose(here, goal)
    assert len(moves) > 1
    small = Robot.load("config/quadruped.yaml")  # its coxas are too short to touch anything
    assert (0, BODY) in LegSpace(small).compute_distances(np.zeros(12), [0])


N, SPEED = ROBOT.joint_count, 2.0
LIMIT = ROBOT.servo.torque_limit / ROBOT.servo.stiffness  # [rad] error of a servo at its torque limit


class Bus:
    """Joints at their set-points of two ticks ago, except those of `held`; `reads` of them are read in each tick."""

    def __init__(self, reads=2):
        self.yielding, self.reads, self.held = YieldControl(ROBOT, DT), reads, []
        self.joints, self.readings, self.plan = np.zeros(N), np.zeros(N), np.zeros(N)
        self.before, self.next, self.gave = [np.zeros(N)] * 2, 0, np.zeros(N, bool)
        self.forced = self.longest = np.zeros(N)  # [s] at the torque limit: until now, and at most

    def tick(self, rates):
        self.plan = self.plan + np.asarray(rates) * DT
        last = self.yielding.sent.copy()
        sent = self.yielding.follow(DT, self.plan, self.readings, SPEED)
        if np.isfinite(last).all():
            away = np.abs(sent - self.readings) > np.abs(last - self.readings)
            assert np.abs(sent - last)[away].max(initial=0.0) <= SPEED * DT + 1e-8
        self.gave |= self.yielding.gives
        self.before = [*self.before[1:], sent]
        free = np.ones(N, bool)
        free[self.held] = False
        self.joints = np.where(free, self.before[0], self.joints)
        self.forced = np.where(np.abs(sent - self.joints) * ~free > LIMIT, self.forced + DT, 0.0)
        self.longest = np.maximum(self.longest, self.forced)
        for _ in range(self.reads):
            self.readings[self.next] = self.joints[self.next]
            self.next = (self.next + 1) % N
        return sent

    def run(self, seconds, rates):
        for _ in range(round(seconds / DT)):
            sent = self.tick(rates)
        return sent


def moved(bus):
    """Let all joints move to and fro, so that the period of the bus is known."""
    for rate in (SPEED, -SPEED, SPEED, -SPEED):
        bus.run(0.6, np.full(N, rate))
    return bus


@pytest.mark.parametrize("reads", [1, 2])
def test_joints_that_move_do_not_give_way_however_old_their_readings_are(reads):
    bus = moved(Bus(reads))
    bus.run(1.0, np.zeros(N))
    assert not bus.gave.any()
    np.testing.assert_allclose(bus.joints, bus.plan, atol=1e-6)


@pytest.mark.parametrize("rate", [0.3, -1.0, SPEED])
@pytest.mark.parametrize("joint", [0, 7, 17])
def test_a_joint_that_is_held_is_pushed_with_all_its_torque_for_a_period_of_the_bus_only(joint, rate):
    bus = moved(Bus())
    bus.held = [joint]
    sent = bus.run(1.5, rate * (np.arange(N) == joint))
    period, goes_back = N / bus.reads * DT, 4 * DT
    assert 0.0 < bus.longest[joint] <= period + DELAY + goes_back + 2.1 * DT
    assert bus.yielding.gives[joint] and bus.gave.sum() == 1
    assert abs(sent[joint] - bus.joints[joint]) == pytest.approx(YIELD_SHARE * LIMIT, abs=1e-9)


def test_a_joint_that_comes_free_follows_the_plan_again_and_one_that_is_pushed_back_does_not():
    bus = moved(Bus())
    bus.held = [4]
    bus.run(1.0, SPEED * (np.arange(N) == 4))
    bus.joints[4] -= 0.2
    sent = bus.run(0.2, np.zeros(N))
    assert bus.yielding.gives[4] and sent[4] == pytest.approx(bus.joints[4] + YIELD_SHARE * LIMIT, abs=1e-9)
    bus.joints[4] += 0.5 * FREE_DISTANCE
    bus.run(0.4, np.zeros(N))
    assert bus.yielding.gives[4]
    bus.held = []
    bus.run(1.5, np.zeros(N))
    np.testing.assert_allclose(bus.joints, bus.plan, atol=1e-6)
    assert not bus.yielding.gives.any()


def test_what_is_not_commanded_or_not_read_stays_as_it_is():
    yielding = YieldControl(ROBOT, DT)
    plan, readings = np.zeros(N), np.zeros(N)
    plan[3] = readings[3] = readings[5] = np.nan
    for k in range(100):
        plan[5] = plan[6] = 0.01 * k
        sent = yielding.follow(DT, plan, readings, SPEED)
    assert np.isnan(sent[3]) and sent[5] == pytest.approx(0.99) and sent[6] == pytest.approx(YIELD_SHARE * LIMIT)
