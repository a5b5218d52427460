"""What a person on the page asks of the robot; the node `view` sends it over ROS."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from hexapod_dynamics.view.drive_seat import Twist


class Commands(ABC):
    """Requests of the panel to the robot. Called from viser's threads; none of them blocks."""

    @abstractmethod
    def drive(self, client: int, twist: Twist) -> Twist:
        """Walk at this twist [m/s, m/s, rad/s], which a page requests; all zero: stand.

        Returns the twist that is executed from now on; it differs if the request is refused.
        """

    @abstractmethod
    def take_over(self, client: int) -> None:
        """Give a page the controls of driving."""

    @abstractmethod
    def call_gait(self, service: str) -> None:
        """Call a service of the gait: "stand", "sit" or "get_up"."""

    @abstractmethod
    def aim(self, client: int, view: str) -> None:
        """Place the camera of a page: "" as at the start, "top", "side" or "behind"."""

    @abstractmethod
    def set_prediction_back(self) -> None:
        """Draw the prediction at the simulated robot, and count its error from there."""

    @abstractmethod
    def emergency_stop(self, engaged: bool) -> None:
        """Freeze the pose, or allow motion again."""

    @abstractmethod
    def break_part(self, values: Mapping[str, bool | float]) -> None:
        """Damage the simulated robot: named values as for set_morphology."""

    @abstractmethod
    def tell(self, values: Mapping[str, bool | float]) -> None:
        """Declare the morphology to the software: named values as for set_morphology."""

    @abstractmethod
    def push(self, sideways: float) -> None:
        """Push the simulated robot's body to its left with a force [N], for the duration that the simulator
        defines.
        """

    @abstractmethod
    def put(self, roll: float) -> None:
        """Put the simulated robot at rest on level ground with a roll angle [rad]: 0 upright, pi on its back."""
