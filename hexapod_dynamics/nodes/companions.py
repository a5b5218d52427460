"""Several nodes in one process: `companions damage_manager robot_description walk_status`.

An empty process of rclpy and numpy takes 30 MiB, whatever its node does. Those named here move no joint. One with a
wrong parameter is left out; one that fails at work is restarted, and the others go on. `imu`, `servos`, `gait` and
`dynamics` keep processes of their own: each has a fast period and an interpreter lock of its own.
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
    """Run the nodes that the arguments before --ros-args name, the JetHexa's by default all."""
    given = sys.argv[1:] if args is None else list(args)
    own = given[: given.index("--ros-args")] if "--ros-args" in given else given
    unknown = [name for name in own if name not in NODES]
    if unknown:
        sys.exit(f"companions: no node {unknown[0]!r}; there are {', '.join(NODES)}")
    run_together([NODES[name] for name in own or NODES], args)


if __name__ == "__main__":
    main()
