#!/bin/bash
# Runs a command with ROS 2 and the package sourced; exec, so that Docker's SIGTERM reaches it.
set -e
source /opt/ros/humble/setup.bash
source /ws/install/local_setup.bash
exec "$@"
