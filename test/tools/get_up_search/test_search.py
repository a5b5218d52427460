"""The search of manoeuvres lowers a cost and ends; the judge takes none that turns fewer robots over; falls in MuJoCo
with servos, bus and IMU that err.
"""

from dataclasses import replace

import numpy as np
import pytest

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.get_up import GetUp, Phase
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.tools import plan
from hexapod_dynamics.tools.get_up_search import search
from hexapod_dynamics.tools.get_up_search.fallen_robot import FallenRobot, draw_joints, draw_truth
from hexapod_dynamics.tools.get_up_search.roll_trial import FALLS_BACK, SERVES, Condition, RollTrial
from hexapod_dynamics.tools.get_up_search.search import (
    FIRST as FIRST_SEED,
)
from hexapod_dynamics.tools.get_up_search.search import (
    GENTLE_COST,
    Effort,
    find_manoeuvre,
    find_opposite_legs,
    find_starts,
    first_manoeuvre,
    judge,
    make_get_up_library,
    search_manoeuvre,
    turn_over,
    with_numbers,
)

ROBOT = Robot.jethexa()
FIRST = first_manoeuvre(ROBOT)
EASY = Condition("friction=0.7")
FEW = FIRST.without(("LM", "LR", "RR", "RM"))  # with as few numbers as a search needs to be one


def test_the_first_manoeuvre_turns_the_whole_robot_over_and_one_that_does_nothing_does_not():
    trial = RollTrial(ROBOT, (), 2.0, [EASY])
    assert trial.cost(FIRST) < SERVES
    nothing = np.tile([0.0, 0.0, 1.0], 24)
    assert trial.cost(with_numbers(FIRST, [*nothing, *FIRST.times])) > 2.5  # one condition is left, it lies on its back


def test_a_condition_may_have_a_speed_of_its_own():
    slow, fast = (RollTrial(ROBOT, (), 2.0, [Condition("friction=0.7", speed=speed)]) for speed in (None, 5.0))
    assert slow.cost(FIRST) < SERVES and fast.cost(FIRST) < SERVES
    took = [trial._starts[0][0].time for trial in (slow, fast)]
    assert took[1] < 0.85 * took[0]  # in the roll the joints have 3 rad/s instead of 2, when it tucks its legs 5


def test_under_a_condition_that_is_only_for_its_margins_a_manoeuvre_need_not_serve_but_falling_back_costs():
    weak = Condition("friction=0.7,stiffness=0.05", must=False)  # no servo lifts the body
    alone, easy, hard = (RollTrial(ROBOT, (), 2.0, [EASY, *more]) for more in ([], [replace(EASY, must=False)], [weak]))
    assert hard.cost(FIRST) < SERVES and hard.cost(FIRST) == pytest.approx(alone.cost(FIRST) + FALLS_BACK)
    assert easy.cost(FIRST) == pytest.approx(alone.cost(FIRST), abs=0.05)


def test_a_search_goes_on_from_the_start_that_costs_least_of_those_that_serve():
    nothing = with_numbers(FIRST, [*np.tile([0.0, 0.0, 1.0], 24), *FIRST.times])
    slow = with_numbers(FIRST, [*FIRST.numbers[:-4], *(2.0 * time for time in FIRST.times)])
    for starts in ([nothing, slow, FIRST], [slow, FIRST, nothing]):
        found, _ = find_manoeuvre(ROBOT, (), starts, Effort(refine=0, conditions=(EASY,)))
        assert found == FIRST


class Bowl:
    """A trial whose cost is the distance of the angles from those of one manoeuvre."""

    def __init__(self, goal):
        self.goal, self.asked = goal, 0

    def cost(self, manoeuvre, least=np.inf):
        self.asked += 1
        return float(np.linalg.norm((manoeuvre.numbers - self.goal)[:-4]))


def test_the_search_ends_after_as_many_manoeuvres_from_the_first_that_serves_on_as_are_wanted():
    bowl = Bowl(np.array(FEW.numbers) + 0.15)
    found, cost, tried = search_manoeuvre(bowl, FEW, Effort(most=5000, refine=0))
    assert found is not None and np.linalg.norm((found.numbers - bowl.goal)[:-4]) == cost < 0.9
    assert tried == bowl.asked
    _, better, more = search_manoeuvre(Bowl(bowl.goal), FEW, Effort(most=5000, refine=300))
    assert better < cost and tried < more <= tried + 300


def test_the_search_ends_where_a_manoeuvre_is_gentle():
    bowl = Bowl(np.array(FEW.numbers) + 0.15)
    _, cost, tried = search_manoeuvre(bowl, FEW, Effort(most=5000, refine=50000))
    assert cost < GENTLE_COST and tried < 20000


def test_a_search_without_success_returns_none():
    found, _, tried = search_manoeuvre(Bowl(np.array(FEW.numbers) + 5.0), FEW, Effort(most=30, refine=0))
    assert found is None and tried == 30


def test_a_search_starts_from_what_there_is_for_the_set_and_for_the_set_half_a_turn_away():
    whole, own = FIRST, FIRST.without(("LF", "LM"))
    library = GetUpLibrary(ROBOT, [whole, own])
    assert [one.lost for one in find_starts(ROBOT, library, ["LF", "LM"])] == [("LF", "LM"), (), ()]
    lost = [one.lost for one in find_starts(ROBOT, library, ["LM", "LR"])]
    assert lost == [("LM", "LR"), (), ()]  # RR with RM is half a turn away, its mirror image LM with LR
    assert [one.lost for one in find_starts(ROBOT, library, ["RM"])] == [(), ()]
    assert find_starts(ROBOT, GetUpLibrary(ROBOT), []) == [FIRST]


def test_a_library_keeps_what_serves_and_improves_it_where_asked():
    library, told = GetUpLibrary.load_for_robot(ROBOT), {}
    before = library.find_all(["LM"])[0]

    def make(*sets, improve=False):
        return make_get_up_library(
            ROBOT,
            lambda done, count, lost, what: told.update({lost: (count, what)}),
            library,
            sets=sets,
            improve=improve,
            jobs=1,
            effort=Effort(most=5, refine=0, conditions=(EASY,)),
        )

    assert make(("LM",)) is library and told == {} and library.find_all(["LM"])[0] == before
    library.remove(["LF"])
    make(("LM",), ("LF",), improve=True)
    assert list(told) == [("LM",), ("LF",)] and told["LM",][0] == 2
    assert "costs less than the old one" in told["LM",][1] and library.find_all(["LM"])[0] == before
    assert "fresh falls" not in told["LF",][1]  # there is nothing to compare it with


@pytest.mark.parametrize("words, most", [([], 3), (["--most-lost", "0"], 0)])
def test_the_command_searches_for_as_many_lost_legs_as_are_asked_for(tmp_path, monkeypatch, words, most):
    asked = []
    monkeypatch.setattr(search, "make_get_up_library", lambda *_, most_lost, **__: asked.append(most_lost))
    assert plan.main(["--get-up", "--out", str(tmp_path / "get_up.yaml"), *words]) == 0
    assert asked == [most]


def test_a_manoeuvre_of_the_robot_turned_by_half_a_turn_puts_the_feet_where_the_others_were():
    opposites = find_opposite_legs(ROBOT)
    assert opposites == {"LF": "RR", "LM": "RM", "LR": "RF", "RR": "LF", "RM": "LM", "RF": "LR"}
    own = next(one for one in GetUpLibrary.load_for_robot(ROBOT) if one.lost)
    turned = own.move_to_legs(opposites, 1.0)
    assert turned.pushers != own.pushers and set(turned.lost) == {opposites[name] for name in own.lost}
    for k, name in enumerate(own.legs):
        legs = LegKinematics.from_robot(ROBOT, name), LegKinematics.from_robot(ROBOT, opposites[name])
        for pose, other in zip(own.angles[:, k], turned.angles[:, k], strict=True):
            here, there = legs[0].forward(pose), legs[1].forward(other)
            np.testing.assert_allclose(legs[0].to_base(here), legs[1].to_base(there) * (-1.0, -1.0, 1.0), atol=1e-9)


def test_numbers_of_a_manoeuvre_make_the_same_manoeuvre():
    universal = GetUpLibrary.load_for_robot(ROBOT).universal
    assert len(universal.numbers) == 4 * (18 + 1) and with_numbers(universal, universal.numbers) == universal
    few = universal.without(("LM",))
    assert len(few.numbers) == 4 * (15 + 1) and with_numbers(few, few.numbers) == few


GOOD = GetUpLibrary.load_for_robot(ROBOT).find_all(["LM"])[0]
ANGLES = len(GOOD.numbers) - 4
# One that stays in STAR, and one that differs from the good one by what a file rounds to.
NOTHING = with_numbers(GOOD, [*np.tile([0.0, 0.0, 1.17], ANGLES // 3), *GOOD.times])
LIKE = with_numbers(GOOD, GOOD.numbers + np.where(np.arange(ANGLES + 4) == 1, 0.001, 0.0))


def test_a_manoeuvre_that_does_nothing_turns_no_robot_over_that_lies_on_its_back():
    assert turn_over(ROBOT, GOOD, ["LM"], [1], 2.0)[0] == 1
    assert turn_over(ROBOT, NOTHING, ["LM"], [1], 2.0)[0] == 0


@pytest.fixture
def falls(monkeypatch):
    """Falls that are only noted, as (manoeuvre, lost legs, seeds, speed): the good manoeuvre turns all robots over."""
    noted = []

    def turned(_, manoeuvre, lost, seeds, speed):
        noted.append((manoeuvre, tuple(lost), list(seeds), speed))
        return len(noted[-1][2]) if manoeuvre is GOOD else 0, 0.05

    monkeypatch.setattr(search, "turn_over", turned)
    return noted


def test_both_are_tried_after_the_same_falls_without_the_same_legs(falls):
    judge(ROBOT, NOTHING, GOOD, speed=2.0, falls=4)
    (new, *how), (old, *again) = falls
    assert new is NOTHING and old is GOOD and how == again
    assert how[0] == ("LM",) and len(set(how[1])) == 4 and how[2] == 2.0


def test_each_manoeuvre_is_judged_on_falls_of_its_own_which_no_table_has(falls):
    for new in (LIKE, LIKE, NOTHING):
        judge(ROBOT, new, GOOD, speed=2.0, falls=1)
    one, again, other = (seeds for _, _, seeds, _ in falls[::2])
    assert one == again != other and min(one + other) >= FIRST_SEED


@pytest.mark.parametrize(
    "new, old, takes",
    [
        ((48, 0.0), (50, 0.0), False),
        ((50, 0.0), (50, 0.0), True),
        ((49, 0.2), (48, 0.0), True),
        ((50, 0.3), (50, 0.0), False),
        ((50, 0.3), (50, 0.4), True),
        ((49, 0.0), (50, 0.4), False),
    ],
)
def test_a_search_replaces_what_there_is_only_by_what_turns_as_many_over(monkeypatch, new, old, takes):
    """What the search found costs less: that alone does not count."""
    monkeypatch.setattr(search, "find_manoeuvre", lambda *_: (LIKE, 7))
    monkeypatch.setattr(search, "turn_over", lambda _, manoeuvre, *__: new if manoeuvre is LIKE else old)
    found, what = search.find_better(ROBOT, search.Effort(falls=50), ("LM",), [GOOD], GOOD)
    assert (found is LIKE) == takes and (found is None) != takes
    assert f"the best of 7; {'taken' if takes else 'the old one is kept'}: of 50 fresh falls it turned {new[0]}" in what


WHOLE = Morphology.whole(ROBOT)
GAIT = AdaptiveGait().bind(ROBOT)
STANCE = GAIT.position.copy()
ON_ITS_BACK = np.diag([1.0, -1.0, -1.0])


def fallen(actual=WHOLE, seed=3):
    random = np.random.default_rng(seed)
    get_up = GetUp(ROBOT, GetUpLibrary.load_for_robot(ROBOT))
    robot = FallenRobot(ROBOT, get_up, truth=draw_truth(random, seed), actual=actual, seed=seed)
    robot.drop(0.2, ON_ITS_BACK, draw_joints(STANCE, random))
    return robot


def test_it_gets_up_from_its_back_and_stands():
    """Without a leg; test/onboard has the whole robot."""
    morphology = WHOLE.without("RM")
    GAIT.set_morphology(morphology)
    robot = fallen(morphology)
    assert robot.physics.rotation[2, 2] < -0.8
    robot.get_up.begin(GAIT, morphology)
    assert robot.run(25.0) and robot.get_up.phase is Phase.DONE
    assert robot.physics.rotation[2, 2] > 0.95 and robot.physics.position[2] > 0.09


def test_with_a_joint_that_somebody_holds_it_does_not_turn_over():
    at = float(STANCE[4])
    GAIT.set_morphology(None)
    robot = fallen(WHOLE.locked("LM.femur", angle=at), seed=4)
    before = robot.physics.q.copy()
    robot.get_up.begin(GAIT, WHOLE)
    assert robot.run(25.0) and robot.get_up.phase is Phase.STOPPED
    assert "femur_joint_LM" in robot.get_up.reason
    assert np.abs(robot.physics.q - before).max() < 0.2


def test_turned_over_by_hand_after_the_request_it_does_not_move():
    GAIT.set_morphology(None)
    robot = fallen(seed=5)
    robot.get_up.begin(GAIT, WHOLE)
    before = robot.physics.q.copy()
    pushes = np.random.default_rng(5)
    robot.before_tick = lambda it: it.physics.push([0.0, 0.0, 0.0, *pushes.normal(0.0, 0.5, 3)])
    assert robot.run(25.0) and robot.get_up.phase is Phase.FAILED and "rest" in robot.get_up.reason
    assert np.abs(robot.physics.q - before).max() < 0.1
