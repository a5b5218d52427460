"""The robot, its ground and foot forces as a viser scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.view.urdf_model import UrdfModel, parse

PATH, POLYGON, FORCE = (40, 110, 220), (240, 150, 30), (220, 40, 40)
FORCE_SCALE = 0.01  # [m/N] length of a foot force's arrow


def serve(port: int, host: str = "127.0.0.1") -> Any:
    """Start the viser server. HexapodError: viser is not installed, or the port is taken."""
    try:
        import viser
    except ImportError:
        raise HexapodError('the view needs viser: pip install "viser>=1.0,<2"') from None
    _check_port(host, port)
    server = viser.ViserServer(host=host, port=port, label="hexapod_dynamics", verbose=False)
    server.scene.set_up_direction("+z")
    look_at(server, (0.0, 0.0, 0.12))
    return server


def look_at(server: Any, place: npt.ArrayLike) -> None:
    """Let pages that are opened from now on look at a place (3,) [m]."""
    x, y, z = np.asarray(place, float)
    server.initial_camera.position = (x + 0.42, y - 0.50, z + 0.28)
    server.initial_camera.look_at = (x, y, z - 0.04)


def _check_port(host: str, port: int) -> None:
    """Raise HexapodError for a port in use: viser would silently use the next one."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise HexapodError(f"the view cannot use {host}:{port}: {error}; choose another port") from None


class RobotFigure:
    """One robot in the scene: frames for its links, meshes in them; moved by pose and joint positions."""

    def __init__(
        self, server: Any, name: str, *, opacity: float | None = None, on_click: Callable[[str], None] | None = None
    ) -> None:
        """`name`: of its node in the scene. opacity: of a ghost. on_click: gets the name of a clicked link."""
        self._server, self._name, self._opacity, self._on_click = server, name, opacity, on_click
        self._model: UrdfModel | None = None
        self._text = ""
        self._base = server.scene.add_frame(f"/{name}", show_axes=False)
        self._frames: dict[str, object] = {}
        self._handles: list = []
        self._values: dict[str, float] = {}

    @property
    def visible(self) -> bool:
        """Whether it is drawn."""
        return self._base.visible

    @visible.setter
    def visible(self, value: bool) -> None:
        if self._base.visible != value:
            self._base.visible = value

    @property
    def has_robot(self) -> bool:
        """Whether it has got a URDF."""
        return self._model is not None

    def load(self, text: str) -> None:
        """Show a URDF; the same text again changes nothing. HexapodError if it is not a URDF."""
        if text == self._text:
            return
        model = parse(text)
        for handle in reversed(self._handles):
            handle.remove()
        self._handles, self._frames, self._values = [], {}, {}
        self._text, self._model = text, model
        paths = {model.root: f"/{self._name}/{model.root}"}
        self._handles.append(self._server.scene.add_frame(paths[model.root], show_axes=False))
        for joint in model.joints:
            paths[joint.child] = f"{paths[joint.parent]}/{joint.child}"
            rotation, position = joint.place(0.0)
            frame = self._server.scene.add_frame(
                paths[joint.child], show_axes=False, wxyz=_wxyz(rotation), position=tuple(position)
            )
            self._frames[joint.name] = frame
            self._handles.append(frame)
        for link, meshes in model.meshes.items():
            for k, mesh in enumerate(meshes):
                self._handles.append(self._mesh(f"{paths[link]}/mesh{k}", link, mesh))

    def _mesh(self, path: str, link: str, mesh: Any) -> Any:
        opacity = self._opacity if self._opacity is not None else mesh.rgba[3] if mesh.rgba[3] < 1.0 else None
        handle = self._server.scene.add_mesh_simple(
            path,
            mesh.vertices,
            mesh.faces,
            color=tuple(int(255 * part) for part in mesh.rgba[:3]),
            opacity=opacity,
            flat_shading=True,
            cast_shadow=self._opacity is None,
        )
        if self._on_click is not None:
            handle.on_click(lambda _event, link=link: self._on_click(link))
        return handle

    def move(self, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Place the body: position (3,) [m], quaternion (x, y, z, w)."""
        x, y, z, w = quaternion
        self._base.position, self._base.wxyz = tuple(position), (w, x, y, z)

    def turn(self, positions: Mapping[str, float]) -> None:
        """Set joint positions by name [rad or m]; only those that changed by 0.02 degrees are sent to the browser."""
        for joint in self._model.joints if self._model is not None else ():
            value = positions.get(joint.name)
            if value is None or abs(value - self._values.get(joint.name, np.inf)) < 3e-4:
                continue
            rotation, position = joint.place(value)
            frame = self._frames[joint.name]
            frame.wxyz = _wxyz(rotation)  # type: ignore[attr-defined]
            if joint.kind == "prismatic":
                frame.position = tuple(position)  # type: ignore[attr-defined]
            self._values[joint.name] = value


def _wxyz(rotation: Any) -> tuple[float, ...]:
    x, y, z, w = rotation.as_quat()
    return float(w), float(x), float(y), float(z)


class Surroundings:
    """Ground, path ahead, foot forces and support polygon."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._grid = server.scene.add_grid(
            "/ground", width=8.0, height=8.0, cell_size=0.1, section_size=0.5, plane_opacity=0.15
        )
        self._mesh = self._path = self._forces = self._polygon = None

    def ground(
        self, heights: Callable[[np.ndarray, np.ndarray], np.ndarray] | None, size: float = 3.0, step: float = 0.04
    ) -> None:
        """Draw ground that is not flat: heights(x, y) [m] for arrays of x and y; None is the flat grid."""
        if self._mesh is not None:
            self._mesh.remove()
            self._mesh = None
        self._grid.visible = heights is None
        if heights is None:
            return
        line = np.arange(-size, size + step / 2, step)
        x, y = np.meshgrid(line, line, indexing="ij")
        vertices = np.stack([x, y, heights(x, y)], axis=-1).reshape(-1, 3)
        n = len(line)
        corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
        faces = np.concatenate(
            [np.stack([corner, corner + n, corner + 1], 1), np.stack([corner + 1, corner + n, corner + n + 1], 1)]
        )
        self._mesh = self._server.scene.add_mesh_simple(
            "/rough_ground", vertices, faces, color=(150, 145, 135), flat_shading=True, side="double"
        )

    def path(self, points: np.ndarray) -> None:
        """Draw the path ahead: points (k, 3) [m]."""
        self._path = self._lines(self._path, "/path", points, PATH, closed=False)

    def polygon(self, points: np.ndarray) -> None:
        """Draw the support polygon with corners (k, 3) [m] in order; with fewer than two corners hide it."""
        self._polygon = self._lines(self._polygon, "/support_polygon", points, POLYGON, closed=True)

    def forces(self, feet: np.ndarray, forces: np.ndarray) -> None:
        """Draw foot forces (k, 3) [N] at feet (k, 3) [m], both in world axes."""
        feet, forces = np.asarray(feet, float).reshape(-1, 3), np.asarray(forces, float).reshape(-1, 3)
        keep = np.linalg.norm(forces, axis=1) > 0.3
        points = np.stack([feet, feet + FORCE_SCALE * forces], axis=1)[keep].astype(np.float32)
        if not len(points):
            points = np.array([[[0, 0, -9], [0, 0, -9.01]]], np.float32)  # an empty array is refused: below the ground
        if self._forces is None:
            self._forces = self._server.scene.add_arrows(
                "/foot_forces", points, FORCE, shaft_radius=0.003, head_radius=0.007, head_length=0.015
            )
        else:
            self._forces.points = points

    def _lines(self, handle: Any, name: str, points: np.ndarray, colour: Any, *, closed: Any) -> Any:
        points = np.asarray(points, float).reshape(-1, 3)
        if closed and len(points) > 1:
            points = np.concatenate([points, points[:1]])
        visible = len(points) > 1
        if not visible:
            if handle is not None:
                handle.visible = False
            return handle
        segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        if handle is None:
            return self._server.scene.add_line_segments(name, segments, colour, thickness=0.004)
        if handle.points.shape != segments.shape:
            handle.remove()
            return self._server.scene.add_line_segments(name, segments, colour, thickness=0.004)
        handle.points, handle.visible = segments, True
        return handle
