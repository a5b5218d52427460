"""The checks of a robot, as far as they are functions of what was measured."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.servos.interface import PortSettings
from hexapod_dynamics.drivers.servos.lx.bus import Fault, LxServos, ServoBus
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.se3 import rotation_rpy
from hexapod_dynamics.tools.commissioning import findings as f
from hexapod_dynamics.tools.commissioning.imu_checks import angle_between, assess_axes, mounting, rpy_text
from hexapod_dynamics.tools.commissioning.joint_checks import JointChecks, SlowMove, assess_stop
from hexapod_dynamics.tools.commissioning.owner import Attitude
from hexapod_dynamics.tools.commissioning.port import check_file, users_of
from hexapod_dynamics.tools.commissioning.servo_checks import Supply, assess_answers, assess_supplies

ROBOT = Robot.jethexa()
MAP = ServoMap.from_robot(ROBOT)
FINE = dict.fromkeys(MAP.joint_names)
LIMITS = SupplyLimits()


def forces(rotation, tilt=0.5, offset=(0.0, 0.0, 0.0)):
    """Specific force in chip axes, for a chip mounted with `rotation`, in the three attitudes."""
    attitudes = {Attitude.LEVEL: (0, 0), Attitude.NOSE_DOWN: (0, tilt), Attitude.RIGHT_DOWN: (tilt, 0)}
    return {
        each: 9.81 * rotation.T @ rotation_rpy(*angles, 0.0).T @ [0, 0, 1] + np.array(offset)
        for each, angles in attitudes.items()
    }


RIGHT_ANGLES = sorted(
    {tuple(np.round(rotation_rpy(*np.radians(a)), 6).ravel()) for a in itertools.product((0, 90, 180, 270), repeat=3)}
)


@pytest.mark.parametrize("entries", RIGHT_ANGLES)
def test_each_of_the_24_mountings_is_found_and_written_so_that_it_reads_back(entries):
    true = np.array(entries).reshape(3, 3)
    measured = forces(true, tilt=0.4, offset=(0.3, -0.4, 0.5))
    found = mounting(measured[Attitude.LEVEL], measured[Attitude.NOSE_DOWN])
    assert angle_between(found, true) < np.radians(8.0)
    angles = [float(part) for part in rpy_text(found).partition("[")[2].rstrip("]").split(",")]
    np.testing.assert_allclose(rotation_rpy(*np.radians(angles)), true, atol=1e-12)
    right = assess_axes(measured, true)
    assert right.outcome is f.Outcome.PASSED
    if not np.allclose(true, ROBOT.imu.rotation):
        wrong = assess_axes(measured, ROBOT.imu.rotation)
        assert wrong.outcome is f.Outcome.FAILED and rpy_text(true) in wrong.remedy


def test_a_mounting_between_right_angles_is_written_as_measured():
    true = rotation_rpy(0.0, 0.0, np.radians(45.0))
    found = mounting(*list(forces(true).values())[:2])
    assert rpy_text(found) == "imu.rpy_deg: [0.0, 0.0, 45.0]"


def test_attitudes_that_were_not_held_are_told():
    level = forces(np.eye(3))[Attitude.LEVEL]
    with pytest.raises(DeviceError, match="turned by 0 degrees"):
        mounting(level, level)
    untilted = assess_axes(dict.fromkeys(Attitude, level), np.eye(3))
    assert untilted.outcome is f.Outcome.FAILED and "20 to 45 degrees" in untilted.remedy
    left_down = forces(np.eye(3)) | {Attitude.RIGHT_DOWN: 9.81 * rotation_rpy(-0.5, 0, 0).T @ [0, 0, 1]}
    assert "do not fit together" in assess_axes(left_down, np.eye(3)).seen


def test_every_joint_without_an_answer_is_named_with_its_id():
    silent = FINE | {"femur_joint_RM": Fault.TIMEOUT, "tibia_joint_LF": Fault.CHECKSUM}
    found = assess_answers(silent, MAP)
    assert [each.what for each in found] == ["16 of 18 servos", "tibia_joint_LF", "femur_joint_RM"]
    assert "servo 10 does not answer" in found[2].seen and "corrupted" in found[1].seen
    assert not f.all_passed(found) and f.all_passed(assess_answers(FINE, MAP))
    (none,) = assess_answers(dict.fromkeys(FINE, Fault.TIMEOUT), MAP)
    assert "supply" in none.remedy and "direction" in none.remedy


def supplies(**changes):
    rows = [Supply(name, 11.8, 9.0, 12.6, 32.0, 85.0, 0.0) for name in MAP.joint_names]
    rows[4] = Supply(**(rows[4].__dict__ | changes))
    return rows


@pytest.mark.parametrize(
    "changes, what, words",
    [
        ({"volts": 11.0}, "voltage", "femur_joint_LM has less"),
        ({"highest": 12.0}, "limits of the servos", "a full battery has 12.6 V"),
        ({"celsius": 72.0}, "temperature", "let them cool"),
        ({"celsius": 50.0, "limit": 60.0}, "temperature", "let them cool"),
    ],
)
def test_supply_limits_and_heat_are_assessed_for_each_servo(changes, what, words):
    assert f.all_passed(assess_supplies(supplies(), LIMITS))
    bad = [each for each in assess_supplies(supplies(**changes), LIMITS) if each.outcome is f.Outcome.FAILED]
    assert [each.what for each in bad] == [what] and words in bad[0].remedy and "femur_joint_LM" in bad[0].seen


def test_an_empty_battery_is_told_even_where_all_servos_agree():
    low = [Supply(name, 9.9, 9.0, 12.6, 32.0, 85.0, 0.0) for name in MAP.joint_names]
    assert "charge the battery" in assess_supplies(low, LIMITS)[0].remedy
    assert [each.what for each in assess_supplies([], LIMITS, ["coxa_joint_LF"])] == ["coxa_joint_LF"]


@pytest.mark.parametrize(
    "joint, change, words",
    [
        ("coxa_joint_LF", 0.2, "leg LF moves counter-clockwise seen from above"),
        ("coxa_joint_RM", 0.2, "leg RM moves counter-clockwise seen from above"),
        ("coxa_joint_RM", -0.2, "leg RM moves clockwise seen from above"),
        ("femur_joint_RR", 0.2, "leg RR moves up and outward"),
        ("tibia_joint_RF", 0.2, "leg RF moves outward"),
        ("tibia_joint_RF", -0.2, "leg RF moves inward"),
    ],
)
def test_the_motion_that_should_be_seen_follows_from_the_robots_geometry(joint, change, words):
    mover = SlowMove(ROBOT, LxServos(ServoBus(PortSettings("nowhere")), MAP.ids))
    checks = JointChecks(ROBOT, mover, None)
    assert words in checks.motion_text(MAP.joint_names.index(joint), change)


def test_a_stop_is_judged_by_where_the_joint_is_afterwards():
    good = assess_stop("j", 0.0, 0.15, 0.05, 0.06, 0.06, True)
    assert good.outcome is f.Outcome.PASSED
    assert "moved on" in assess_stop("j", 0.0, 0.15, 0.05, 0.08, 0.15, True).remedy
    assert "must hold" in assess_stop("j", 0.0, 0.15, 0.05, 0.06, 0.06, False).remedy
    assert assess_stop("j", 0.0, 0.15, 0.14, 0.15, 0.15, True) is None  # too late to be judged


def test_a_file_that_is_no_device_or_not_there_is_told(tmp_path):
    missing = check_file(str(tmp_path / "ttyTHS1"), "dialout")
    assert "does not exist" in missing.seen and "/dev/serial/by-id/" in missing.remedy
    (tmp_path / "file").touch()
    assert "not a device" in check_file(str(tmp_path / "file"), "dialout").seen
    assert check_file("/dev/null", "dialout").outcome is f.Outcome.PASSED


def test_a_device_without_permission_names_the_group(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may open everything
    refused = check_file("/dev/null", "dialout")
    assert "permission denied" in refused.seen and "usermod -aG dialout" in refused.remedy


def test_who_uses_a_device_is_named_and_its_simulator_is_not():
    master, slave = os.openpty()
    path = os.ttyname(slave)
    code = f"file = open({path!r}); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        (line,) = users_of(path)
        assert str(other.pid) in line and "python" in line
        other.communicate(b"\n")
    assert users_of(path) == []
    os.close(master)
    os.close(slave)


def test_a_login_console_of_another_user_is_named_by_its_command_line(tmp_path):
    entry = tmp_path / "99999"
    entry.mkdir()
    (entry / "cmdline").write_bytes(b"\0".join([b"/sbin/agetty", b"--keep-baud", b"115200", b"null", b""]))
    assert users_of("/dev/null", tmp_path) == ["process 99999 (agetty --keep-baud)"]
    assert users_of("/dev/zero", tmp_path) == []


def test_the_report_is_a_table_with_what_to_do():
    rows = [
        *f.of_check("port", [f.passed("a", "x | y")]),
        *f.of_check("imu", [f.failed("b", "lost", "plug it in")]),
        *f.of_check("axes", [f.not_run("c", "left out")]),
    ]
    text = f.markdown("Check", [("host", "here")], rows)
    assert "| port | a | passed | x \\| y |" in text and "- imu, b: plug it in" in text and "- host: here" in text
    assert "1 of 3 passed; look at: imu, axes." in text
    assert not f.all_passed([]) and not f.all_passed(rows[2:])
