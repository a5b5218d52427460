"""What deploy/ promises fits together: files that are named exist, options are those the launch file has."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
pytestmark = pytest.mark.skipif(not DEPLOY.exists(), reason="the deployment files are in the source tree only")


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["robot"]


def test_the_robot_stands_at_boot_and_a_stop_reaches_the_nodes():
    service = compose()
    launch = (ROOT / "launch" / "walk.launch.py").read_text()
    arguments = re.findall(r"(\w+):=", service["command"])
    assert {"hardware", "velocity"} <= set(arguments)
    for name in arguments:
        assert f'"{name}"' in launch, f"{name}:= is no argument of walk.launch.py"
    assert "velocity:=0.0" in service["command"]
    assert service["stop_signal"] == "SIGINT"
    assert service["restart"] == "unless-stopped"


def test_it_has_the_devices_of_the_hardware_file_and_no_mount_below_proc():
    service = compose()
    parameters = yaml.safe_load((ROOT / "config" / "hardware_jethexa.yaml").read_text())
    assert parameters["/**/servos"]["ros__parameters"]["port"] in service["devices"]
    bus = parameters["/**/imu"]["ros__parameters"]["bus"]
    assert f"/dev/i2c-{bus}" in service["devices"]
    assert not [volume for volume in service["volumes"] if volume.startswith("/proc")]
    assert service["environment"]["JETSON_MODEL_NAME"] == "JETSON_NANO"
    assert "LOCALHOST_ONLY:-1" in service["environment"]["ROS_LOCALHOST_ONLY"]


def test_the_image_copies_and_starts_files_that_exist():
    text = (DEPLOY / "Dockerfile").read_text()
    for source in re.findall(r"^COPY (?!--from)(\S+) ", text, re.MULTILINE):
        assert (ROOT / source).exists(), source
    entry = DEPLOY / "entrypoint.sh"
    assert entry.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", entry], check=False).returncode == 0
    assert "exec " in entry.read_text()  # else Docker's signal would end the shell and not the nodes


def test_the_service_file_starts_the_compose_file():
    text = (DEPLOY / "hexapod.service").read_text()
    for path in re.findall(r"-f (\S+)", text):
        assert (ROOT / path).exists(), path
    for section in ("[Unit]", "[Service]", "[Install]"):
        assert section in text
