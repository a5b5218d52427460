"""Several nodes in one process: `companions damage_manager robot_description walk_status`.

Each process with rclpy and numpy needs at least 30 MiB. A node with a wrong parameter is left out; a node that fails
later is restarted, and the others continue. By default the nodes that move no joint share a process; `imu`, `servos`,
`gait` and `dynamics` have separate ones, because each has a short period and needs its own interpreter lock. With
`processes:=one` all share one, for boards with little memory (docs/safety.md says what is weaker then).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from hexapod_dynamics.ros.running import run_together

BESIDE = {
    "damage_manager": "DamageManager",
    "damage_detector": "DamageDetectorNode",
    "robot_description": "RobotDescription",
    "walk_status": "WalkStatus",
}
NODES = {"imu": "ImuNode", "servos": "ServosNode", "dynamics": "DynamicsNode", "gait": "GaitNode"} | BESIDE


def main(args: Sequence[str] | None = None) -> None:
    """Run the nodes named in the arguments before --ros-args, by default those that move no joint."""
    given = sys.argv[1:] if args is None else list(args)
    own = given[: given.index("--ros-args")] if "--ros-args" in given else given
    unknown = [name for name in own if name not in NODES]
    if unknown:
        sys.exit(f"companions: no node {unknown[0]!r}; there are {', '.join(NODES)}")
    modules = {name: import_module(f"hexapod_dynamics.nodes.{name}") for name in own or BESIDE}
    if "servos" in modules:
        sys.setswitchinterval(modules["servos"].SWITCH_INTERVAL)
    run_together([getattr(module, NODES[name]) for name, module in modules.items()], args)


if __name__ == "__main__":
    main()
