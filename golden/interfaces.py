"""What a user calls: topics, services and parameters of a launched robot, launch arguments, commands, options."""

import re
import subprocess
import time

TOLERANCE = 0.0
COMMANDS = (
    "set_morphology",
    "check_robot",
    "servo_tool",
    "compile",
    "plan",
    "identify",
    "new_robot",
    "record",
    "score",
    "reproduce",
    "plot",
    "stop",
)


def output(*command):
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


def options(text):
    """Options that a help text names, sorted."""
    return sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)))


def record():
    """Sorted lists of lines by name."""
    found = {}
    launch = subprocess.Popen(
        ["ros2", "launch", "hexapod_dynamics", "walk.launch.py", "velocity:=0.0", "view:=true"],
        stdout=subprocess.DEVNULL,
    )
    try:
        time.sleep(25.0)
        found["topics"] = output("ros2", "topic", "list", "-t").split("\n")
        found["services"] = [
            line for line in output("ros2", "service", "list", "-t").split("\n") if "type_description" not in line
        ]
        for node in sorted(output("ros2", "node", "list").split()):
            found[f"parameters {node}"] = sorted(output("ros2", "param", "list", node).split())
        found["nodes"] = sorted(output("ros2", "node", "list").split())
    finally:
        launch.send_signal(2)
        launch.wait(30)
    for file in ("walk", "joystick", "ros2_control"):
        text = output("ros2", "launch", "hexapod_dynamics", f"{file}.launch.py", "--show-args")
        found[f"launch arguments {file}"] = sorted(re.findall(r"'(\w+)':$", text, re.MULTILINE))
    for command in COMMANDS:
        found[f"options {command}"] = options(output("ros2", "run", "hexapod_dynamics", command, "--help"))
    return {name: sorted(line for line in lines if line) for name, lines in found.items()}
