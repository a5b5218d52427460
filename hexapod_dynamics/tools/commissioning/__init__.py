"""The checks that a robot passes before its first step; `tools/check_robot.py` runs them one after the other."""
