"""More than the ten places that ROS_LOCALHOST_ONLY=1 leaves to the processes of a real ROS 2.

The loopback interface has no multicast. Cyclone DDS then finds its peers by asking the ports of the participants 0 to 9
one by one, and takes the first of these that is free: one launched robot and the daemon of `ros2` are ten, and the next
program, be it the emergency stop, ends with "Failed to find a free participant index". Processes of this package ask
and take up to 60. Whoever has one of the first ten hears them, too, because whoever is asked answers.
"""

import os

URI = (
    "<CycloneDDS><Domain><Discovery><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>60</MaxAutoParticipantIndex></Discovery></Domain></CycloneDDS>"
)


def take_place():
    """Before rclpy is initialised: allow 60 participants by CYCLONEDDS_URI, unless the user has set that."""
    if os.environ.get("ROS_LOCALHOST_ONLY", "").strip() == "1" and not os.environ.get("CYCLONEDDS_URI"):
        os.environ["CYCLONEDDS_URI"] = URI
