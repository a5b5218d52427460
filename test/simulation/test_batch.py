"""Many simulations at once: the same as one by one, on threads, processes; progress and failure are seen. Logs are
joined, drawn and read.
"""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Log, Simulator, TripodGait, simulate_many
from hexapod_dynamics.view import plot_walk

DAMAGES = [WHOLE, WHOLE.without("RM"), WHOLE.without("LM.femur"), WHOLE.locked("RF.tibia", 0.1)]


def one_by_one():
    return [Simulator(ROBOT, each, gait=TripodGait()).run(0.3, log_every=10) for each in DAMAGES]


def same(logs, others):
    return len(logs) == len(others) and all(
        np.array_equal(a.position, b.position) and np.array_equal(a.joint_positions, b.joint_positions)
        for a, b in zip(logs, others, strict=True)
    )


def test_on_threads_by_default():
    assert same(simulate_many(ROBOT, DAMAGES, 0.3), one_by_one())


def test_on_processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        assert same(simulate_many(ROBOT, DAMAGES, 0.3, executor), one_by_one())


def test_progress_counts_to_the_end():
    seen = []
    simulate_many(ROBOT, DAMAGES, 0.05, progress=lambda done, count: seen.append((done, count)))
    assert seen == [(k, 4) for k in (1, 2, 3, 4)]


def test_another_gait_and_other_options_reach_every_simulation():
    logs = simulate_many(
        ROBOT, DAMAGES[:1], 1.3, gait=TripodGait(step_length=0.02), timestep=2e-3, log_every=1, command_period=0.02
    )
    assert logs[0].time[:2] == pytest.approx([2e-3, 4e-3])
    assert logs[0].position[-1, 0] < 0.045


def test_the_first_failure_is_raised_here():
    with ThreadPoolExecutor(1) as executor, pytest.raises(HexapodError, match="timestep: given 1.0"):
        simulate_many(ROBOT, DAMAGES, 0.1, executor, timestep=1.0)


def test_every_single_damage_is_survived():
    """6 legs, 18 links, 18 locked joints: the robot stays above the ground and whole numbers come out."""
    links = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links]
    damages = [WHOLE.without(name) for name in (*ROBOT.leg_names, *links)]
    damages += [WHOLE.locked(name, 0.1) for name in links]
    logs = simulate_many(ROBOT, damages, 1.3)
    assert len(logs) == 42
    for log in logs:
        assert np.isfinite(log.position).all() and log.position[:, 2].min() > 0.05
        assert np.abs(log.euler_zyx[:, 1:]).max() < np.radians(20.0)


def test_two_logs_of_a_walk_are_joined_and_drawn_in_one_call(tmp_path):
    robot = Robot.jethexa()
    simulator = Simulator(robot, gait=TripodGait())
    whole = simulator.run(0.5)
    simulator.set_morphology(Morphology.whole(robot).without("RM"))
    hurt = simulator.run(0.3)
    log = plot_walk(tmp_path / "walk.png", robot, {"whole": whole, "without RM": hurt})
    assert (tmp_path / "walk.png").stat().st_size > 10_000
    assert len(log.time) == len(whole.time) + len(hurt.time) and np.all(np.diff(log.time) > 0.0)
    np.testing.assert_array_equal(log.position[-1], hurt.position[-1])
    with pytest.raises(HexapodError, match="a log begins before"):
        type(log).join(hurt, whole)
    with pytest.raises(HexapodError, match="no log given"):
        type(log).join()


def test_a_log_of_no_steps_joins_any_other():
    simulator = Simulator(Robot.jethexa())
    nothing, log = simulator.run(0.0), simulator.run(0.01)
    np.testing.assert_array_equal(Log.join(nothing, log, nothing).time, log.time)


@pytest.mark.parametrize("content", ["empty", "half", "one array", "other arrays"])
def test_a_file_that_no_log_has_written_is_named(tmp_path, content):
    path = tmp_path / "walk.npz"
    Simulator(Robot.jethexa()).run(0.01).save(path)
    if content in ("empty", "half"):
        path.write_bytes(path.read_bytes()[: 0 if content == "empty" else path.stat().st_size // 2])
    with path.open("ab") as file:
        if content == "one array":
            file.truncate(0)
            np.save(file, np.zeros(3))
        elif content == "other arrays":
            file.truncate(0)
            np.savez(file, q=np.zeros(3))
    with pytest.raises(HexapodError, match=r"walk\.npz is no file that Log\.save\(\) has written"):
        Log.load(path)
