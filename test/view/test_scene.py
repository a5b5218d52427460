"""The scene draws what it is given: ground, forces, spheres. The browser is in nodes/test_view.py."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hexapod_dynamics.simulation import Ground
from hexapod_dynamics.view.scene import Surroundings, ground_mesh
from hexapod_dynamics.view.web_page import WebPage

ROUGH = Ground(slope=4.0, slope_yaw=70.0, rough=0.01, seed=7)


@pytest.fixture(scope="module")
def server():
    server = WebPage("127.0.0.1", 0).server
    yield server
    server.stop()


class Drawn:
    """The scene's methods, which keep the handle of what they add."""

    def __init__(self, server):
        self.handles = {}
        for name in ("add_grid", "add_frame", "add_mesh_trimesh", "add_arrows", "add_icosphere", "add_line_segments"):
            setattr(self, name, self._keeping(getattr(server.scene, name)))
        self.scene = self

    def _keeping(self, add):
        def keep(name, *arguments, **options):
            self.handles[name] = add(name, *arguments, **options)
            return self.handles[name]

        return keep


def test_the_mesh_of_a_rough_ground_lies_on_it_and_faces_upward():
    vertices, faces = ground_mesh(ROUGH, 3.0, -2.0)
    for x, y, z in vertices[::97]:
        assert z == ROUGH.height(x, y)
    assert np.abs(vertices[:, :2] - [3.0, -2.0]).max() == pytest.approx(0.9)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()
    assert len(np.unique(faces)) == len(vertices)


def test_a_rough_ground_follows_the_robot_and_a_slope_is_an_inclined_grid(server):
    drawn = Drawn(server)
    surroundings, handles = Surroundings(drawn), drawn.handles
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


def test_forces_and_spheres_are_drawn_and_hidden(server):
    drawn = Drawn(server)
    surroundings, handles = Surroundings(drawn), drawn.handles
    feet, forces = np.array([[0.1, 0.0, 0.0], [0.0, 0.1, 0.0]]), np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    surroundings.draw_forces(feet, forces)
    np.testing.assert_allclose(handles["/world/robot/foot_forces"].points, [[[0.1, 0, 0], [0.1, 0, 0.05]]], atol=1e-7)
    surroundings.draw_forces(feet, 0.0 * forces)
    assert not handles["/world/robot/foot_forces"].visible
    surroundings.draw_spheres({"zmp": ((0.1, 0.2, 0.0), (0, 255, 0))})
    assert handles["/world/robot/zmp"].visible and tuple(handles["/world/robot/zmp"].position) == (0.1, 0.2, 0.0)
    surroundings.draw_spheres({})
    assert not handles["/world/robot/zmp"].visible


def test_a_polygon_that_loses_corners_stays_one_closed_line(server):
    drawn = Drawn(server)
    surroundings, corners = Surroundings(drawn), np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    surroundings.draw_polygon(corners)
    line = drawn.handles["/world/robot/support_polygon"]
    surroundings.draw_polygon(corners[:3])
    assert drawn.handles["/world/robot/support_polygon"] is line
    points = line.points
    np.testing.assert_array_equal(points[1:, 0], points[:-1, 1])  # each begins where the one before ends
    np.testing.assert_array_equal(points[:3, 0], corners[:3])
    np.testing.assert_array_equal(points[-1, 1], corners[0])
    surroundings.draw_polygon(corners[:1])
    assert not line.visible
