"""The 3-D picture of the node `view`, from the newest messages: robot, prediction, support, path, trail, ground.

For a simulated robot, its true state is solid and the prediction is a translucent ghost; for a real robot, the
solid one is at the predicted pose with the measured joints.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from hexapod_dynamics.control.support import FORCE_SCALE
from hexapod_dynamics.ros.node_functions import stamp_seconds
from hexapod_dynamics.simulation import Ground, Truth
from hexapod_dynamics.view.last_minute import LastMinute, Sample
from hexapod_dynamics.view.scene import JETHEXA_REACH, RobotFigure, Surroundings, aim_cameras
from visualization_msgs.msg import Marker

if TYPE_CHECKING:
    from viser import ViserServer

    from hexapod_dynamics.nodes.view_requests import LatestMessages
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import JointState

Pose = tuple[np.ndarray, Rotation]  # position (3,) [m]
SILENT_AFTER = 2.0  # [s] without a pose after which the robot counts as lost


class Picture:
    """Draws one picture after the other into the scene of a server."""

    def __init__(self, server: ViserServer, newest: LatestMessages, on_click: Callable[[str], None]) -> None:
        """newest: LatestMessages. on_click(link): a person clicked a link of the robot."""
        self._server, self._newest = server, newest
        self.robot = RobotFigure(server, "robot", on_click=on_click)
        self._ghost = RobotFigure(server, "prediction", opacity=0.25)
        self._surroundings = Surroundings(server)
        self.past = LastMinute()  # of the robot that is shown
        # (stamp [s], position, Rotation) of the last predictions
        self._predictions: deque[tuple[float, np.ndarray, Rotation]] = deque(maxlen=60)
        self._set_back = Rotation.identity(), np.zeros(3)  # by which a person has set the prediction back
        self._aimed = JETHEXA_REACH  # [m] reach of the robot for which the camera was placed
        self._shown_support = None
        self._trail_steps = -1  # number of points of the trail that is drawn
        self._truth, self._ground = "", Ground()
        self.now: Sample | None = None  # of the robot that is shown, None if it is lost
        self._true: Pose | None = None
        self._predicted: Pose | None = None
        self.hidden = ""  # reason why an existing prediction is not drawn

    @property
    def simulated(self) -> bool:
        """Whether the robot is a simulated one."""
        return self._newest.get("simulator/odom", SILENT_AFTER) is not None

    def update(self) -> None:
        """Adopt the newest messages, whether a page is open or not."""
        predicted, true = (self._newest.get(topic, SILENT_AFTER) for topic in ("predicted_state", "simulator/odom"))
        self._predicted, self._true = _pose(predicted), _pose(true)
        if predicted is not None and self._predicted is not None:
            stamp = stamp_seconds(predicted.header.stamp)
            if not self._predictions or self._predictions[-1][0] != stamp:
                self._predictions.append((stamp, *self._predicted))
        shown = self._true or self._predicted
        self.now = None
        if shown is not None:
            joints = self._newest.get("joint_states" if true is None else "simulator/joint_states")
            urdf = self._descriptions()[0]
            place, turn = shown[0], shown[1].as_quat()
            self.now = Sample(time.monotonic(), place, turn, _positions(joints), urdf, true is not None)
            self.past.add(self.now)

    def draw(self, due: Callable[[float], bool], *, ago: float, follows: bool, support: bool, names: bool) -> None:
        """Draw the state `ago` [s] earlier; optionally centred on the robot, with support, names and trail.

        due(every): whether what is drawn every so many seconds is drawn now.
        """
        urdf, predicted = self._descriptions()
        if predicted:
            self._ghost.load(predicted)
        shown = self.now
        past = self.past.find(time.monotonic() - ago) if ago and shown is not None else None
        if past is not None or urdf:
            self.robot.load(urdf if past is None else past.urdf)
        self.robot.show_labels(names)
        if abs(self.robot.reach / self._aimed - 1.0) > 0.3:  # a robot of another size
            self._aimed = self.robot.reach
            aim_cameras(self._server, self._aimed)
        self.robot.base.visible = shown is not None
        if shown is not None:
            sample = past or shown
            self.robot.move(sample.position, sample.quaternion)
            self.robot.turn(sample.joints)
            if follows:
                self._surroundings.follow(sample.position[:2])
        self._place_ghost(past)
        # The browser processes new shapes more slowly than new poses: they are not drawn in every picture.
        if due(0.12):
            self._draw_support(support and past is None)
        if due(0.2):
            path = self._newest.get("predicted_path", SILENT_AFTER) if past is None and not self.hidden else None
            points = [(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in path.poses] if path else []
            self._surroundings.draw_path(points)
            self._draw_trail(names)
        if due(0.5) and shown is not None:
            message = self._newest.get("simulator/truth") if self.simulated else None
            text = message.data if message is not None else ""
            if text != self._truth:
                self._truth, self._ground = text, Truth.parse(text).make_ground()
            self._surroundings.draw_ground(self._ground, shown.position[:2])

    def _draw_trail(self, wanted: bool) -> None:
        """Draw the trail only if it has a new point since the last picture, because it is a long message."""
        steps = self.past.steps if wanted else -1
        if steps != self._trail_steps:
            self._trail_steps = steps
            self._surroundings.draw_trail(self.past.trail() if wanted else np.empty((0, 3)))

    def _descriptions(self) -> tuple[str, str]:
        """Return the URDF of the robot that is shown and that of the prediction, "" while there is none."""
        known = self._newest.get("robot_description")
        true = self._newest.get("simulator/robot_description") if self.simulated else None
        own, predicted = true or known, known or true
        return ("", "") if own is None or predicted is None else (own.data, predicted.data)

    @property
    def prediction(self) -> Pose | None:
        """The prediction's position (3,) [m] and Rotation as they are drawn; None while there is none."""
        if self._predicted is None:
            return None
        (turn, shift), (place, rotation) = self._set_back, self._predicted
        return turn.apply(place) + shift, turn * rotation

    @property
    def error(self) -> float:
        """Distance [m] of the prediction, as it is drawn, from a simulated robot; NaN if one of them is not known."""
        predicted = self.prediction
        return math.nan if self._true is None or predicted is None else math.dist(self._true[0], predicted[0])

    def set_prediction_back(self) -> None:
        """Draw the prediction from now on as if it were at the true robot now: heading and place of the body."""
        if self._true is None or self._predicted is None:
            return
        (here, now), (there, then) = self._true, self._predicted
        turn = Rotation.from_euler("z", (now * then.inv()).as_euler("zyx")[0])
        self._set_back = turn, here - turn.apply(there)

    def _place_ghost(self, past: Sample | None) -> None:
        far = self.error if past is None else math.nan
        self.hidden = ""
        if far > self.robot.reach:
            self.hidden = f"the prediction is {100 * far:.0f} cm away and not drawn: set it back below the picture"
        predicted = None if self.hidden or math.isnan(far) else self.prediction
        self._ghost.base.visible = predicted is not None
        if predicted is not None:
            place, rotation = predicted
            self._ghost.move(place, rotation.as_quat())
            self._ghost.turn(_positions(self._newest.get("predicted_joint_states")))

    def _draw_support(self, wanted: bool) -> None:
        """Draw the support, which `dynamics` publishes for its prediction, on the body as that was at its stamp."""
        message = self._newest.get("support", within=1.0) if wanted else None
        if message is self._shown_support:
            return
        self._shown_support = message
        markers = [m for m in message.markers if m.action == Marker.ADD] if message is not None else []
        arrows: list[np.ndarray] = []  # foot and tip of each force
        corners, spheres = np.empty((0, 3)), {}
        if markers and self._predictions:
            stamp = stamp_seconds(markers[0].header.stamp)
            _, place, rotation = min(self._predictions, key=lambda one: abs(one[0] - stamp))
            turn = rotation.as_matrix()
            for marker in markers:
                points = (np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3) - place) @ turn
                red, green, blue = (int(255 * part) for part in (marker.color.r, marker.color.g, marker.color.b))
                if marker.type == Marker.ARROW:
                    arrows.append(points)
                elif marker.type == Marker.LINE_STRIP:
                    corners = points[:-1]
                elif marker.type == Marker.SPHERE:
                    p = marker.pose.position
                    spheres[marker.ns] = turn.T @ (np.array((p.x, p.y, p.z)) - place), (red, green, blue)
        self._surroundings.draw_forces([a[0] for a in arrows], [(a[1] - a[0]) / FORCE_SCALE for a in arrows])
        self._surroundings.draw_polygon(corners)
        self._surroundings.draw_spheres(spheres)


def _pose(message: Odometry | None) -> Pose | None:
    """Return position (3,) [m] and Rotation of an Odometry; None without one."""
    if message is None:
        return None
    p, o = message.pose.pose.position, message.pose.pose.orientation
    return np.array((p.x, p.y, p.z)), Rotation.from_quat([o.x, o.y, o.z, o.w])


def _positions(message: JointState | None) -> dict[str, float]:
    """Return the finite positions by joint; none of a message that has not as many as names."""
    if message is None or len(message.name) != len(message.position):
        return {}
    return {name: place for name, place in zip(message.name, message.position, strict=True) if math.isfinite(place)}
