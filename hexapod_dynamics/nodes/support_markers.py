"""The support of the predicted robot as markers for RViz, Foxglove and the browser view: the topic `support`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geometry_msgs.msg import Point
from hexapod_dynamics.control.support import FORCE_SCALE, LOADED, Support, support_polygon
from hexapod_dynamics.nodes.messages import put
from hexapod_dynamics.ros.node_functions import frame
from visualization_msgs.msg import Marker, MarkerArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from builtin_interfaces.msg import Time
    from hexapod_dynamics.estimation.observer import Observer
    from rclpy.node import Node

FORCES, POLYGON, CENTER, ZMP = "foot_forces", "support_polygon", "center_of_mass", "zero_moment_point"
COLOURS = {
    FORCES: (0.86, 0.16, 0.16),
    POLYGON: (0.94, 0.59, 0.12),
    CENTER: (0.55, 0.2, 0.75),
    ZMP: (0.1, 0.6, 0.25),
}


class SupportMarkers:
    """Publishes `support`: one arrow for each loaded foot, the polygon, spheres at the centre of mass and the ZMP.

    A marker's namespace tells its kind; the id of a foot force is the index of its leg. The messages are made
    once, then only their numbers change. Nothing is computed without subscribers.
    """

    def __init__(self, node: Node, observer: Observer) -> None:
        self._observer, self._support = observer, Support(node.robot)
        self._frame = frame(node, "odom")
        legs = len(node.robot.legs)
        self._forces = [self._marker(FORCES, Marker.ARROW, k, (0.006, 0.014, 0.015)) for k in range(legs)]
        for marker in self._forces:
            marker.points = [Point(), Point()]
        self._polygon = self._marker(POLYGON, Marker.LINE_STRIP, 0, (0.004, 0.0, 0.0))
        self._corners = [Point() for _ in range(legs + 1)]
        self._center = self._marker(CENTER, Marker.SPHERE, 0, (0.02, 0.02, 0.02))
        self._zmp = self._marker(ZMP, Marker.SPHERE, 0, (0.02, 0.02, 0.006))
        self._array = MarkerArray(markers=[*self._forces, self._polygon, self._center, self._zmp])
        self._publisher = node.create_publisher(MarkerArray, "support", 10)

    def _marker(self, what: str, kind: int, number: int, scale: Sequence[float]) -> Marker:
        marker = Marker(ns=what, id=number, type=kind)
        marker.header.frame_id = self._frame
        marker.scale.x, marker.scale.y, marker.scale.z = scale
        (marker.color.r, marker.color.g, marker.color.b), marker.color.a = COLOURS[what], 1.0
        marker.lifetime.sec = 1  # after which markers vanish when `dynamics` has ended
        return marker

    @property
    def wanted(self) -> bool:
        """Whether somebody subscribes."""
        return self._publisher.get_subscription_count() > 0

    def publish(self, stamp: Time) -> None:
        """Publish the support of the observer's state."""
        self.update()
        support, forces = self._support, self._observer.model.foot_forces
        for marker, foot, force in zip(self._forces, support.feet.tolist(), forces.tolist(), strict=True):
            shown = force[2] > LOADED
            marker.action = Marker.ADD if shown else Marker.DELETE
            if shown:
                put(marker.points[0], foot)
                put(marker.points[1], [p + FORCE_SCALE * f for p, f in zip(foot, force, strict=True)])
        corners = support_polygon(support.feet, forces).tolist()
        self._polygon.action = Marker.ADD if len(corners) > 1 else Marker.DELETE
        self._polygon.points = self._corners[: len(corners) + 1] if len(corners) > 1 else []
        for point, corner in zip(self._polygon.points, [*corners, *corners[:1]], strict=False):
            put(point, corner)
        put(self._center.pose.position, support.center_of_mass.tolist())
        zmp = support.zero_moment_point
        self._zmp.action = Marker.DELETE if zmp is None else Marker.ADD
        if zmp is not None:
            put(self._zmp.pose.position, zmp.tolist())
        for marker in self._array.markers:
            marker.header.stamp = stamp
        self._publisher.publish(self._array)

    def update(self) -> None:
        """Compute the support of the observer's state; called once at the start, nothing is loaded later."""
        model = self._observer.model
        state = model.position, model.rotation, model.q, model.nu, model.acceleration
        self._support.update(model, *state, model.slope, model.level)
