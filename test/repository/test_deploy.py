"""What deploy/ promises fits together: files that are named exist, options are those the launch file has.

hadolint and the schema of the compose file: .ci/run.
"""

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


def test_the_container_has_the_least_rights():
    service = compose()
    assert service["cap_drop"] == ["ALL"] and "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"] and service["read_only"] is True
    user = service["user"].split(":")[0]
    assert user != "0" and f"useradd --uid {user} " in (DEPLOY / "Dockerfile").read_text()
    assert arguments_of("USER") == [service["user"]]
    assert [instruction for instruction, _ in instructions()][-3:] == ["USER", "ENTRYPOINT", "CMD"]
    # What the nodes write to, and a file system in memory or a volume that their user owns.
    places = [each.split(":")[0] for each in service["tmpfs"]]
    assert set(places) == {"/tmp", environment()["ROS_LOG_DIR"]}
    owned = next(step for step in arguments_of("RUN") if "useradd" in step)
    for name in ("ROS_HOME", "ROS_LOG_DIR"):
        assert environment()[name] in owned.split("chown robot:robot")[1]


def docker_run(tmp_path, *arguments):
    """The words that deploy/docker_run gives to docker."""
    (tmp_path / "docker").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (tmp_path / "docker").chmod(0o755)
    names = ("ROS_DOMAIN_ID", "ROS_LOCALHOST_ONLY", "I2C_GROUP", "GPIO_GROUP")
    given = {name: value for name, value in os.environ.items() if name not in names}
    given["PATH"] = f"{tmp_path}:{given['PATH']}"
    done = subprocess.run([DEPLOY / "docker_run", *arguments], capture_output=True, text=True, timeout=30, env=given)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def default(text):
    """A value of the compose file where the environment does not set it."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(text))


def test_docker_run_starts_what_the_compose_file_starts(tmp_path):
    words, service = docker_run(tmp_path), compose()
    image = words.index(service["image"])
    assert words[0] == "run" and words[image + 1 :] == service["command"].split()
    options, found = words[1:image], {}
    while options:
        name = options.pop(0)
        found.setdefault(name, []).append(True if name in ("-d", "--read-only") else options.pop(0))
    project = DEPLOY.name  # compose puts it before the names of its volumes
    named = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["volumes"]
    volumes = [f"{project}_{each}" if each.split(":")[0] in named else each for each in service["volumes"]]
    assert found == {
        "-d": [True],
        "--name": [service["container_name"]],
        "--restart": [service["restart"]],
        "--stop-signal": [service["stop_signal"]],
        "--stop-timeout": [service["stop_grace_period"].rstrip("s")],
        "--network": [service["network_mode"]],
        "--user": [service["user"]],
        "--security-opt": service["security_opt"],
        "--cap-drop": service["cap_drop"],
        "--read-only": [True],
        "--pids-limit": [str(service["pids_limit"])],
        "-e": [f"{name}={default(value)}" for name, value in service["environment"].items()],
        "--device": service["devices"],
        "--group-add": [default(group) for group in service["group_add"]],
        "-v": volumes,
        "--tmpfs": service["tmpfs"],
        "--ulimit": [f"{name}={value}" for name, value in service["ulimits"].items()],
        "--log-driver": [service["logging"]["driver"]],
        "--log-opt": [f"{name}={value}" for name, value in service["logging"]["options"].items()],
    }


def test_systemd_understands_the_unit(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd here")
    unit = (DEPLOY / "hexapod.service").read_text()
    (tmp_path / "docker.service").write_text("[Service]\nExecStart=/bin/true\n")  # what is not on this machine
    here = re.sub(r"/usr/(s?bin)/(docker|nvpmodel|jetson_clocks)\b", "/bin/true", unit)
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
