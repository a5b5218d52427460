"""A place of our own among the ten processes that ROS_LOCALHOST_ONLY=1 leaves to a real ROS 2.

The loopback interface has no multicast. Cyclone DDS then finds its peers by asking the ports of the participants 0 to 9
one by one, and takes the first of these that is free: one launched robot and the daemon of `ros2` are ten, and the next
program, be it the emergency stop, ends with "Failed to find a free participant index". Processes of this package take
a place from 10 on and ask the places up to 60: who has one of the first ten hears them, too, because whoever is asked
answers.
"""

import os
import socket

FIRST, LAST = 10, 60
HELD = []  # what marks our place, until this process ends
URI = (
    "<CycloneDDS><Domain><Discovery><ParticipantIndex>{}</ParticipantIndex>"
    f"<MaxAutoParticipantIndex>{LAST}</MaxAutoParticipantIndex></Discovery></Domain></CycloneDDS>"
)


def take_place():
    """Before rclpy is initialised: choose a free participant index by CYCLONEDDS_URI, unless the user has set that.

    Where none is free or another network is used, nothing is changed.
    """
    if os.environ.get("ROS_LOCALHOST_ONLY", "").strip() != "1" or os.environ.get("CYCLONEDDS_URI"):
        return
    try:
        domain = int(os.environ.get("ROS_DOMAIN_ID") or "0")
    except ValueError:
        return  # rclpy says what is wrong with it
    for index in range(FIRST, LAST + 1):
        if _free(domain, index):
            os.environ["CYCLONEDDS_URI"] = URI.format(index)
            return


def ports(domain, index):
    """The two UDP ports of a participant, as the DDS interoperability protocol (RTPS 2.2, 9.6.1.1) has them."""
    discovery = 7400 + 250 * domain + 10 + 2 * index
    return discovery, discovery + 1


def _free(domain, index):
    """Whether nobody has this participant index; if so it is marked as ours."""
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # A name in the abstract namespace: it goes with the process, whatever ends that. Two nodes that start at the
        # same moment would both find the ports free.
        mark.bind(f"\0hexapod_dynamics.participant.{domain}.{index}")
        for port in ports(domain, index):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("127.0.0.1", port))
    except (OSError, OverflowError):  # taken; no port has such a number
        mark.close()
        return False
    HELD.append(mark)
    return True
