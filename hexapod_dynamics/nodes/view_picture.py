"""The 3-D picture of the node `view`, from the newest messages: robot, prediction, support, path, trail, ground.

For a simulated robot, its true state is solid and the prediction is a translucent ghost; for a real robot, the
solid one is at the predicted pose with the measured joints.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from hexapod_dynamics.control.support import FORCE_SCALE
from hexapod_dynamics.simulation import Ground, Truth
from hexapod_dynamics.view.last_minute import LastMinute, Sample
from hexapod_dynamics.view.scene import JETHEXA_REACH, RobotFigure, Surroundings, aim
from visualization_msgs.msg import Marker

if TYPE_CHECKING:
    from viser import ViserServer

    from builtin_interfaces.msg import Time
    from geometry_msgs.msg import Point
    from hexapod_dynamics.nodes.view_requests import LatestMessages
    from nav_msgs.msg import Odometry

SILENT_AFTER = 2.0  # [s] without a pose after which the robot counts as lost
SUPPORT_OLD = 1.0  # [s] support that is older than this is not drawn
ANOTHER_SIZE = 0.3  # relative change of the robot's reach above which the camera is placed again
FAR = 1.0  # distance of the prediction from the robot, in reaches of the robot, beyond which it is not drawn
# number of pictures between two updates; the browser processes new shapes more slowly than new poses
SUPPORT_EVERY, PATH_EVERY, GROUND_EVERY = 3, 5, 12


class Picture:
    """Draws one picture after the other into the scene of a server."""

    def __init__(self, server: ViserServer, newest: LatestMessages, on_click: Callable[[str], None]) -> None:
        """newest: LatestMessages. on_click(link): a person clicked a link of the robot."""
        self._server, self._newest = server, newest
        self.robot = RobotFigure(server, "robot", on_click=on_click)
        self._ghost = RobotFigure(server, "prediction", opacity=0.25)
        self._surroundings = Surroundings(server)
        self._past, self._now = LastMinute(), None  # samples of the robot that is shown
        self._predictions = deque(maxlen=60)  # (stamp [ns], position, rotation) of the last predictions
        self._set_back = np.eye(3), np.zeros(3)  # rotation and shift by which a person has set the prediction back
        self._aimed = JETHEXA_REACH  # [m] reach of the robot for which the camera was placed
        self._shown_support = None
        self._trail_steps = -1  # number of points of the trail that is drawn
        self._truth, self._ground = "", Ground()
        self.shown = self.true = self.predicted = None  # present Odometry messages
        self.hidden = ""  # reason why an existing prediction is not drawn

    @property
    def simulated(self) -> bool:
        """Whether the robot is a simulated one."""
        return self._newest.get("simulator/odom", SILENT_AFTER) is not None

    def update(self) -> None:
        """Adopt the newest messages, whether a page is open or not."""
        self.predicted = self._newest.get("predicted_state", SILENT_AFTER)
        self.true = self._newest.get("simulator/odom", SILENT_AFTER)
        self.shown = self.true or self.predicted
        if self.predicted is not None:
            stamp = _nanoseconds(self.predicted.header.stamp)
            if not self._predictions or self._predictions[-1][0] != stamp:
                self._predictions.append((stamp, *_pose(self.predicted)))
        if self.shown is not None:
            self._remember()

    def draw(self, ticks: int, *, ago: float, follows: bool, support: bool, names: bool) -> None:
        """Draw picture number `ticks`, of the state `ago` [s] earlier; optionally centred on the robot, with
        support, names and trail.
        """
        urdf = self._read_descriptions()
        past = self._past.at(time.monotonic() - ago) if ago and self.shown is not None else None
        if past is not None or urdf:
            self.robot.load(urdf if past is None else past.urdf)
        self.robot.show_labels(names)
        self._aim()
        self.robot.base.visible = self.shown is not None
        if self.shown is not None:
            self._place(past, follows)
        self._place_ghost(past)
        if ticks % SUPPORT_EVERY == 0:
            self._draw_support(support and past is None)
        if ticks % PATH_EVERY == 0:
            path = self._newest.get("predicted_path", SILENT_AFTER) if past is None and not self.hidden else None
            points = [(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in path.poses] if path else []
            self._surroundings.path(points)
            self._draw_trail(names)
        if ticks % GROUND_EVERY == 0 and self.shown is not None:
            self._draw_ground(self.shown.pose.pose.position)

    def _draw_trail(self, wanted: bool) -> None:
        """Draw the trail only if it has a new point since the last picture, because it is a long message."""
        steps = self._past.steps if wanted else -1
        if steps != self._trail_steps:
            self._trail_steps = steps
            self._surroundings.trail(self._past.trail() if wanted else np.empty((0, 3)))

    def _read_descriptions(self) -> str:
        """Load the URDF of the prediction; return the URDF of the present robot, "" while there is none."""
        told = self._newest.get("robot_description")
        true = self._newest.get("simulator/robot_description") if self.simulated else None
        if told is None and true is None:
            return ""
        self._ghost.load((told or true).data)
        return (true or told).data

    @property
    def prediction(self) -> tuple[np.ndarray, Rotation] | None:
        """The prediction's position (3,) [m] and Rotation as they are drawn; None while there is none."""
        if self.predicted is None:
            return None
        (turn, shift), (place, rotation) = self._set_back, _pose(self.predicted)
        return turn @ place + shift, Rotation.from_matrix(turn) * rotation

    def set_prediction_back(self) -> None:
        """Draw the prediction from now on as if it were at the true robot now: heading and place of the body."""
        if self.true is None or self.predicted is None:
            return
        (here, now), (there, then) = _pose(self.true), _pose(self.predicted)
        yaw = (now * then.inv()).as_euler("zyx")[0]
        turn = Rotation.from_euler("z", yaw).as_matrix()
        self._set_back = turn, here - turn @ there

    def _remember(self) -> None:
        """Store the present Sample."""
        told = self._newest.get("robot_description")
        true = self._newest.get("simulator/robot_description") if self.simulated else None
        urdf = (true or told).data if true or told else ""
        now, pose = time.monotonic(), self.shown.pose.pose
        p, o = pose.position, pose.orientation
        joints = self._newest.get("joint_states" if self.true is None else "simulator/joint_states")
        positions = dict(zip(joints.name, joints.position, strict=False)) if joints is not None else {}
        place, turn = np.array((p.x, p.y, p.z)), np.array((o.x, o.y, o.z, o.w))
        self._now = Sample(now, place, turn, positions, urdf)
        self._past.add(self._now)

    def _place(self, past: Sample | None, follows: bool) -> None:
        sample = past or self._now
        self.robot.move(sample.position, sample.quaternion)
        self.robot.turn(sample.joints)
        if follows:
            self._surroundings.follow(sample.position[:2])

    def _place_ghost(self, past: Sample | None) -> None:
        there = self.true is not None and self.predicted is not None and past is None
        self.hidden = ""
        if there:
            place, rotation = self.prediction
            far = float(np.linalg.norm(self._now.position - place))
            if far > FAR * self.robot.reach:
                self.hidden = f"the prediction is {100 * far:.0f} cm away and not drawn: set it back below the picture"
        self._ghost.base.visible = there and not self.hidden
        if self._ghost.base.visible:
            self._ghost.move(place, rotation.as_quat())
            joints = self._newest.get("predicted_joint_states")
            if joints is not None:
                self._ghost.turn(dict(zip(joints.name, joints.position, strict=False)))

    def _aim(self) -> None:
        reach = self.robot.reach
        if abs(reach / self._aimed - 1.0) > ANOTHER_SIZE:
            self._aimed = reach
            aim(self._server, reach)

    def _draw_ground(self, place: Point) -> None:
        message = self._newest.get("simulator/truth") if self.simulated else None
        text = message.data if message is not None else ""
        if text != self._truth:
            self._truth, self._ground = text, Truth.parse(text).ground()
        self._surroundings.ground(self._ground, (place.x, place.y))

    def _draw_support(self, wanted: bool) -> None:
        """Draw the support, which `dynamics` publishes for its prediction, on the body as that was at its stamp."""
        message = self._newest.get("support", SUPPORT_OLD) if wanted else None
        if message is self._shown_support:
            return
        self._shown_support = message
        markers = [m for m in message.markers if m.action == Marker.ADD] if message is not None else []
        feet, forces, corners, spheres = [], [], [], {}
        if markers and self._predictions:
            stamp = _nanoseconds(markers[0].header.stamp)
            _, place, rotation = min(self._predictions, key=lambda one: abs(one[0] - stamp))
            turn = rotation.as_matrix()
            for marker in markers:
                points = (np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3) - place) @ turn
                colour = tuple(int(255 * part) for part in (marker.color.r, marker.color.g, marker.color.b))
                if marker.type == Marker.ARROW:
                    feet.append(points[0])
                    forces.append((points[1] - points[0]) / FORCE_SCALE)
                elif marker.type == Marker.LINE_STRIP:
                    corners = points[:-1]
                elif marker.type == Marker.SPHERE:
                    p = marker.pose.position
                    spheres[marker.ns] = turn.T @ (np.array((p.x, p.y, p.z)) - place), colour
        self._surroundings.forces(feet, forces)
        self._surroundings.polygon(corners)
        self._surroundings.spheres(spheres)


def _pose(message: Odometry) -> tuple[np.ndarray, Rotation]:
    """Return position (3,) [m] and Rotation of an Odometry."""
    p, o = message.pose.pose.position, message.pose.pose.orientation
    return np.array((p.x, p.y, p.z)), Rotation.from_quat([o.x, o.y, o.z, o.w])


def _nanoseconds(stamp: Time) -> int:
    return stamp.sec * 10**9 + stamp.nanosec
