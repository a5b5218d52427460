"""Several nodes in one process: `companions damage_manager robot_description walk_status`.

Each process with rclpy and numpy needs at least 30 MiB. A node with a wrong parameter is left out; a node that fails
later is restarted, and the others continue. By default the nodes that move no joint share a process; `imu`, `servos`,
`gait` and `dynamics` have separate ones, because each has a short period and needs its own interpreter lock. With
`processes:=one` all share one, for boards with little memory (docs/safety.md says what is weaker then).
"""

from hexapod_dynamics.ros.start import companions

companions()
