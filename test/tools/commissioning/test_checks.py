"""The checks of a robot, as far as they are functions of what was measured."""

import itertools
import os
from types import SimpleNamespace

import numpy as np
import pytest

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.servos.interface import Fault
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.se3 import rotation_rpy, rotation_vector
from hexapod_dynamics.tools.commissioning import findings as f
from hexapod_dynamics.tools.commissioning.bench import Attitude
from hexapod_dynamics.tools.commissioning.imu_checks import assess_axes, compute_mounting, format_rpy
from hexapod_dynamics.tools.commissioning.joint_checks import assess_stop, describe_motion
from hexapod_dynamics.tools.commissioning.servo_checks import (
    Supply,
    assess_supplies,
    check_file,
    check_supply,
    find_users,
)

ROBOT = Robot.jethexa()
MAP = ServoMap.from_robot(ROBOT)
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
    found = compute_mounting(measured[Attitude.LEVEL], measured[Attitude.NOSE_DOWN])
    assert np.linalg.norm(rotation_vector(found.T @ true)) < np.radians(8.0)
    angles = [float(part) for part in format_rpy(found).partition("[")[2].rstrip("]").split(",")]
    np.testing.assert_allclose(rotation_rpy(*np.radians(angles)), true, atol=1e-12)
    right = assess_axes(measured, true)
    assert right.passed
    if not np.allclose(true, ROBOT.imu.rotation):
        wrong = assess_axes(measured, ROBOT.imu.rotation)
        assert wrong.outcome == "FAILED" and format_rpy(true) in wrong.remedy


def test_a_mounting_between_right_angles_is_written_as_measured():
    true = rotation_rpy(0.0, 0.0, np.radians(45.0))
    found = compute_mounting(*list(forces(true).values())[:2])
    assert format_rpy(found) == "imu.rpy_deg: [0.0, 0.0, 45.0]"


def test_attitudes_that_were_not_held_are_told():
    level = forces(np.eye(3))[Attitude.LEVEL]
    with pytest.raises(DeviceError, match="turned by 0 degrees"):
        compute_mounting(level, level)
    untilted = assess_axes(dict.fromkeys(Attitude, level), np.eye(3))
    assert untilted.outcome == "FAILED" and "20 to 45 degrees" in untilted.remedy
    left_down = forces(np.eye(3)) | {Attitude.RIGHT_DOWN: 9.81 * rotation_rpy(-0.5, 0, 0).T @ [0, 0, 1]}
    assert "do not fit together" in assess_axes(left_down, np.eye(3)).seen


def supplies(**changes):
    rows = [Supply(name, 11.8, 9.0, 12.6, 32.0, 85.0, 0.0) for name in MAP.joint_names]
    rows[4] = rows[4]._replace(**changes)
    return rows


@pytest.mark.parametrize(
    "changes, what, words",
    [
        ({"voltage": 11.0}, "voltage", "femur_joint_LM has less"),
        ({"highest_voltage": 12.0}, "limits of the servos", "a full battery has 12.6 V"),
        ({"temperature": 72.0}, "temperature", "let them cool"),
        ({"temperature": 50.0, "temperature_limit": 60.0}, "temperature", "let them cool"),
    ],
)
def test_supply_limits_and_heat_are_assessed_for_each_servo(changes, what, words):
    assert f.all_passed(list(assess_supplies(supplies(), LIMITS)))
    bad = [each for each in assess_supplies(supplies(**changes), LIMITS) if each.outcome == "FAILED"]
    assert [each.what for each in bad] == [what] and words in bad[0].remedy and "femur_joint_LM" in bad[0].seen


def test_a_supply_that_no_servo_reports_is_a_finding_for_each():
    bus = SimpleNamespace(ids=MAP.ids, fault=Fault.TIMEOUT, read=lambda *_: None)
    found = list(check_supply(SimpleNamespace(bus=bus, servo_map=MAP)))
    assert [each.what for each in found] == list(MAP.joint_names) and not any(each.passed for each in found)


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
    assert words in describe_motion(ROBOT, MAP.joint_names.index(joint), change)


def test_a_stop_is_judged_by_where_the_joint_is_afterwards():
    good = assess_stop("j", 0.0, 0.15, 0.05, 0.06, 0.06, True)
    assert good.passed
    assert "moved on" in assess_stop("j", 0.0, 0.15, 0.05, 0.08, 0.15, True).remedy
    assert "must hold" in assess_stop("j", 0.0, 0.15, 0.05, 0.06, 0.06, False).remedy
    assert assess_stop("j", 0.0, 0.15, 0.14, 0.15, 0.15, True) is None  # too late to be judged


def test_a_file_that_is_no_device_or_not_there_is_told(tmp_path):
    with pytest.raises(f.CheckError, match="does not exist") as missing:
        check_file(str(tmp_path / "ttyTHS1"), "dialout")
    assert "/dev/serial/by-id/" in missing.value.finding.remedy
    (tmp_path / "file").touch()
    with pytest.raises(f.CheckError, match="not a device"):
        check_file(str(tmp_path / "file"), "dialout")
    assert check_file("/dev/null", "dialout").passed


def test_a_device_without_permission_names_the_group(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may open everything
    with pytest.raises(f.CheckError, match="permission denied") as refused:
        check_file("/dev/null", "dialout")
    assert "usermod -aG dialout" in refused.value.finding.remedy


def test_a_login_console_of_another_user_is_named_by_its_command_line(tmp_path):
    entry = tmp_path / "99999"
    entry.mkdir()
    (entry / "cmdline").write_bytes(b"\0".join([b"/sbin/agetty", b"--keep-baud", b"115200", b"null", b""]))
    assert find_users("/dev/null", tmp_path) == ["process 99999 (agetty --keep-baud)"]
    assert find_users("/dev/zero", tmp_path) == []


def test_the_report_is_a_table_with_what_to_do():
    rows = [
        *f.label_findings("port", [f.Finding("a", "x | y")]),
        *f.label_findings("imu", [f.Finding("b", "lost", "plug it in")]),
        *f.label_findings("axes", [f.Finding("c", "left out", skipped=True)]),
    ]
    text = f.format_report("Check", [("host", "here")], rows)
    assert "| port | a | passed | x \\| y |" in text and "- imu, b: plug it in" in text and "- host: here" in text
    assert "1 of 3 passed; look at: imu, axes." in text
    assert not f.all_passed([]) and not f.all_passed(rows[2:])
