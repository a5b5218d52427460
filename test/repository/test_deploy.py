"""What deploy/ promises fits together: files that are named exist, options are those the launch file has."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import setuptools
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
pytestmark = pytest.mark.skipif(not DEPLOY.exists(), reason="the deployment files are in the source tree only")


@pytest.fixture
def docker_run(tmp_path):
    """Return (options {name: values}, command) that deploy/docker_run gives to docker for its arguments."""
    (tmp_path / "docker").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (tmp_path / "docker").chmod(0o755)
    names = ("ROS_DOMAIN_ID", "ROS_LOCALHOST_ONLY", "I2C_GROUP", "GPIO_GROUP")
    given = {name: value for name, value in os.environ.items() if name not in names}
    given["PATH"] = f"{tmp_path}:{given['PATH']}"

    def run(*arguments):
        command = [DEPLOY / "docker_run", *arguments]
        piped = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        done = subprocess.run(command, timeout=30, env=given, **piped)
        assert done.returncode == 0, done.stderr
        words, options = done.stdout.splitlines(), {}
        assert words.pop(0) == "run"
        while (name := words.pop(0)).startswith("-"):
            options.setdefault(name, []).append(True if name in ("--rm", "--read-only") else words.pop(0))
        assert name == "hexapod_dynamics", "the image"
        return options, words

    return run


def volumes(options):
    """The places in the container that keep what is written."""
    return [each.split(":")[1] for each in options["-v"] if not each.startswith("/")]


def test_the_robot_stands_at_boot_and_a_stop_reaches_the_nodes(docker_run):
    options, command = docker_run()
    launch = (ROOT / "launch" / "walk.launch.py").read_text()
    arguments = dict(word.split(":=") for word in command if ":=" in word)
    for name in arguments:
        assert f'"{name}"' in launch, f"{name}:= is no argument of walk.launch.py"
    assert command[:4] == ["ros2", "launch", "hexapod_dynamics", "walk.launch.py"]
    assert arguments["hardware"] == "jethexa" and arguments["velocity"] == "0.0"
    assert options["--stop-signal"] == ["SIGINT"]
    assert Path(arguments["state_directory"]).parent == Path(volumes(options)[0]), "it outlasts the container"
    unit = (DEPLOY / "hexapod.service").read_text()
    assert "Restart=on-failure\n" in unit and f"docker stop {options['--name'][0]}\n" in unit


def test_another_command_runs_in_the_same_container(docker_run):
    assert docker_run("bash", "-c", "exit") == (docker_run()[0], ["bash", "-c", "exit"])


def test_it_has_the_devices_of_the_hardware_file_and_no_mount_below_proc(docker_run):
    options, _ = docker_run()
    parameters = yaml.safe_load((ROOT / "config" / "hardware_jethexa.yaml").read_text())
    assert parameters["/**/servos"]["ros__parameters"]["port"] in options["--device"]
    bus = parameters["/**/imu"]["ros__parameters"]["bus"]
    assert f"/dev/i2c-{bus}" in options["--device"]
    assert not [volume for volume in options["-v"] if volume.startswith("/proc")]
    assert {"JETSON_MODEL_NAME=JETSON_NANO", "ROS_LOCALHOST_ONLY=1"} <= set(options["-e"])


def instructions():
    """The Dockerfile as (instruction, argument), comments left out and continued lines joined."""
    lines = [line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def arguments_of(name):
    return [argument for instruction, argument in instructions() if instruction == name]


def environment():
    """What the image's ENV sets."""
    return dict(pair.split("=", 1) for argument in arguments_of("ENV") for pair in shlex.split(argument))


def test_the_image_has_every_requirement_within_its_bounds(monkeypatch):
    given = {}
    monkeypatch.setattr(setuptools, "setup", given.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    steps = [word for step in arguments_of("RUN") for word in shlex.split(step)]
    apt = {"setuptools": "python3-pip"}
    apt |= {"pyserial": "python3-serial", "pyyaml": "python3-yaml"}
    wheels = {Requirement(word).name: Requirement(word) for word in steps if re.fullmatch(r"[\w.]+>=[\d.]+,<\d+", word)}
    for requirement in map(Requirement, [*given["install_requires"], *given["extras_require"]["jetson"]]):
        if requirement.name in wheels:
            bounds = {str(each) for each in wheels[requirement.name].specifier}
            # numpy below 2: the messages of Humble are compiled for 1.
            assert requirement.name == "numpy" or bounds == {str(each) for each in requirement.specifier}
        else:
            assert apt.get(requirement.name, f"python3-{requirement.name}") in steps, requirement
    built_and_installed = set(wheels) & set(steps)  # in the first stage, in the second
    assert {"vqf", "smbus2", "Jetson.GPIO"} <= built_and_installed


def test_the_container_has_the_least_rights(docker_run):
    options, _ = docker_run()
    assert options["--cap-drop"] == ["ALL"] and not {"--cap-add", "--privileged"} & set(options)
    assert options["--security-opt"] == ["no-new-privileges:true"] and options["--read-only"] == [True]
    (user,) = options["--user"]
    assert not user.startswith("0") and f"useradd --uid {user.split(':')[0]} " in (DEPLOY / "Dockerfile").read_text()
    assert arguments_of("USER") == [user]
    assert [instruction for instruction, _ in instructions()][-3:] == ["USER", "ENTRYPOINT", "CMD"]
    # What the nodes write to, and a file system in memory or a volume that their user owns.
    places = [each.split(":")[0] for each in options["--tmpfs"]]
    assert set(places) == {"/tmp", environment()["ROS_LOG_DIR"]}
    assert volumes(options) == [environment()["ROS_HOME"]]
    owned = next(step for step in arguments_of("RUN") if "useradd" in step)
    for name in ("ROS_HOME", "ROS_LOG_DIR"):
        assert environment()[name] in owned.split("chown robot:robot")[1]


def test_systemd_understands_the_unit(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd here")
    unit = (DEPLOY / "hexapod.service").read_text()
    (tmp_path / "docker.service").write_text("[Service]\nExecStart=/bin/true\n")  # what is not on this machine
    here = re.sub(r"/usr/s?bin/(docker|nvpmodel|jetson_clocks)\b|/opt/\S+/docker_run\b", "/bin/true", unit)
    (tmp_path / "hexapod.service").write_text(here)
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "hexapod.service"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )
    said = [line for line in done.stderr.splitlines() if "hexapod" in line or "docker" in line]
    assert not said, done.stderr
