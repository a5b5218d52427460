"""Several nodes in one process: `companions damage_manager robot_description walk_status`.

Each process with rclpy and numpy needs at least 30 MiB. The nodes named here move no joint. A node with a wrong
parameter is left out; a node that fails later is restarted, and the others continue. `imu`, `servos`, `gait` and
`dynamics` have separate processes: each has a short period and needs its own interpreter lock.
"""

import sys

from hexapod_dynamics.nodes.damage_detector import DamageDetectorNode
from hexapod_dynamics.nodes.damage_manager import DamageManager
from hexapod_dynamics.nodes.robot_description import RobotDescription
from hexapod_dynamics.nodes.walk_status import WalkStatus
from hexapod_dynamics.ros.running import run_together

NODES = {
    "damage_manager": DamageManager,
    "damage_detector": DamageDetectorNode,
    "robot_description": RobotDescription,
    "walk_status": WalkStatus,
}


def main(args=None):
    """Run the nodes named in the arguments before --ros-args, by default all."""
    given = sys.argv[1:] if args is None else list(args)
    own = given[: given.index("--ros-args")] if "--ros-args" in given else given
    unknown = [name for name in own if name not in NODES]
    if unknown:
        sys.exit(f"companions: no node {unknown[0]!r}; there are {', '.join(NODES)}")
    run_together([NODES[name] for name in own or NODES], args)


if __name__ == "__main__":
    main()
