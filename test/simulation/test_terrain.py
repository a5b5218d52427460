"""Truths by their words: grounds and how they are simulated, refusals of grounds, servos and numbers."""

import numpy as np
import pytest
from support.jethexa import ROBOT, STAND, standing

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.simulation import MujocoSimulator, Simulator, Truth
from hexapod_dynamics.simulation.truth import SERVOS

AHEAD = np.linspace(0.0, 4.0, 801)


def profile(text: str) -> np.ndarray:
    """Heights along the robot's way."""
    return Truth.parse(text).make_ground().heights(AHEAD, np.zeros(1))[0]


def test_slopes_rise_in_the_direction_that_is_named():
    rise = np.tan(np.radians(12.0))
    for text, x, y in (("slope:12", rise, 0.0), ("slope:12:down", -rise, 0.0), ("slope:12:across", 0.0, rise)):
        ground = Truth.parse(f"ground={text}").make_ground()
        assert [ground.height(1.0, 0.0), ground.height(0.0, 1.0)] == pytest.approx([x, y])


def test_blocks_are_level_squares_of_ten_centimetres():
    heights = profile("ground=blocks:0.04,seed=7")
    assert 0.02 < np.ptp(heights) <= 0.04
    tops = heights[10:790].reshape(39, 20)  # the edges of the squares are at odd multiples of 5 cm
    assert np.ptp(tops[:, 2:17], axis=1).max() < 1e-9
    # Between two tops lie no more than the 12.5 mm of an edge.
    changing = np.abs(np.diff(heights)) > 1e-9
    assert 0.1 < changing.mean() < 0.21
    assert np.array_equal(heights, profile("ground=blocks:0.04,seed=7"))
    assert not np.array_equal(heights, profile("ground=blocks:0.04,seed=8"))


def test_steps_and_stairs_go_up_and_down_again_ahead_of_the_robot():
    heights = profile("ground=steps:0.04,seed=3")
    assert heights[0] == 0.0 and heights.max() == pytest.approx(0.04) and abs(heights[300:400]).max() < 0.05
    edges = AHEAD[1:][np.abs(np.diff(heights)) > 1e-6]
    assert 0.55 < edges[0] < 0.85
    stairs = profile("ground=stairs,seed=3")
    assert stairs.max() == pytest.approx(0.12) and abs(stairs[-1]) < 1e-9
    assert profile("ground=stairs:0.02,seed=3").max() == pytest.approx(0.06)


@pytest.mark.parametrize("text", ["ground=blocks:0.03,seed=2", "ground=steps:0.04", "ground=gravel,seed=1"])
def test_mujoco_s_robot_stands_on_what_is_drawn(text):
    sim = MujocoSimulator(ROBOT, timestep=2e-3, truth=Truth.parse(text))
    x = 1.0 if "steps" in text else 0.0
    height = sim.ground.heights(np.linspace(x - 0.2, x + 0.2, 81), np.linspace(-0.2, 0.2, 81)).max()
    sim.reset(joints=STAND, position=[x, 0.0, 0.14 + height])
    sim.step(600)
    mean = sim.ground.height(x, 0.0) if "steps" in text else 0.0
    assert sim.position[2] == pytest.approx(0.12 + mean, abs=0.02) and sim.rotation[2, 2] > np.cos(np.radians(12.0))


def test_patches_are_slippery_soft_or_neither():
    ground = Truth.parse("ground=patches,friction=0.7,seed=9").make_ground()
    kinds = [ground.patch(0.3 * i + 0.1, 0.3 * j + 0.1) for i in range(30) for j in range(30)]
    assert 0.2 < kinds.count("slippery") / 900 < 0.3 and 0.2 < kinds.count("soft") / 900 < 0.3
    assert ground.patch(0.01, 0.01) == ground.patch(0.29, 0.29)
    sim = standing(MujocoSimulator(ROBOT, timestep=2e-3, truth=Truth.parse("ground=patches,friction=0.7,seed=9")), 500)
    places = [sim.data.geom_xpos[geom] for geom in sim._foot_geoms]
    expected = [{"slippery": 0.25}.get(ground.patch(x, y), 0.7) for x, y, _ in places]
    assert [sim.model.geom_friction[geom, 0] for geom in sim._foot_geoms] == pytest.approx(expected)
    soft = [0.002 - z for (x, y, z) in places if ground.patch(x, y) == "soft"]
    firm = [0.002 - z for (x, y, z) in places if ground.patch(x, y) != "soft"]
    assert 0.003 < min(soft) and max(soft) < 0.03 and max(firm) < 0.002


@pytest.mark.parametrize(
    "text, named",
    [
        ("ground=blok:0.03", "ground=blok:0.03 given, allowed are flat, slope"),
        ("ground=blocks", "for blocks are numbers from 0.001 to 0.1 m"),
        ("ground=blocks:1", "for blocks are numbers from 0.001 to 0.1 m"),
        ("ground=slope:12:left", "directions are up, down, across"),
        ("ground=slope:12:up:up", "allowed are flat"),
        ("ground=slope:5,ground=flat", "ground is given twice"),
        ("ground=gravel,rough=0.01", "slope or rough given, allowed is one of them"),
        ("graund=gravel", "ground= with flat"),
        ("servos=ideal", "'servos=ideal' given, allowed is one servos=" + " or ".join(SERVOS)),
        ("backlash=1", "'backlash=1' given, allowed are name=number with .*hysteresis.*and servos=real or half"),
        ("friction_model=2", "friction_model=2 given, allowed are 0, 1, 4, 6"),
        ("lag=-1", "lag=-1.0 given, allowed are numbers from 0.0 to 0.1 s"),
        ("stiffness=soft", "stiffness='soft' given, a number is needed"),
        ("seed=1_0", "seed='1_0' given, a number is needed"),
        ("mass", "'mass' given"),
        ("mass=1,mass=2", "mass is given twice"),
        ("seed=1.5", "seed=1.5 given, a whole number"),
    ],
)
def test_truths_that_do_not_exist_are_refused_by_name(text, named):
    with pytest.raises(HexapodError, match=named):
        Truth.parse(text)


def test_a_truth_is_described_as_it_is_parsed():
    assert Truth.parse("") == Truth()
    assert Truth.parse("mass=1.1, payload=0.2,seed=7") == Truth(mass=1.1, payload=0.2, seed=7)
    truth = Truth.parse("ground=slope:12:across,mass=1.1, payload=0.2,seed=7")
    assert Truth.parse(truth.describe()) == truth and "ground=slope:12:across" in truth.describe()


def test_the_built_in_physics_has_slopes_alone():
    assert Simulator(ROBOT, truth=Truth.parse("ground=slope:5")).ground.slope_x > 0.08
    for text in ("blocks:0.03", "patches", "gravel"):
        with pytest.raises(HexapodError, match="needs physics:=mujoco"):
            Simulator(ROBOT, truth=Truth.parse(f"ground={text}"))
