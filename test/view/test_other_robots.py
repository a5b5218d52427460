"""Robots with four and with eight legs, also with sliders, are drawn and played as the JetHexa is; the ground and
forces of the scene.
"""

import socket
import time
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.view_client import ViewClient
from support.waiting import wait_until

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.simulation import Ground, Simulator
from hexapod_dynamics.tools.plot import main
from hexapod_dynamics.view.playback import Playback, show
from hexapod_dynamics.view.scene import Surroundings, compute_reach, find_hips, find_leg, ground_mesh, read_description
from hexapod_dynamics.view.web_page import WebPage

ROBOTS = Path(__file__).resolve().parents[1] / "robots"


@pytest.fixture(params=["quadruped_with_sliders", "octopod"], scope="module")
def file(request, tmp_path_factory):
    """A robot's file; the octopod with sliders in place of its screws, which no URDF can have."""
    screw, slider = "kind: helical, pitch: 0.004, axis", "kind: prismatic, axis"
    text = (ROBOTS / f"{request.param}.yaml").read_text().replace(screw, slider).replace("[-60, 60]", "[-0.05, 0.05]")
    assert "helical" not in text
    path = tmp_path_factory.mktemp("robots") / f"{request.param}.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def robot(file):
    return Robot.load(str(file))


@pytest.fixture(scope="module")
def log(robot):
    return Simulator(robot).run(0.3)


def test_the_view_places_every_foot_where_the_links_are(robot):
    """By the view's own reading of the URDF, against the LinkTree, with a leg lost."""
    morphology = Morphology.whole(robot).without(robot.leg_names[1])
    (_, tree), random = read_description(robot.to_urdf(morphology)), np.random.default_rng(4)
    lower = np.array([joint.lower for joint in robot.joints])
    upper = np.array([joint.upper for joint in robot.joints])
    q = random.uniform(lower, upper)
    values, places = dict(zip(robot.joint_names, q, strict=True)), {tree.name: np.eye(4)}
    for link in tree.list_subtree():
        for child in link.children:
            places[child.name] = places[link.name] @ child.pose_at(values.get(child.joint, 0.0))
    feet = {f: pose for f, pose in LinkTree(robot, morphology).base_poses(q).items() if f.startswith("foot_")}
    assert len(feet) == len(robot.legs) - 1
    for frame, pose in feet.items():
        np.testing.assert_allclose(places[frame][:3, 3], pose[:3, 3], atol=1e-9)
    at_zero = LinkTree(robot, morphology).base_poses(np.zeros(robot.joint_count)).values()
    assert compute_reach(tree) == pytest.approx(max(np.linalg.norm(pose[:3, 3]) for pose in at_zero), abs=1e-9)
    assert tree.visuals


def test_legs_of_any_name_have_a_hip_where_it_is_shown(robot):
    legs = [replace(leg, name=f"leg_{k}_x") for k, leg in enumerate(robot.legs)]
    named = replace(robot, legs=legs, joint_servos=())
    hips = find_hips(read_description(named.to_urdf())[1].list_subtree())
    assert list(hips) == [leg.name for leg in legs]
    assert [find_leg(hip) for hip in hips.values()] == [find_leg(f"foot_{leg.name}") for leg in legs] == list(hips)


def test_a_log_is_played(robot, log):
    with pytest.raises(HexapodError, match=r"show\(log, robot=\.\.\.\)"):
        Playback(log, Robot.jethexa(), Morphology.whole(Robot.jethexa()), Ground(), port=0, host="127.0.0.1")
    playback = Playback(log, robot, Morphology.whole(robot), Ground(), port=0, host="127.0.0.1")
    playback.draw(0.2)
    playback.close()
    alone = Playback(log, robot, Morphology.whole(robot).without(*robot.leg_names), Ground(), port=0, host="127.0.0.1")
    assert alone._figure.reach > 0.0  # else the camera would be in the body
    alone.close()


def test_a_log_that_does_not_begin_at_zero_is_played_from_its_first_moment(robot):
    """It stood still for as long as the simulator had run before."""
    simulator = Simulator(robot)
    simulator.run(0.3)
    log = simulator.run(0.2)
    playback = Playback(log, robot, Morphology.whole(robot), Ground(), port=0, host="127.0.0.1")
    page = ViewClient(playback.url)
    try:
        page.wait("time [s]")
        assert log.time[0] >= 0.3 and page.value("time [s]", "min") == pytest.approx(log.time[0])
        assert page.value("time [s]") == pytest.approx(log.time[0])
        assert page.value("time [s]", "max") == pytest.approx(log.time[-1])
    finally:
        page.close()
        playback.close()


def test_the_address_that_show_prints_opens_the_page_when_it_is_copied(robot, log, capsys, monkeypatch):
    answers = []

    def play(playback):
        address = capsys.readouterr().out.split()[1]  # as a double click marks it: until the next blank
        answers.append(urlopen(address, timeout=20).status)
        raise KeyboardInterrupt

    monkeypatch.setattr(Playback, "play", play)
    show(log, robot, port=0, wait=True)
    assert answers == [200]


def test_nothing_is_drawn_any_more_when_a_playback_is_closed(robot, log, monkeypatch):
    """The thread that plays drew into a server that had ended."""
    drawn, draw = [], Playback.draw

    def slow(playback, t):
        time.sleep(0.2)
        draw(playback, t)
        drawn.append(time.monotonic())

    monkeypatch.setattr(Playback, "draw", slow)
    playback = show(log, robot, port=0, wait=False)
    wait_until(lambda: len(drawn) > 1, 20, "it does not play")
    playback.close()
    closed = time.monotonic()
    time.sleep(0.5)
    assert drawn[-1] < closed


def test_a_robot_with_screws_is_refused_before_the_page_is_opened():
    octopod = Robot.load(str(ROBOTS / "octopod.yaml"))
    log = Simulator(octopod).run(0.01)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(HexapodError, match="drill_L1: URDF has no helical joint"):
        Playback(log, octopod, Morphology.whole(octopod), Ground(), port=port, host="127.0.0.1")
    with socket.socket() as again:
        again.bind(("127.0.0.1", port))  # nobody serves there


def test_a_log_is_drawn_with_its_robot_and_refused_with_another(robot, log, file, tmp_path, capsys):
    log.save(tmp_path / "stand.npz")
    assert main([str(tmp_path / "stand.npz"), "--robot", str(file)]) == 0
    assert (tmp_path / "stand.png").read_bytes().startswith(b"\x89PNG")
    assert main([str(tmp_path / "stand.npz")]) == 1
    assert f"{robot.joint_count} joints" in capsys.readouterr().err


ROUGH = Ground(slope=4.0, slope_yaw=70.0, rough=0.01, seed=7)


@pytest.fixture(scope="module")
def scene():
    """What is around a robot, and the handles of what is drawn, by their names."""
    server = WebPage("127.0.0.1", 0).server
    yield Surroundings(server), server.scene._handle_from_node_name
    server.stop()


def test_the_mesh_of_a_rough_ground_lies_on_it_and_faces_upward():
    vertices, faces = ground_mesh(ROUGH, 3.0, -2.0)
    for x, y, z in vertices[::97]:
        assert z == ROUGH.height(x, y)
    assert np.abs(vertices[:, :2] - [3.0, -2.0]).max() == pytest.approx(0.9)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()
    assert len(np.unique(faces)) == len(vertices)


def test_a_rough_ground_follows_the_robot_and_a_slope_is_an_inclined_grid(scene):
    surroundings, handles = scene
    surroundings.draw_ground(ROUGH, (0.0, 0.0))
    first = handles["/world/rough_ground"]
    assert not handles["/world/ground"].visible
    surroundings.draw_ground(ROUGH, (0.3, 0.0))
    assert handles["/world/rough_ground"] is first
    surroundings.draw_ground(ROUGH, (0.9, 0.0))
    assert handles["/world/rough_ground"] is not first
    slope = Ground(slope=10.0, slope_yaw=30.0)
    surroundings.draw_ground(slope, (3.1, 0.0))
    grid = handles["/world/ground"]
    assert grid.visible
    w, x, y, z = grid.wxyz
    turn = Rotation.from_quat([x, y, z, w])
    for corner in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-2.0, 1.5, 0.0]):
        point = turn.apply(corner) + grid.position
        assert point[2] == pytest.approx(slope.height(point[0], point[1]), abs=1e-9)
    surroundings.follow((3.0, 1.0))  # brought to the middle of the picture
    np.testing.assert_allclose(handles["/world"].position, [-3.0, -1.0, -slope.height(3.0, 1.0)], atol=1e-12)
    surroundings.draw_ground(Ground(), (0.0, 0.0))
    assert tuple(grid.wxyz) == (1.0, 0.0, 0.0, 0.0)


def test_forces_and_spheres_are_drawn_and_hidden(scene):
    surroundings, handles = scene
    feet, forces = np.array([[0.1, 0.0, 0.0], [0.0, 0.1, 0.0]]), np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    surroundings.draw_forces(feet, forces)
    np.testing.assert_allclose(handles["/world/robot/foot_forces"].points, [[[0.1, 0, 0], [0.1, 0, 0.05]]], atol=1e-7)
    surroundings.draw_forces(feet, 0.0 * forces)
    assert not handles["/world/robot/foot_forces"].visible
    surroundings.draw_spheres({"zmp": ((0.1, 0.2, 0.0), (0, 255, 0))})
    assert handles["/world/robot/zmp"].visible and tuple(handles["/world/robot/zmp"].position) == (0.1, 0.2, 0.0)
    surroundings.draw_spheres({})
    assert not handles["/world/robot/zmp"].visible


def test_a_polygon_that_loses_corners_stays_one_closed_line(scene):
    (surroundings, handles), corners = scene, np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    surroundings.draw_polygon(corners)
    line = handles["/world/robot/support_polygon"]
    surroundings.draw_polygon(corners[:3])
    assert handles["/world/robot/support_polygon"] is line
    points = line.points
    np.testing.assert_array_equal(points[1:, 0], points[:-1, 1])  # each begins where the one before ends
    np.testing.assert_array_equal(points[:3, 0], corners[:3])
    np.testing.assert_array_equal(points[-1, 1], corners[0])
    surroundings.draw_polygon(corners[:1])
    assert not line.visible
