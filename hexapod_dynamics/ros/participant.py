"""Allows more than the ten participants to which ROS_LOCALHOST_ONLY=1 limits Cyclone DDS; Fast DDS needs nothing.

The loopback interface has no multicast. Cyclone DDS, where it is chosen by RMW_IMPLEMENTATION, then finds its peers
by sending to the ports of the participants 0 to 9 one by one, and itself takes the first free number: one launched
robot and the daemon of `ros2` are ten, and the next program, even the emergency stop, ends with "Failed to find a
free participant index". Processes of this package use numbers up to 60, and send to all of these. Programs with one
of the first ten numbers discover them, too, because they answer when they are contacted.
"""

import os

URI = (
    "<CycloneDDS><Domain><Discovery><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>60</MaxAutoParticipantIndex></Discovery></Domain></CycloneDDS>"
)


def allow_participants() -> None:
    """Allow 60 participants by CYCLONEDDS_URI, unless the user has set it. To be called before rclpy is
    initialised.
    """
    if os.environ.get("ROS_LOCALHOST_ONLY", "").strip() == "1" and not os.environ.get("CYCLONEDDS_URI"):
        os.environ["CYCLONEDDS_URI"] = URI
