"""The script that prepares a Jetson shows everything, asks, and does what was answered with yes, nothing else."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "jetson_setup"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the scripts are in the source tree only")


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
        done = subprocess.run(
            [str(SCRIPT), *arguments],
            input=answers,
            capture_output=True,
            text=True,
            timeout=30,
            env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
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
