"""Plays a Simulator's Log in the browser, without ROS: `show(log)`."""

from __future__ import annotations

import threading

import numpy as np
from scipy.spatial.transform import Rotation

from hexapod_dynamics.control.support import support_polygon
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.trajectory import Log
from hexapod_dynamics.view.scene import RobotFigure, Surroundings, aim_cameras, prepare_scene
from hexapod_dynamics.view.web_page import WebPage


class Playback:
    """A Log in the browser with a time slider, play and pause; `close()` ends it. url: its address, with the token.

    In Jupyter the object shows itself as a frame in the notebook.
    """

    def __init__(self, log: Log, robot: Robot, morphology: Morphology, ground: Ground, *, port: int, host: str) -> None:
        if len(log.time) == 0:
            raise HexapodError("the log is empty: run the simulator first, as sim.run(5.0)")
        if log.joint_positions.shape[1] != robot.joint_count:
            raise HexapodError(
                f"the log has {log.joint_positions.shape[1]} joints, {robot!r} has {robot.joint_count}; "
                "give the robot of the log: show(log, robot=...)"
            )
        urdf = robot.to_urdf(morphology)
        self._page = WebPage(host, port, title=f"{robot.name}: playback", framed=True)
        self.server, self.url = self._page.server, self._page.url
        prepare_scene(self.server)
        self._log, self._robot = log, robot
        self._names, self._tree = robot.joint_names, LinkTree(robot, morphology)
        self._present = [leg for leg in robot.leg_names if f"foot_{leg}" in self._tree.children]
        self._figure = RobotFigure(self.server, "robot")
        self._figure.load(urdf)
        aim_cameras(self.server, self._figure.reach)
        self.server.gui.main_panel.dock_right()
        self._surroundings = Surroundings(self.server)
        self._ground = ground
        self._surroundings.draw_path(log.position[:: max(1, len(log.time) // 200)])
        begin, end = float(log.time[0]), float(log.time[-1])  # a second run of a simulator does not begin at 0
        step = max((end - begin) / 1000, 1e-3)
        self._slider = self.server.gui.add_slider("time [s]", begin, max(end, begin + step), step, begin)
        self._playing = self.server.gui.add_checkbox("play", True)
        self._follows = self.server.gui.add_checkbox("follow robot", True)
        self._text = self.server.gui.add_markdown("")
        self._slider.on_update(lambda event: self.draw(self._slider.value) if event.client is not None else None)
        self._closed, self._drawing = threading.Event(), threading.Lock()
        self.player: threading.Thread | None = None  # that plays, None if the caller does
        self.draw(begin)

    def draw(self, t: float) -> None:
        """Show the state at time t [s] of the log."""
        k = int(np.clip(np.searchsorted(self._log.time, t), 0, len(self._log.time) - 1))
        rotation, place, q = self._log.rotation[k], self._log.position[k], self._log.joint_positions[k]
        with self._drawing, self.server.atomic():  # by a page that moves the slider, and by `play`
            if self._follows.value:
                self._surroundings.follow(place[:2])
            self._figure.move(place, Rotation.from_matrix(rotation).as_quat())
            self._figure.turn(dict(zip(self._names, q, strict=True)))
            poses = self._tree.base_poses(q)
            feet = np.array([poses[f"foot_{leg}"][:3, 3] for leg in self._present]).reshape(-1, 3)
            forces = self._log.foot_forces[k][[self._robot.leg_names.index(leg) for leg in self._present]]
            self._surroundings.draw_forces(feet, forces @ rotation)
            self._surroundings.draw_ground(self._ground, place[:2])
            corners = support_polygon(place + feet @ rotation.T, forces)
            self._surroundings.draw_polygon((np.reshape(corners, (-1, 3)) - place) @ rotation)
        yaw, pitch, roll = np.degrees(self._log.euler_zyx[k])
        self._text.content = f"t {self._log.time[k]:.2f} s, roll {roll:.1f}, pitch {pitch:.1f}, yaw {yaw:.1f} deg"

    def play(self) -> None:
        """Play in real time, again and again, until `close()` or Ctrl-C."""
        step = 0.04
        while not self._closed.wait(step):
            if self._playing.value:
                following = self._slider.value + step
                self._slider.value = following if following < self._log.time[-1] else float(self._log.time[0])
                self.draw(self._slider.value)

    def close(self) -> None:
        """End the playing, then the server."""
        self._closed.set()
        if self.player is not None:
            self.player.join()
        self._page.stop()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="520"></iframe>'


def show(
    log: Log,
    robot: Robot | None = None,
    morphology: Morphology | None = None,
    *,
    ground: Ground | None = None,
    port: int = 8080,
    host: str = "127.0.0.1",
    wait: bool | None = None,
) -> Playback:
    """Play a Simulator's Log in the browser, with a time slider.

    robot, morphology, ground: of the log; default the whole JetHexa on level ground.
    wait: whether to play until Ctrl-C (default: in a script,
    not in an interactive session or Jupyter, where a thread plays). HexapodError: viser is missing, the port is taken,
    the log is empty or has other joints than the robot.
    """
    import sys

    robot = Robot.jethexa() if robot is None else robot
    morphology = Morphology.whole(robot) if morphology is None else morphology
    playback = Playback(log, robot, morphology, Ground() if ground is None else ground, port=port, host=host)
    interactive = hasattr(sys, "ps1") or "ipykernel" in sys.modules
    if wait if wait is not None else not interactive:
        print(f"open {playback.url} (Ctrl-C ends)", flush=True)
        try:
            playback.play()
        except KeyboardInterrupt:
            playback.close()
    else:
        playback.player = threading.Thread(target=playback.play, daemon=True)
        playback.player.start()
    return playback
