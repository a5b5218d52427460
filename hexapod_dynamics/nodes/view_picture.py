"""The 3-D picture of the node `view`, from the newest messages: robot, prediction, support, path, trail, ground.

For a simulated robot, its true state is solid and the prediction is a translucent ghost; for a real robot, the
solid one is at the predicted pose with the measured joints.
"""

import time

import numpy as np
from scipy.spatial.transform import Rotation

from hexapod_dynamics.control.support import FORCE_SCALE
from hexapod_dynamics.simulation import Ground, Truth
from hexapod_dynamics.view.last_minute import LastMinute, Sample
from hexapod_dynamics.view.scene import JETHEXA_REACH, RobotFigure, Surroundings, aim
from visualization_msgs.msg import Marker

SILENT_AFTER = 2.0  # [s] without a pose after which the robot counts as lost
SUPPORT_OLD = 1.0  # [s] support that is older than this is not drawn
ANOTHER_SIZE = 0.3  # relative change of the robot's reach above which the camera is placed again
FAR = 1.0  # distance of the prediction from the robot, in reaches of the robot, beyond which it is not drawn
# number of pictures between two updates; the browser processes new shapes more slowly than new poses
SUPPORT_EVERY, PATH_EVERY, GROUND_EVERY = 3, 5, 12


class Picture:
    """Draws one picture after the other into the scene of a server."""

    def __init__(self, server, newest, on_click):
        """newest: LatestMessages. on_click(link): a person clicked a link of the robot."""
        self._server, self._newest = server, newest
        self.robot = RobotFigure(server, "robot", on_click=on_click)
        self._ghost = RobotFigure(server, "prediction", opacity=0.25)
        self._surroundings = Surroundings(server)
        self._past, self._now = LastMinute(), None  # samples of the robot that is shown
        self._aimed = JETHEXA_REACH  # [m] reach of the robot for which the camera was placed
        self._shown_support = None
        self._trail_steps = -1  # number of points of the trail that is drawn
        self._truth, self._ground = "", Ground()
        self.shown = self.true = self.predicted = None  # present Odometry messages
        self.hidden = ""  # reason why an existing prediction is not drawn

    @property
    def simulated(self):
        """Whether the robot is a simulated one."""
        return self._newest.get("simulator/odom", SILENT_AFTER) is not None

    def draw(self, ticks, *, ago, follows, support, names):
        """Draw picture number `ticks`, of the state `ago` [s] earlier; optionally centred on the robot, with
        support, names and trail.
        """
        self.predicted = self._newest.get("predicted_state", SILENT_AFTER)
        self.true = self._newest.get("simulator/odom", SILENT_AFTER)
        self.shown = self.true or self.predicted
        urdf = self._read_descriptions()
        past = self._remember(urdf, ago) if self.shown is not None else None
        if past is not None or urdf:
            self.robot.load(urdf if past is None else past.urdf)
        self.robot.labels_visible = names
        self._aim()
        self.robot.visible = self.shown is not None
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

    def _draw_trail(self, wanted):
        """Draw the trail only if it has a new point since the last picture, because it is a long message."""
        steps = self._past.steps if wanted else -1
        if steps != self._trail_steps:
            self._trail_steps = steps
            self._surroundings.trail(self._past.trail() if wanted else np.empty((0, 3)))

    def _read_descriptions(self):
        """Load the URDF of the prediction; return the URDF of the present robot, "" while there is none."""
        told = self._newest.get("robot_description")
        true = self._newest.get("simulator/robot_description") if self.simulated else None
        if told is None and true is None:
            return ""
        self._ghost.load((told or true).data)
        return (true or told).data

    def _remember(self, urdf, ago):
        """Store the present Sample; return the Sample from this long ago [s], None for the present."""
        now, pose = time.monotonic(), self.shown.pose.pose
        p, o = pose.position, pose.orientation
        joints = self._newest.get("joint_states" if self.true is None else "simulator/joint_states")
        positions = dict(zip(joints.name, joints.position, strict=False)) if joints is not None else {}
        place, turn = np.array((p.x, p.y, p.z)), np.array((o.x, o.y, o.z, o.w))
        self._now = Sample(now, place, turn, positions, urdf)
        self._past.add(self._now)
        return self._past.at(now - ago) if ago else None

    def _place(self, past, follows):
        sample = past or self._now
        self.robot.move(sample.position, sample.quaternion)
        self.robot.turn(sample.joints)
        if follows:
            self._surroundings.follow(sample.position[:2])

    def _place_ghost(self, past):
        there = self.true is not None and self.predicted is not None and past is None
        self.hidden = ""
        if there:
            p = self.predicted.pose.pose.position
            far = float(np.linalg.norm(self._now.position - (p.x, p.y, p.z)))
            if far > FAR * self.robot.reach:
                self.hidden = f"the prediction is {100 * far:.0f} cm away and is not drawn"
        self._ghost.visible = there and not self.hidden
        if self._ghost.visible:
            o = self.predicted.pose.pose.orientation
            self._ghost.move(np.array((p.x, p.y, p.z)), np.array((o.x, o.y, o.z, o.w)))
            joints = self._newest.get("predicted_joint_states")
            if joints is not None:
                self._ghost.turn(dict(zip(joints.name, joints.position, strict=False)))

    def _aim(self):
        reach = self.robot.reach
        if abs(reach / self._aimed - 1.0) > ANOTHER_SIZE:
            self._aimed = reach
            aim(self._server, reach)

    def _draw_ground(self, place):
        message = self._newest.get("simulator/truth") if self.simulated else None
        text = message.data if message is not None else ""
        if text != self._truth:
            self._truth, self._ground = text, Truth.parse(text).ground()
        self._surroundings.ground(self._ground, (place.x, place.y))

    def _draw_support(self, wanted):
        """Draw the support, which `dynamics` publishes for its prediction, at the robot that is shown."""
        message = self._newest.get("support", SUPPORT_OLD) if wanted else None
        if message is self._shown_support:
            return
        self._shown_support = message
        turn, shift = self._from_prediction()
        feet, forces, corners, spheres = [], [], [], {}
        for marker in message.markers if message is not None else ():
            if marker.action != Marker.ADD:
                continue
            points = np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3) @ turn.T + shift
            colour = tuple(int(255 * part) for part in (marker.color.r, marker.color.g, marker.color.b))
            if marker.type == Marker.ARROW:
                feet.append(points[0])
                forces.append((points[1] - points[0]) / FORCE_SCALE)
            elif marker.type == Marker.LINE_STRIP:
                corners = points[:-1]
            elif marker.type == Marker.SPHERE:
                place = marker.pose.position
                spheres[marker.ns] = turn @ (place.x, place.y, place.z) + shift, colour
        self._surroundings.forces(feet, forces)
        self._surroundings.polygon(corners)
        self._surroundings.spheres(spheres)

    def _from_prediction(self):
        """Return rotation (3, 3) and translation (3,) [m] from the pose of the prediction to that of the displayed
        robot.
        """
        if self.true is None or self.predicted is None:
            return np.eye(3), np.zeros(3)
        p, o = self.predicted.pose.pose.position, self.predicted.pose.pose.orientation
        here, there = Rotation.from_quat(self._now.quaternion), Rotation.from_quat([o.x, o.y, o.z, o.w])
        turn = (here * there.inv()).as_matrix()
        return turn, self._now.position - turn @ (p.x, p.y, p.z)
