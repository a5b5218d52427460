"""What deploy/ promises fits together: files that are named exist, options are those the launch file has. The script
that prepares a Jetson shows everything, asks, and does what was answered with yes, nothing else.
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
from support import programs
from support.page_commands import ALL, HOST

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
    done = programs.run(
        "systemd-analyze",
        "verify",
        tmp_path / "hexapod.service",
        variables={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )
    said = [line for line in done.stderr.splitlines() if "hexapod" in line or "docker" in line]
    assert not said, done.stderr


SCRIPT = Path(__file__).parents[2] / "scripts" / "jetson_setup"


@pytest.fixture
def run(tmp_path):
    """Run the script where sudo and getent only write down what they were asked, and tar the names of what it gets."""
    log = tmp_path / "log"
    for name in ("sudo", "getent"):
        stand_in = tmp_path / name
        taken = f'[ "$1" != tee ] || cat >> {log}\n[ "$1" != tar ] || tar -t > {log}.copied'
        stand_in.write_text(f'#!/bin/sh\n{taken}\necho {name} "$@" >> {log}\n')
        stand_in.chmod(0o755)

    def run(*arguments, answers=""):
        done = programs.run(
            str(SCRIPT), *arguments, input=answers, variables={"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        )
        return done, log.read_text() if log.exists() else ""

    return run


def test_a_dry_run_shows_all_and_does_nothing(run):
    done, log = run("--dry-run")
    assert done.returncode == 0 and log == "" and "nothing was done" in done.stdout
    model = Path("/proc/device-tree/model")
    jetson = model.exists() and b"Jetson" in model.read_bytes()
    assert ("no Jetson" in done.stdout) != jetson
    steps = "dialout,i2c,gpio udevadm nvgetty jethexa_bringup bus_clk_rate psmisc docker.io hexapod.service"
    for word in steps.split():
        assert word in done.stdout


@pytest.mark.parametrize("answers", ["", "n\n" * 5, "\n" * 5, "maybe\n" * 5])
def test_what_is_not_answered_with_yes_is_left_out(run, answers):
    done, log = run(answers=answers)
    assert done.returncode == 0 and log == "" and "0 step(s) done" in done.stdout


def test_a_yes_does_that_step_only(run):
    done, log = run(answers="n\nn\ny\nn\nn\n")
    assert done.returncode == 0 and log == "sudo systemctl disable --now nvgetty\n" and "1 step(s) done" in done.stdout


def test_the_image_is_built_where_the_unit_starts_it_and_boot_is_a_step_of_its_own(run, tmp_path):
    done, log = run(answers="n\n" * 6 + "y\nn\n")
    copied = (tmp_path / "log.copied").read_text().splitlines()
    assert "./package.xml" in copied and "./deploy/docker_run" in copied
    assert not {name.split("/")[1] for name in copied} & {".ros2_env", "build", "install", "log"}
    place = "/opt/hexapod_dynamics"
    assert done.returncode == 0 and "1 step(s) done" in done.stdout
    assert log.splitlines() == [
        f"sudo mkdir -p {place}",
        f"sudo tar -C {place} --no-same-owner -x",
        # The numbers of the groups that may open the devices; the stand-in for getent prints none.
        "getent group i2c gpio",
        "I2C_GROUP=",
        "GPIO_GROUP=",
        f"sudo tee {place}/deploy/.env",
        f"sudo docker build -f {place}/deploy/Dockerfile -t hexapod_dynamics {place}",
    ]
    unit = (SCRIPT.parents[1] / "deploy" / "hexapod.service").read_text()
    assert f"ExecStart={place}/deploy/docker_run\n" in unit


# ---- commands of the pages for the robot's computer ------------------------------------------------------------------

COMMANDS = {" ".join(words): line for _, line, words in ALL if words[0] in HOST}
CONTAINERS = [command for command in COMMANDS if command.startswith(("docker ", "deploy/docker_run"))]
CLOCKS = ["nvpmodel -m 0", "jetson_clocks"]
SUDO = '#!/bin/sh\nexec "$@"\n'
# Into a root file system of its own, in which nothing runs that could be started or reloaded.
SYSTEMCTL = """#!/bin/bash
[ "$1" = daemon-reload ] || exec {systemctl} --root="$UNITS" "${{@/#--now/--quiet}}"
"""
COPY = '#!/bin/bash\nexec /bin/cp "${1/#\\/opt\\/hexapod_dynamics/.}" "$UNITS$2"\n'
VENDOR = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"


def test_files_and_containers_of_docker_are_those_of_the_repository():
    entry = re.search(r'^ENTRYPOINT \["(.*)"\]$', (DEPLOY / "Dockerfile").read_text(), re.M)[1]
    name = re.search(r"--name (\w+)", (DEPLOY / "docker_run").read_text())[1]
    images = set()
    for command in CONTAINERS:
        for file in re.findall(r"-f (\S+)", command):
            assert (ROOT / file).is_file(), command
        if found := re.match(r"docker exec (?:-it )?(\S+) (\S+) ", command):
            assert found.groups() == (name, entry), command
        images |= set(re.findall(r"build .*-t (\S+)", command))
        if command.startswith("docker run"):
            assert images & set(command.split()), command
    assert images


def test_the_robot_is_started_at_boot_and_gives_way_to_the_vendors_programs(tmp_path):
    systemctl = shutil.which("systemctl") or pytest.skip("no systemctl here")
    for name, text in (("sudo", SUDO), ("cp", COPY), ("systemctl", SYSTEMCTL.format(systemctl=systemctl))):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    units = tmp_path / "units" / "etc" / "systemd" / "system"
    units.mkdir(parents=True)
    for name in ("jethexa_bringup", "start_app_node"):
        (units / f"{name}.service").write_text(VENDOR)
    given = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "UNITS": str(tmp_path / "units")}

    def run(line):
        return programs.run("bash", "-c", line, cwd=ROOT, env=given)

    def state(name):
        return run(f"systemctl is-enabled {name}").stdout.strip()

    done = run("{ yes n | head -7; echo y; } | scripts/jetson_setup")
    assert "1 step(s) done, 0 failed" in done.stdout and state("hexapod") == "enabled", done.stdout + done.stderr
    for unit, before, after in (("start_app_node", "disabled", "disabled"), ("jethexa_bringup", "disabled", "enabled")):
        assert state(unit) == before
        lines = {line for command, line in COMMANDS.items() if unit in command}
        assert lines and all(run(line).returncode == 0 for line in lines)
        assert state(unit) == after
    assert state("hexapod") == "disabled"


def test_the_clocks_by_hand_are_those_at_boot():
    assert set(CLOCKS) <= set(COMMANDS)
    unit = (DEPLOY / "hexapod.service").read_text()
    assert re.findall(r"^ExecStartPre=-/usr/s?bin/((?:nvp|jetson).*)$", unit, re.M) == CLOCKS
