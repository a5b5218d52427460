"""Launch files run in processes of their own; what they print is in launches.txt, as by the real one."""

import os
import shlex
import signal
import time
from pathlib import Path

import pytest
from processes import FILES, REAL, check_printed, finish, launch, session, start

SESSION = [each for each in session("launches.txt") if not (REAL and "bad_" in each[0])]  # reasons are our own


@pytest.mark.parametrize(("case", "expected"), SESSION, ids=[case for case, _ in SESSION])
def test_a_launch_says_what_the_session_has(case, expected, tmp_path):
    file, *arguments = shlex.split(case)
    lines, text, code = launch(file, tmp_path, *arguments)
    check_printed(expected, "\n".join([*lines, f"[{code}]"]))
    assert "Traceback" not in text
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("launch_params_")] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("from launch.actions import NoSuchAction", "does not cover launch.actions.NoSuchAction, only DeclareLaunchA"),
        ("", "does not contain the required function 'generate_launch_description()'"),
    ],
)
def test_a_file_that_describes_nothing_ends_the_launch_with_the_reason(text, reason, tmp_path):
    file = tmp_path / "broken.launch.py"
    file.write_text(text)
    process = start(file, tmp_path)
    _, text = finish(process)
    assert process.returncode == 1
    assert reason in text and "Traceback" not in text


def test_outputs_go_into_the_files_that_they_are_sent_to(tmp_path):
    launch("outputs", tmp_path)
    (folder,) = (tmp_path / "log").iterdir()
    logged = (folder / "launch.log").read_text()
    names = ("screen-1", "log-2", "both-3", "own_log-4", "full-5")
    assert [each for each in names if f"[{each}] err" in logged] == ["log-2", "both-3", "full-5"]
    assert (folder / "own_log-4-stdout.log").read_text() == "[own_log-4] out\n"
    assert sorted((folder / "full-5.log").read_text().split("\n")) == ["", "[full-5] err", "[full-5] out"]


@pytest.fixture
def sleepers(tmp_path):
    """A launch whose two processes are up."""
    process = start(FILES / "cases.launch.py", tmp_path, "case:=sleepers")
    said = []
    while sum("] up" in line for line in said) < 2:
        said.append(process.stdout.readline())
        assert said[-1], "the launch ended early: " + "".join(said)
    yield process
    process.kill()
    process.wait()


def left(process):
    """Return the ids of the processes of the launch's session."""
    return [
        stat.parent.name
        for stat in Path("/proc").glob("[0-9]*/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[3] == str(process.pid)
    ]


@pytest.mark.parametrize(
    ("send", "number"),
    # The last as a terminal does, to the whole process group; the launch is not told that it has no terminal.
    [(os.kill, signal.SIGINT), (os.kill, signal.SIGTERM), (os.killpg, signal.SIGINT)],
)
def test_a_signal_ends_all_processes_soon(sleepers, send, number, tmp_path):
    began = time.monotonic()
    send(sleepers.pid, number)
    lines, text = finish(sleepers)
    # The processes end at once; SIGTERM and SIGKILL would come 5 s and 10 s later.
    assert time.monotonic() - began < 4.0
    assert sleepers.returncode == 0
    assert "[first-1] stopped by SIGINT" in lines
    assert left(sleepers) == []
    if send == os.kill:  # else a second SIGINT, the launch's own, may come into the end of the first
        assert "[INFO] [second-2]: process has finished cleanly [pid PID]" in lines
        assert "Traceback" not in text


def test_a_launch_whose_reader_has_gone_ends_its_processes(sleepers, tmp_path):
    sleepers.stdout.close()
    sleepers.send_signal(signal.SIGINT)
    assert sleepers.wait(timeout=10) == 0
    assert left(sleepers) == []
    (folder,) = (tmp_path / "log").iterdir()
    assert "process has finished cleanly" in (folder / "launch.log").read_text()
