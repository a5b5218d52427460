"""Environments of Gymnasium: its own checks, seeds, damage at random times, many robots at once, refusals by name."""

import numpy as np
import pytest
from support.programs import python

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from hexapod_dynamics.errors import HexapodError  # noqa: E402
from hexapod_dynamics.gait import TripodGait  # noqa: E402
from hexapod_dynamics.learning import EPISODE, NAMES  # noqa: E402
from hexapod_dynamics.learning.environments import ASKED, HEIGHT, JOINTS, UP, VELOCITY, RandomDamage  # noqa: E402
from hexapod_dynamics.robot import Morphology, Robot  # noqa: E402

WALK, DAMAGED = NAMES
ROBOT = Robot.jethexa()


def actions(count, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 18)).astype(np.float32)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_s_own_check_has_nothing_to_say(name):
    check_env(gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_an_episode_is_its_seed_and_its_actions(name):
    environment = gymnasium.make(name)
    runs = []
    for seed in (1, 2, 1):
        begin, _ = environment.reset(seed=seed)
        steps = [environment.step(action) for action in actions(300)]
        runs.append((np.array([begin, *(step[0] for step in steps)]), [step[1] for step in steps]))
    assert np.array_equal(runs[0][0], runs[2][0]) and runs[0][1] == runs[2][1]
    assert not np.array_equal(runs[0][0], runs[1][0])


def test_standing_still_observes_what_is_so_and_ends_after_ten_seconds():
    environment = gymnasium.make(WALK, velocity=(0.0, 0.0, 0.0), spread=0.0)
    environment.reset(seed=0)
    for _ in range(EPISODE):
        observation, reward, fallen, over, info = environment.step(np.zeros(18, np.float32))
    assert over and not fallen
    np.testing.assert_allclose(observation[UP : UP + 3], [0, 0, 1], atol=1e-3)
    np.testing.assert_allclose(observation[VELOCITY:HEIGHT], 0.0, atol=1e-3)
    assert observation[HEIGHT] == pytest.approx(0.12, abs=0.005)
    assert reward == pytest.approx(1.0, abs=1e-3) and info["power"] < 1e-3


def test_the_tripod_gait_earns_more_than_standing_and_tilting_ends_the_episode():
    """The actions of TripodGait, through the action space, walk; a push over 60 degrees is a fall."""
    environment = gymnasium.make(WALK, reach=1.0, power_weight=0.0).unwrapped
    gait = TripodGait().bind(ROBOT)
    earned = []
    for walking in (True, False):
        environment.reset(seed=0)
        gait.reset(walking=walking)
        total = 0.0
        for _ in range(200):
            action = gait.step(0.02)[0] - environment.pose if walking else np.zeros(18)
            observation, reward, fallen, _, _ = environment.step(action)
            total += reward
            assert not fallen
        earned.append(total / 200)
        assert observation[ASKED] == np.float32(0.077)
    assert earned[0] > 0.5 > 0.2 > earned[1]
    environment.model.rotation[:] = [[1, 0, 0], [0, -1, 0], [0, 0, -1]]
    assert environment.step(np.zeros(18))[2]


def test_damage_comes_at_random_times_and_is_what_the_physics_has():
    environment = gymnasium.make(DAMAGED).unwrapped
    when, kinds = [], set()
    for seed in range(30):
        environment.reset(seed=seed)
        assert environment.morphology.is_intact
        for k in range(200):
            info = environment.step(np.zeros(18))[4]
            if "damage" in info:
                when.append(k)
                assert info["damage"] == environment.morphology.describe() != "whole"
                assert environment.model.morphology == environment.morphology
        kinds |= {word for word in environment.morphology.describe().replace(",", "").split() if word.isalpha()}
    assert len(set(when)) > 15 and {"missing", "locked", "limp", "broken"} <= kinds
    missing = ~environment.morphology.existing_mask
    observation = environment.step(np.ones(18))[0]
    assert not observation[JOINTS : JOINTS + 18][missing].any()


def test_damage_meets_whole_legs_only_and_locks_joints_where_they_are():
    random, q = np.random.default_rng(0), np.linspace(-0.5, 0.5, 18)
    morphology = Morphology.whole(ROBOT)
    for injured in range(1, 7):
        morphology = RandomDamage().add_injury(random, morphology, q)
        assert sum(leg in morphology.describe() for leg in ROBOT.leg_names) == injured
        locked = ~morphology.moving_mask & morphology.existing_mask
        assert np.array_equal(morphology.locked_positions[locked], q[locked])
    assert RandomDamage().add_injury(random, morphology, q) is morphology


def test_many_robots_are_each_what_one_would_be():
    """An episode that has ended begins anew, and its next action is ignored."""
    many = gymnasium.make_vec(DAMAGED, num_envs=3, max_episode_steps=20)
    assert many.observation_space.shape == (3, 67)
    alone = [gymnasium.make(DAMAGED).unwrapped for _ in range(3)]
    begun, _ = many.reset(seed=5)
    for i, one in enumerate(alone):
        assert np.array_equal(one.reset(seed=5 + i)[0], begun[i])
    for k, action in enumerate(actions(50)):
        observations, rewards, fallen, over, infos = many.step(np.stack([action] * 3))
        assert over.all() == (k in (19, 40)) and not fallen.any()
        for i, one in enumerate(alone):
            if k in (20, 41):
                assert np.array_equal(one.reset()[0], observations[i]) and rewards[i] == 0.0
                continue
            expected = one.step(action)
            assert np.array_equal(expected[0], observations[i]) and expected[1] == rewards[i]
            if "damage" in expected[4]:
                assert infos["damage"][i] == expected[4]["damage"] and infos["_damage"][i]
    many.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_gymnasium_s_own_vectors_work(mode):
    many = gymnasium.make_vec(DAMAGED, num_envs=2, vectorization_mode=mode)
    many.reset(seed=0)
    assert many.step(many.action_space.sample())[0].shape == (2, 67)
    many.close()


def test_another_robot_and_random_velocities():
    octopod = Robot.load(__file__.replace("learning/test_environments.py", "robots/octopod.yaml"))
    pose = np.zeros(octopod.joint_count)
    environment = gymnasium.make(WALK, robot=octopod, pose=pose, velocity="random")
    asked = [environment.reset(seed=seed)[0][ASKED : ASKED + 3] for seed in range(3)]
    assert len({tuple(each) for each in asked}) == 3
    assert environment.step(pose)[0].shape == (13 + 3 * octopod.joint_count,)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: gymnasium.make(WALK, reach=0.0), ("reach", "0.0", "above 0")),
        (lambda: gymnasium.make(WALK, power_weight=float("nan")), ("power_weight", "nan")),
        (lambda: gymnasium.make(WALK, period=0.003), ("period", "0.003", "timestep")),
        (lambda: gymnasium.make(WALK, velocity="fast"), ("velocity", "fast", "random")),
        (lambda: gymnasium.make(WALK, velocity=(0.1, 0.0)), ("velocity", "(2,)", "(3,)")),
        (lambda: gymnasium.make(WALK, pose=[0.0]), ("pose", "18")),
        (lambda: gymnasium.make(WALK, robot="jethexa.yaml"), ("robot", "Robot.load")),
        (lambda: gymnasium.make(WALK, damage=0.5), ("damage", "RandomDamage needed")),
        (lambda: RandomDamage(interval=float("nan")), ("interval", "nan")),
        (lambda: RandomDamage(most=-1), ("most", "-1")),
        (lambda: gymnasium.make_vec(WALK, num_envs=2).step(np.zeros((2, 18))), ("step", "reset")),
        (lambda: gymnasium.make(WALK).unwrapped.step(np.zeros(18)), ("step", "reset")),
    ],
)
def test_wrong_input_is_refused_by_name(call, named):
    with pytest.raises(HexapodError) as refusal:
        call()
    for part in named:
        assert part in str(refusal.value)


@pytest.mark.parametrize("action", [np.zeros(3), np.full(18, np.nan), np.full(18, np.inf)])
def test_a_wrong_action_is_refused(action):
    environment = gymnasium.make(WALK).unwrapped
    environment.reset(seed=0)
    with pytest.raises(HexapodError, match="action"):
        environment.step(action)


def test_without_gymnasium_the_error_names_the_install_line():
    program = "import sys; sys.modules['gymnasium'] = None; import hexapod_dynamics.learning"
    done = python("-c", program)
    assert done.returncode != 0
    assert "HexapodError" in done.stderr and "pip install 'hexapod_dynamics[learning]'" in done.stderr
