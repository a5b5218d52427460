"""The robot, its ground and foot forces as a viser scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.control.support import FORCE_SCALE
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.foot_loads import turn_upright
from hexapod_dynamics.robot.model_tree import MOVING, Shape, TreeLink
from hexapod_dynamics.robot.urdf_reading import read_root, read_tree
from hexapod_dynamics.se3 import pose, quaternion_from_rotation, rotation_z
from hexapod_dynamics.simulation.ground import Ground

if TYPE_CHECKING:
    import trimesh
    import viser

Colour = tuple[int, int, int]  # red, green, blue, 0 to 255
# What is drawn around the robot: its name and colour. Centre of mass and zero-moment point come in their colours.
LEGEND = {
    "foot forces": "#dc2828",
    "support polygon": "#f0961e",
    "centre of mass": "#8c33bf",
    "zero-moment point": "#1a9940",
    "predicted path": "#286edc",
    "trail": "#787878",
    "translucent robot: the prediction": "#738099",
}
WORLD = "/world"  # frame in the scene of everything that is drawn
MESH = f"{WORLD}/rough_ground"
JETHEXA_REACH = 0.26  # [m] see `compute_reach`
CAMERA, LOOK_AT = (1.55, -1.85, 1.55), (0.0, 0.0, 0.2)  # for a robot whose reach is 1


def _colour(name: str) -> Colour:
    red, green, blue = bytes.fromhex(LEGEND[name].removeprefix("#"))
    return red, green, blue


def prepare_scene(server: viser.ViserServer) -> None:
    """Let z be up, and the cameras of all pages see a robot like the JetHexa."""
    server.scene.set_up_direction("+z")
    aim_cameras(server, JETHEXA_REACH)


def aim_cameras(server: viser.ViserServer, reach: float) -> None:
    """Place the camera of every page, also of later ones, for a robot at the origin of this reach [m]."""
    for camera in (server.initial_camera, *(client.camera for client in server.get_clients().values())):
        camera.position, camera.look_at = tuple(reach * np.array(CAMERA)), tuple(reach * np.array(LOOK_AT))


def aim_camera(client: viser.ClientHandle, reach: float, view: str, yaw: float) -> None:
    """Place the camera of one page for a robot at the origin of this reach [m] and heading yaw [rad].

    view: "" (as at the start), "top", "side" (from its left) or "behind".
    """
    ahead, left, up = rotation_z(yaw).T
    place = {
        "": np.array(CAMERA),
        "top": 3.2 * up - 0.01 * ahead,  # not exactly above: the camera's heading would not be defined
        "side": 2.6 * left + 0.5 * up,
        "behind": 1.1 * up - 2.3 * ahead,
    }[view]
    with client.atomic():
        client.camera.position, client.camera.look_at = tuple(reach * place), tuple(reach * np.array(LOOK_AT))


def read_description(text: str) -> tuple[str, TreeLink]:
    """Return a robot's name and its tree of links from a URDF; HexapodError if it is not a URDF."""
    try:
        root = read_root(text)
        return root.get("name", ""), read_tree(root)
    except HexapodError as error:
        raise HexapodError(f"robot_description cannot be read: {error}") from None


def compute_reach(tree: TreeLink) -> float:
    """Return the largest distance [m] of a link's frame from the root's, all joints at zero."""
    poses = {tree.name: np.eye(4)}
    for link in tree.list_subtree():
        poses |= {child.name: poses[link.name] @ child.pose for child in link.children}
    return max(float(np.linalg.norm(placed[:3, 3])) for placed in poses.values())


class RobotFigure:
    """One robot in the scene: frames for its links, meshes in them; moved by pose and joint positions."""

    def __init__(
        self,
        server: viser.ViserServer,
        name: str,
        *,
        opacity: float | None = None,
        on_click: Callable[[str], None] | None = None,
    ) -> None:
        """name: of its node in the scene, `base`. opacity: below 1 for a ghost. on_click(name): called with the name of
        a clicked link.

        With `on_click` the names of the legs are shown at their hips.
        """
        self._server, self._name, self._opacity, self._on_click = server, name, opacity, on_click
        self.robot_name, self.reach = "", JETHEXA_REACH  # in its URDF; [m] the JetHexa's until there is a robot
        self.urdf = ""  # which it shows
        self.base = server.scene.add_frame(f"{WORLD}/{name}", show_axes=False)
        self._frames: dict[str, tuple[TreeLink, viser.FrameHandle]] = {}  # by joint
        self._handles: list[viser.SceneNodeHandle] = []
        self._labels: list[viser.LabelHandle] = []
        self._labels_visible = True
        self._values: dict[str, float] = {}

    def show_labels(self, yes: bool) -> None:
        """Draw the names of the legs, or hide them."""
        self._labels_visible = yes
        for label in self._labels:
            label.visible = yes

    def load(self, text: str) -> None:
        """Show a URDF of boxes, cylinders and spheres; the same text again changes nothing. Meshes from files are
        skipped. HexapodError if it is not a URDF.
        """
        if text == self.urdf:
            return
        name, tree = read_description(text)
        for handle in reversed(self._handles):
            handle.remove()
        self._handles, self._labels, self._frames, self._values = [], [], {}, {}
        self.urdf, self.robot_name, self.reach = text, name, compute_reach(tree) or self.reach  # a body has none
        scene, links = self._server.scene, tree.list_subtree()
        paths = {tree.name: f"{WORLD}/{self._name}/{tree.name}"}
        self._handles.append(scene.add_frame(paths[tree.name], show_axes=False))
        for parent in links:
            for child in parent.children:
                path, (wxyz, position) = f"{paths[parent.name]}/{child.name}", _convert_pose(child.pose)
                frame = scene.add_frame(path, show_axes=False, wxyz=wxyz, position=position)
                paths[child.name], self._frames[child.joint] = path, (child, frame)
                self._handles.append(frame)
        for link in links:
            for k, (rgba, mesh) in enumerate(self._meshes(link)):
                self._handles.append(self._draw_mesh(f"{paths[link.name]}/mesh{k}", link.name, mesh, rgba))
        if self._on_click is not None:
            for leg, hip in find_hips(links).items():
                label = scene.add_label(
                    f"{paths[hip]}/name", leg, position=(0.0, 0.0, 0.2 * self.reach), anchor="bottom-center"
                )
                label.visible = self._labels_visible
                self._labels.append(label)
                self._handles.append(label)

    def _meshes(self, link: TreeLink) -> list[tuple[tuple[float, ...], trimesh.Trimesh]]:
        """Return one mesh a colour; of a ghost one mesh a link, of one colour: fewer things to draw."""
        import trimesh  # comes with viser

        ghost = *(part / 255.0 for part in _colour("translucent robot: the prediction")), 1.0
        by_colour: dict[tuple[float, ...], list[trimesh.Trimesh]] = {}
        for shape in link.visuals:
            by_colour.setdefault(shape.rgba if self._opacity is None else ghost, []).append(_mesh(shape))
        return [(rgba, trimesh.util.concatenate(meshes)) for rgba, meshes in by_colour.items()]

    def _draw_mesh(self, path: str, link: str, mesh: trimesh.Trimesh, rgba: tuple[float, ...]) -> viser.SceneNodeHandle:
        handle = self._server.scene.add_mesh_simple(
            path,
            np.asarray(mesh.vertices, float),
            np.asarray(mesh.faces, np.int64),
            color=tuple(round(255 * part) for part in rgba[:3]),
            opacity=self._opacity if self._opacity is not None else rgba[3] if rgba[3] < 1.0 else None,
            flat_shading=True,
            cast_shadow=self._opacity is None,
        )
        if self._on_click is not None:
            clicked = self._on_click
            handle.on_click(lambda _event: clicked(link))
        return handle

    def move(self, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Place the body: position (3,) [m], quaternion (x, y, z, w)."""
        x, y, z, w = quaternion
        self.base.position, self.base.wxyz = tuple(position), (w, x, y, z)

    def turn(self, positions: Mapping[str, float]) -> None:
        """Set joint positions by name [rad or m]; only those that changed by 0.02 degrees are sent to the browser."""
        for name, (link, frame) in self._frames.items():
            value = positions.get(name)
            if value is None or abs(value - self._values.get(name, np.inf)) < 3e-4:
                continue
            frame.wxyz, position = _convert_pose(link.pose_at(value))
            if link.kind == "prismatic":
                frame.position = position
            self._values[name] = value


def find_leg(link: str) -> str:
    """Return the leg of a link by its name, <link>_link_<leg> or foot_<leg>; the name itself of another link."""
    return link.removeprefix("foot_").rpartition("_link_")[2]


def find_hips(links: Sequence[TreeLink]) -> dict[str, str]:
    """Return {leg: its first moving link}; a leg has a link foot_<leg>."""
    names = {link.name for link in links}
    found: dict[str, str] = {}
    for link in links:
        leg = find_leg(link.name)
        if link.kind in MOVING and f"foot_{leg}" in names:
            found.setdefault(leg, link.name)
    return found


def _mesh(shape: Shape) -> trimesh.Trimesh:
    """Return the triangles of a shape in the link's axes."""
    import trimesh  # comes with viser

    make, size = trimesh.creation, shape.size
    if shape.kind == "box":
        mesh = make.box(extents=size)
    elif shape.kind == "sphere":
        mesh = make.icosphere(radius=size[0], subdivisions=2)
    elif shape.kind == "capsule":
        mesh = make.capsule(radius=size[0], height=size[1])
    else:
        mesh = make.cylinder(radius=size[0], height=size[1], sections=20)
    return mesh.apply_transform(shape.pose)


def _convert_pose(g: np.ndarray) -> tuple[tuple[float, float, float, float], tuple[float, ...]]:
    """Return the quaternion w, x, y, z and the position of a pose (4, 4), as viser takes them."""
    x, y, z, w = quaternion_from_rotation(g[:3, :3])
    return (w, x, y, z), tuple(g[:3, 3].tolist())


class Surroundings:
    """Ground, path ahead and trail in the world; on the robot, in the body's axes and so at the body's time, foot
    forces, support polygon, centre of mass and zero-moment point.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._server, self._body = server, f"{WORLD}/robot"  # the frame of the RobotFigure of this name
        self._world = server.scene.add_frame(WORLD, show_axes=False)
        self._section = 0.5  # [m] of the grid
        self._grid = server.scene.add_grid(
            f"{WORLD}/ground", width=8.0, height=8.0, cell_size=0.1, section_size=self._section, plane_opacity=0.15
        )
        self._drawn: dict[str, viser.SceneNodeHandle] = {}  # by path
        self._spheres: dict[str, viser.IcosphereHandle] = {}  # by name
        self._ground: Ground | None = None
        self._around = np.zeros(2)

    def follow(self, place: npt.ArrayLike) -> None:
        """Keep a place (2,) [m] of the ground at the centre of the picture: the world moves, the cameras stay."""
        x, y = np.asarray(place, float)
        ground = self._ground or Ground()
        self._world.position = (-x, -y, -(ground.slope_x * x + ground.slope_y * y))

    def draw_ground(self, ground: Ground, around: npt.ArrayLike = (0.0, 0.0)) -> None:
        """Draw the ground around a place (2,) [m]; to be called again as the robot walks.

        A plane is a grid, a rough or stepped ground a mesh. It is sent to the browser when the ground has changed,
        and when the place has come near the edge of what is drawn.
        """
        moved = float(np.abs(np.asarray(around, float) - self._around).max())
        plane = ground.rough == 0.0 and not ground.steps
        if ground == self._ground and moved <= (2.5 if plane else 0.4):  # [m] well within what is drawn
            return
        self._ground = ground
        # by whole sections, so that the lines do not move
        self._around = x, y = np.round(np.asarray(around, float) / self._section) * self._section
        if mesh := self._drawn.pop(MESH, None):
            mesh.remove()
        self._grid.visible = plane
        if plane:
            height, *normal = ground.surface(x, y)
            self._grid.wxyz, self._grid.position = _convert_pose(pose(turn_upright(np.array(normal)).T, (x, y, height)))
        else:
            relief = _shade(*ground_mesh(ground, x, y))
            scene = self._server.scene
            self._drawn[MESH] = scene.add_mesh_trimesh(MESH, relief, cast_shadow=False, receive_shadow=False)

    def draw_path(self, points: npt.ArrayLike) -> None:
        """Draw the path ahead: points (k, 3) [m]."""
        self._draw_line(f"{WORLD}/path", points, "predicted path")

    def draw_trail(self, points: np.ndarray) -> None:
        """Draw the trail of the robot: points (k, 3) [m], the oldest first; hide it if there are fewer than two."""
        lines = 256  # at least, some of length zero: the browser processes new shapes slowly
        self._draw_line(f"{WORLD}/trail", points[-lines - 1 :], "trail", lines)

    def draw_polygon(self, points: npt.ArrayLike) -> None:
        """Draw the support polygon with corners (k, 3) [m], in the body's axes, in order; hide it if fewer than two."""
        corners = np.asarray(points, float).reshape(-1, 3)
        self._draw_line(f"{self._body}/support_polygon", np.concatenate([corners, corners[:1]]), "support polygon")

    def draw_forces(self, feet: npt.ArrayLike, forces: npt.ArrayLike) -> None:
        """Draw foot forces (k, 3) [N] at feet (k, 3) [m], both in the body's axes."""
        feet, forces = np.asarray(feet, float).reshape(-1, 3), np.asarray(forces, float).reshape(-1, 3)
        keep = np.linalg.norm(forces, axis=1) > 0.3
        points = np.stack([feet, feet + FORCE_SCALE * forces], axis=1)[keep].astype(np.float32)
        path, size = f"{self._body}/foot_forces", {"shaft_radius": 0.003, "head_radius": 0.007, "head_length": 0.015}
        arrows = self._drawn.get(path)
        if arrows is None and len(points):
            self._drawn[path] = self._server.scene.add_arrows(path, points, _colour("foot forces"), **size)
        elif arrows is not None:
            arrows.points, arrows.visible = points if len(points) else arrows.points, len(points) > 0

    def draw_spheres(self, places: Mapping[str, tuple[npt.ArrayLike, Colour]]) -> None:
        """Draw small spheres {name: (place (3,) [m] in the body's axes, colour)}, and hide those of earlier calls."""
        for name, (place, colour) in places.items():
            if name not in self._spheres:
                path = f"{self._body}/{name}"
                self._spheres[name] = self._server.scene.add_icosphere(path, 0.009, colour, subdivisions=2)
            self._spheres[name].position = tuple(float(value) for value in np.asarray(place))
        for name, handle in self._spheres.items():
            handle.visible = name in places

    def _draw_line(self, path: str, points: npt.ArrayLike, what: str, least: int = 0) -> None:
        """Draw lines from point to point (k, 3) [m] in the colour of `what`, or hide them if there are fewer than two.

        The browser takes new points at once, but a new number of lines only slowly: there are never fewer than before,
        nor than `least`; those that are left over have no length.
        """
        points, handle = np.asarray(points, float).reshape(-1, 3), self._drawn.get(path)
        if len(points) < 2 or not np.ptp(points, axis=0).any():
            if handle is not None:
                handle.visible = False
            return
        segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        count = max(least, len(segments), 0 if handle is None else len(handle.points))
        rest = np.broadcast_to(segments[-1, 1], (count - len(segments), 2, 3))
        segments = np.concatenate([segments, rest])
        if handle is not None and len(handle.points) == count:
            handle.points, handle.visible = segments, True
            return
        if handle is not None:
            handle.remove()
        self._drawn[path] = self._server.scene.add_line_segments(path, segments, _colour(what), thickness=0.004)


def _shade(vertices: np.ndarray, faces: np.ndarray) -> trimesh.Trimesh:
    """Return the mesh as a trimesh with colours of a relief lit from the side: the browser's light is too even."""
    import trimesh  # comes with viser

    mesh = trimesh.Trimesh(vertices, faces, process=False)
    light = 0.35 + 0.65 * np.clip(mesh.vertex_normals @ [-0.6, 0.35, 0.72], 0.0, 1.0) ** 3
    sand = np.outer(light, [150.0, 138.0, 118.0])
    mesh.visual.vertex_colors = np.column_stack([sand, np.full(len(vertices), 255)]).astype(np.uint8)
    return mesh


def ground_mesh(ground: Ground, x: float, y: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (v, 3) [m] and faces (f, 3), normals upward, of the ground around (x, y) [m]."""
    line = np.linspace(-0.9, 0.9, 61)  # [m] 3 cm apart
    xs, ys = x + line, y + line
    n = len(line)
    across, along = np.meshgrid(xs, ys)  # (len(ys), len(xs)), as the heights
    vertices = np.stack([across, along, ground.heights(xs, ys)], axis=-1).reshape(-1, 3)
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = [np.stack([corner, corner + 1, corner + n], 1), np.stack([corner + 1, corner + n + 1, corner + n], 1)]
    return vertices, np.concatenate(faces)
