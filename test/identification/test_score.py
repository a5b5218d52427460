"""`score` on a walk in MuJoCo, on small files of the shapes of two public logs, and on a bag of `record`."""

import argparse
import csv
import math
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.waiting import wait_until

from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.identification.public_logs import read_jethexa_npz, read_sysid_csv
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.identification.score import score, write_page
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.robot_file import find_packaged_file
from hexapod_dynamics.se3 import quaternion_from_rotation, roll_pitch_yaw
from hexapod_dynamics.simulation import MujocoSimulator, Truth
from hexapod_dynamics.tools import record
from hexapod_dynamics.tools import score as tool

ROBOT = Robot.jethexa()
NAMES = list(ROBOT.joint_names)
TICK = 0.02


@pytest.fixture(scope="module")
def walk():
    """A Recording of 12 s; what is commanded starts 17 + 25 ms later, whereas the software reckons with 17 ms."""
    sim = MujocoSimulator(ROBOT, timestep=1e-3, truth=Truth(delay=0.025))
    gait = AdaptiveGait().bind(ROBOT)
    gait.reset(walking=True)
    gait.command(0.06, 0.0, 0.0)
    sim.reset(joints=gait.position)
    sent, read, turned, joint = [], [], [], 0
    for _ in range(600):
        gait.sense(*roll_pitch_yaw(sim.rotation))
        targets = gait.step(TICK)[0].copy()
        sent.append((sim.time - 0.017, targets))
        sim.command(targets, TICK)
        for _ in range(2):
            sim.step(10)
            turned.append((sim.time, sim.rotation.copy()))
            for _ in range(3):
                read.append((sim.time, joint, float(sim.readings[joint])))
                joint = (joint + 1) % 18
    columns = [np.array(column) for rows in (sent, read, turned) for column in zip(*rows, strict=True)]
    return Recording(*columns[:5], attitude_time=columns[5], attitude=columns[6])


def test_a_walk_is_scored_and_its_servos_lag_is_seen(walk):
    result = score(ROBOT, walk, detect=False)
    assert result.joints[0] < 0.6 * result.setpoints and result.joints[1] < result.setpoints
    assert max(result.tilt) < math.radians(1.0)
    assert np.nanmedian(result.lag) == pytest.approx(0.025, abs=0.006)
    assert result.declared is None
    text = write_page(ROBOT, result, "walk")
    assert "| femur_joint_LM |" in text and "Not run" in text
    late = score(ROBOT, walk, command_delay=0.042, detect=False)
    assert abs(np.nanmedian(late.lag)) < 0.006 and late.joints[0] < result.joints[0]


def tenth(walk):
    """Every tenth second of the walk: times, commands, readings of all joints, attitudes."""
    rows, own = [], [walk.reading_joint == joint for joint in range(18)]
    for time in np.arange(1.0, 12.0, 0.1):
        angles = [float(np.interp(time, walk.reading_time[mine], walk.readings[mine])) for mine in own]
        command = walk.commands[np.searchsorted(walk.command_time, time) - 1]
        rows.append((time, command, angles, walk.attitude[np.searchsorted(walk.attitude_time, time) - 1]))
    return rows


def test_the_csv_of_a_robot_with_bus_servos(walk, tmp_path, capsys):
    rows = tenth(walk)
    path = tmp_path / "sysid_walk.csv"
    order = NAMES[::-1]  # another order than the robot file's
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        numbers = range(18)
        writer.writerow(
            ["t_s", "tick", "t_send_s", "t_recv_s", *(f"q{k}_deg" for k in numbers), *(f"cmd{k}_deg" for k in numbers)]
        )
        for k, (time, command, angles, _) in enumerate(rows):
            read, sent = (np.round(np.degrees(values), 3)[::-1] for values in (angles, command))
            writer.writerow([time, k, time, time + 0.012, *read, *sent])
    log = read_sysid_csv(path, ROBOT, order)
    assert log.command_period == pytest.approx(0.1)
    assert log.commands[5] == pytest.approx(rows[5][1], abs=1e-4)
    assert log.readings[:18] == pytest.approx(rows[0][2], abs=1e-4)
    assert tool.main([str(path), "--joints", *order]) == 0
    assert "after 0.5 s" in capsys.readouterr().out
    assert tool.main([str(path), "--joints", "a"]) == 1
    assert "in the order of the file" in capsys.readouterr().err
    path.write_text("t_s,q0_deg\n1,2\n")
    with pytest.raises(IdentificationError, match="no column t_send_s"):
        read_sysid_csv(path, ROBOT)


def test_the_npz_of_a_jethexa(walk, tmp_path):
    rows = tenth(walk)
    states = np.array(
        [[*quaternion_from_rotation(turn), *angles, *np.zeros(18)] for _, _, angles, turn in rows], np.float32
    )
    path = tmp_path / "turning_1.npz"
    np.savez(path, states=states, controls=np.array([command for _, command, _, _ in rows]))
    log = read_jethexa_npz(path, ROBOT)
    assert log.attitude[3] == pytest.approx(rows[3][3], abs=1e-5)
    assert log.readings[18:36] == pytest.approx(rows[1][2], abs=1e-5)
    assert math.isfinite(score(ROBOT, log).tilt[0])
    np.savez(path, states=states[:, :22], controls=np.zeros((len(states), 18)))
    with pytest.raises(IdentificationError, match="40"):
        read_jethexa_npz(path, ROBOT)


def one_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros((3, 40)))


DAMAGED = {
    "empty.npz": lambda path: path.write_bytes(b""),
    "one_array.npz": one_array,
    "cut_off.npz": lambda path: path.write_bytes(b"PK\x03\x04" + bytes(30)),
    "long.csv": lambda path: path.write_text("t_send_s\n" + "1" * 200_000),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_log_is_refused_by_its_name(name, tmp_path, capsys):
    """An empty file, one array and a field that is too long ended the program with a traceback."""
    DAMAGED[name](tmp_path / name)
    assert tool.main([str(tmp_path / name)]) == 1
    assert name in capsys.readouterr().err


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Write a program that takes the place of `ros2 bag record -o FOLDER TOPICS`."""
    command = tmp_path / "ros2"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def write(script):
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)

    return write


RECORDS = 'trap ">$4/ended; exit 0" INT; mkdir "$4"; while :; do sleep 0.05; done'


def test_record_describes_itself_and_refuses_a_missing_photo(tmp_path, capsys):
    given = argparse.Namespace(firmware="LX-224HV", notes="", photos=[Path("no.jpg")])
    described = yaml.safe_load(record.describe(given, ROBOT))
    assert described["robot"] == ROBOT.name and described["firmware"] == "LX-224HV"
    assert described["photos"] == ["no.jpg"]
    assert record.main(["--out", str(tmp_path / "bag"), "--photos", "no.jpg"]) == 1
    assert "no file no.jpg" in capsys.readouterr().err
    (tmp_path / "robot.yaml").touch()
    assert record.main(["--out", str(tmp_path / "bag"), "--photos", str(tmp_path / "robot.yaml")]) == 1
    assert "another file of the recording has its name" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        record.main(["--out", str(tmp_path / "bag"), "--seconds", "nan"])
    assert "--seconds: 'nan' given, allowed are numbers from 0.1" in capsys.readouterr().err


def test_record_puts_the_robot_file_and_its_description_beside_the_bag(tmp_path, stand_in):
    stand_in('trap "exit 0" INT; mkdir "$4"; echo "$@" > "$4/arguments"; while :; do sleep 0.05; done')
    photo, bag = tmp_path / "front.jpg", tmp_path / "bag"
    photo.write_bytes(b"jpg")
    given = ["--out", str(bag), "--namespace", "left", "--seconds", "0.5", "--photos", str(photo)]
    assert record.main(given) == 0
    arguments = (bag / "arguments").read_text().split()
    assert arguments[:3] == ["bag", "record", "-o"] and "/left/joint_commands" in arguments
    assert "/diagnostics" in arguments and (bag / "front.jpg").read_bytes() == b"jpg"
    assert Robot.load(bag / "robot.yaml") == ROBOT
    assert yaml.safe_load((bag / "recording.yaml").read_text())["photos"] == ["front.jpg"]
    (bag / "recording.yaml").write_text("old")
    assert record.main(given) == 1 and (bag / "recording.yaml").read_text() == "old"
    killed = tmp_path / "killed"
    stand_in('mkdir "$4"; while [ ! -f "$4/recording.yaml" ]; do sleep 0.05; done; kill -9 $$')
    assert record.main(["--out", str(killed), "--robot", str(find_packaged_file("jethexa_by_positions.py"))]) != 0
    assert Robot.load(killed / "robot.yaml").name == "jethexa_by_positions"


def test_an_error_of_record_ends_the_recorder_too(tmp_path, monkeypatch, capsys, stand_in):
    stand_in(RECORDS)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record.Path, "write_text", full)
    assert record.main(["--out", str(tmp_path / "bag")]) == 1
    assert "No space left" in capsys.readouterr().err and (tmp_path / "bag" / "ended").exists()


def test_a_recorder_that_makes_no_folder_is_ended_and_that_is_said(tmp_path, monkeypatch, capsys, stand_in):
    stand_in('trap "exit 0" INT; while :; do sleep 0.05; done')
    monkeypatch.setattr(record, "FOLDER_WITHIN", 0.5)
    assert record.main(["--out", str(tmp_path / "bag")]) == 1
    assert "ros2 bag record has made no folder" in capsys.readouterr().err


@pytest.fixture(params=[signal.SIG_DFL], ids=["terminal"])
def recording(tmp_path, request, stand_in):
    """`record`, started from a script's background, where SIGINT is ignored; param: what SIGHUP does there."""
    stand_in(RECORDS)
    bag = tmp_path / "bag"
    program = f"from hexapod_dynamics.tools import record; record.main(['--out', {str(bag)!r}])"
    ignoring, hang_up = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"], partial(signal.signal, signal.SIGHUP)
    with subprocess.Popen(
        [*ignoring, sys.executable, "-c", program], preexec_fn=partial(hang_up, request.param)
    ) as one:
        try:
            wait_until((bag / "recording.yaml").exists, 30.0)
            yield one, bag / "ended"
        finally:
            one.terminate()  # so that its recorder ends, too


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_ends_record_or_closes_its_terminal_ends_the_recorder(recording, number):
    process, ended = recording
    process.send_signal(number)
    assert process.wait(30.0) == 0 and ended.exists()


@pytest.mark.parametrize("recording", [signal.SIG_IGN], ids=["nohup"], indirect=True)
def test_a_recording_under_nohup_goes_on_when_its_terminal_closes(recording):
    process, ended = recording
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    assert not ended.exists()
