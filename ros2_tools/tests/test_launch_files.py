"""Launch files run in processes of their own; where a real ROS 2 is named, it must say the same of each."""

import os
import signal
import time
from pathlib import Path

import pytest
from launch_transcript import REAL, finish, run, start

CASES = [
    "arguments",
    "arguments speed:=3 mode:=fast",
    "processes",
    "required",
    "respawn",
    "stubborn",
    "scopes",
    "prefix",
    "prefix launch-prefix:=env",
    "nodes",
    "more_nodes",
    "included",
    "included needed:=3 optional:=4",
    "outputs",
]


@pytest.mark.skipif(not REAL, reason="REAL_ROS2_SETUP names no setup file of a real ROS 2")
@pytest.mark.parametrize("case", CASES)
def test_says_what_the_real_one_says(case, tmp_path):
    file, *arguments = case.split()
    transcripts = []
    for real in (True, False):
        scratch = tmp_path / str(real)
        scratch.mkdir()
        transcripts.append(run(file, scratch, *arguments, real=real))
    assert transcripts[1].comparable() == transcripts[0].comparable()
    assert transcripts[1].returncode == transcripts[0].returncode


def test_arguments_reach_substitutions_and_conditions(tmp_path):
    told = run("arguments", tmp_path).by_source()["log of launch.user"]
    assert [line.removeprefix("[INFO] [launch.user]: ") for line in told] == [
        "speed 0.5, ab",
        "slow",
        "not set",
        "twice is at most 1",
        "/a/slow/c.yaml",
        "7.0",
        "now 2",
    ]
    told = run("arguments", tmp_path, "speed:=3", "mode:=fast").by_source()["log of launch.user"]
    assert "[INFO] [launch.user]: twice is more than 1" in told
    assert "[INFO] [launch.user]: not slow" in told


def test_processes_follow_each_other_by_their_events(tmp_path):
    transcript = run("processes", tmp_path)
    said = transcript.by_source()
    assert transcript.returncode == 0
    assert sorted(said["sh-2"]) == ["[sh-2] one", "[sh-2] three", "[sh-2] two"]
    assert said["echo-4"] == ["[echo-4] hello you"]
    assert said["sh-5"] == ["[sh-5] on the screen"]
    assert said["sh-6"] == ["[sh-6] a terminal"]
    assert [line.removeprefix("[INFO] [launch.user]: ") for line in said["log of launch.user"]] == [
        "first has started",
        "first has ended",
        "second said known by its code",
        "second has ended with 3",
        "the end: all is told",
    ]
    assert "[ERROR] [second-3]: process has died [pid PID, exit code 3, cmd 'python -c" in said["log of second-3"][1]
    assert said["log of sleep-1"][1:] == [
        "[INFO] [sleep-1]: sending signal 'SIGINT' to process[sleep-1]",
        "[ERROR] [sleep-1]: process has died [pid PID, exit code -2, cmd 'sleep 60'].",
    ]


def test_process_is_started_again_after_its_delay(tmp_path):
    transcript = run("respawn", tmp_path)
    assert transcript.by_source()["again-1"] == ["[again-1] 1", "[again-1] 2", "[again-1] 3"]
    assert "never" not in transcript.raw


def test_process_deaf_to_signals_is_terminated_then_killed(tmp_path):
    said = run("stubborn", tmp_path).by_source()
    assert "exit code -15" in said["log of deaf_to_sigint-1"][-1]
    assert said["log of deaf-2"][1:-1] == [
        "[INFO] [deaf-2]: sending signal 'SIGINT' to process[deaf-2]",
        "[ERROR] [deaf-2]: process[deaf-2] failed to terminate '0.5' seconds after receiving 'SIGINT', escalating to "
        "'SIGTERM'",
        "[INFO] [deaf-2]: sending signal 'SIGTERM' to process[deaf-2]",
        "[ERROR] [deaf-2]: process[deaf-2] failed to terminate '1.0' seconds after receiving 'SIGTERM', escalating to "
        "'SIGKILL'",
        "[INFO] [deaf-2]: sending signal 'SIGKILL' to process[deaf-2]",
    ]
    assert "exit code -9" in said["log of deaf-2"][-1]


def test_scopes_keep_what_is_set_in_them(tmp_path):
    said = run("scopes", tmp_path).by_source()
    assert [line.removeprefix("[INFO] [launch.user]: ") for line in said["log of launch.user"]] == [
        "in: 2",
        "out: 1 no colour",
        "after unscoped: 3",
        "not forwarded: unset 3",
        "included with given 3",
        "kept after the include: given",
        "included with again 3",
    ]
    assert said["in-1"] == ["[in-1] red"]


SET_IN_NODES = {
    "as_float": 50.0,
    "as_texts": ["a", "b"],
    "digits": "12",
    "joined": "r50",
    "kept_text": "50",
    "list": [1, 2, 3],
    "list_read": ["a", "b"],
    "mixed": [1.0, 2.5],
    "name_50": 1.0,
    "nested.deeper.one": 1,
    "read": 50,
    "real": 2.5,
    "text": 'a "quoted": text',
    "texts": ["x", "y z"],
    "truth": True,
    "whole": 3,
}


def test_nodes_get_names_parameters_and_remappings(tmp_path):
    transcript = run("nodes", tmp_path)
    said = transcript.by_source()
    assert said["teller-1"] == ["[teller-1] ARGUMENTS | --ros-args |  | "]
    words = said["label-2"][0]
    start = "[label-2] ARGUMENTS | -x | 50 | --ros-args | --log-level | warn | --ros-args | -r | __node:=named | -r"
    assert words.startswith(
        f"{start} | __ns:=/space | --params-file | FILE [('/**', {{'ros__parameters': {{'from_file'"
    )
    assert f"FILE {[('/space/named', {'ros__parameters': SET_IN_NODES})]}" in words
    assert words.endswith(" | -r | chatter:=talk | -r | ~/state:=/st50 | seen | ")
    assert said["teller-3"][0].split(" | ", 2)[2] == (
        "-r | __node:=below | -r | __ns:=/outer/inner | -p | gain:=0.5 | -p | mode:=auto | --params-file | "
        "FILE [('/outer/inner/below', {'ros__parameters': {'gain': 1.5}})] | -r | cmd:=command |  | "
    )
    assert "--params-file | FILE [('/**', {'ros__parameters': {'rate': 50, 'mark': 'home'}})]" in said["teller-5"][0]
    assert any("Parameter file path is not a file: /nowhere/at/all.yaml" in line for line in transcript.lines)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("launch_params_")] == []


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("arguments mode:=medium", 'Argument "mode" provided value "medium" is not valid. Valid options are:'),
        ("included", "missing required argument 'needed' (description: 'must be given'), given: []"),
        (
            "broken what:=namespace",
            "The resulting namespace is invalid: [previous_namespace='None', pushed_namespace='1st']",
        ),
        ("broken what:=condition", "invalid condition expression given 'perhaps'"),
        ("broken what:=package", "package 'no_such_package' not found"),
        ("broken what:=executable", "executable 'no_such_program' not found on the libexec directory"),
        ("syntax", "ros2_tools does not cover launch.actions.NoSuchAction, only DeclareLaunchArgument"),
        ("empty", "does not contain the required function 'generate_launch_description()'"),
    ],
)
def test_broken_file_ends_the_launch_with_the_reason(file, reason, tmp_path):
    transcript = run(*file.split()[:1], tmp_path, *file.split()[1:])
    assert transcript.returncode == 1
    assert reason in transcript.raw
    assert "Traceback" not in transcript.raw


def test_outputs_go_where_they_are_sent(tmp_path):
    transcript = run("outputs", tmp_path)
    said = {
        source: sorted(line.split()[1] for line in lines)
        for source, lines in transcript.by_source().items()
        if "log of" not in source
    }
    assert said == {
        "screen-1": ["err", "out"],
        "log-2": ["err"],
        "both-3": ["err", "out"],
        "full-5": ["err", "out"],
    }
    (folder,) = (tmp_path / "log").iterdir()
    logged = (folder / "launch.log").read_text()
    names = ("screen-1", "log-2", "both-3", "own_log-4", "full-5")
    assert [each for each in names if f"[{each}] err" in logged] == ["log-2", "both-3", "full-5"]
    assert (folder / "own_log-4-stdout.log").read_text() == "[own_log-4] out\n"
    assert sorted((folder / "full-5.log").read_text().split("\n")) == ["", "[full-5] err", "[full-5] out"]


def started(tmp_path, file="sleepers"):
    """Start a launch file and wait until its two processes are up; return it and what it has said so far."""
    process = start(file, tmp_path)
    said = []
    while sum("] up" in line for line in said) < 2:
        said.append(process.stdout.readline())
        assert said[-1], "the launch ended early: " + "".join(said)
    return process, said


def left(process):
    """Return the ids of the processes of the launch's session."""
    return [
        stat.parent.name
        for stat in Path("/proc").glob("[0-9]*/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[3] == str(process.pid)
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_all_processes_soon(number, tmp_path):
    process, _ = started(tmp_path)
    began = time.monotonic()
    process.send_signal(number)
    transcript = finish(process, tmp_path)
    # The processes end at once; SIGTERM and SIGKILL would come 5 s and 10 s later.
    assert time.monotonic() - began < 4.0
    assert transcript.returncode == 0
    assert "[first-1] stopped by SIGINT" in transcript.lines
    assert "[INFO] [second-2]: process has finished cleanly [pid PID]" in transcript.lines
    assert "Traceback" not in transcript.raw
    assert left(process) == []


def test_required_process_ends_the_launch(tmp_path):
    transcript = run("required", tmp_path)
    assert "[INFO] [launch]: process[required-2] was required: shutting down launched system" in transcript.lines


def test_nodes_take_what_is_set_around_them(tmp_path):
    said = run("more_nodes", tmp_path).by_source()
    assert said["teller-1"][0].split(" | ")[2:-2] == [
        "-p",
        "numbers:=(1, 2)",
        "-p",
        "use_sim_time:=True",
        "-r",
        "from:=to",
        "-r",
        "a:=b",
    ]
    assert said["teller-2"][0].split(" | ")[2:-2] == []
    assert said["teller-3"][0].split(" | ")[2:-2] == ["-r", "__node:=made_50", "-r", "__ns:=/ns_50"]
    assert any("there are now at least 2 nodes with the name /twice/same" in line for line in said["log of teller-5"])


def test_program_that_is_not_there_is_named(tmp_path):
    transcript = run("broken", tmp_path, "what:=program")
    assert "cannot start the process: [Errno 2] No such file or directory: 'no_such_program_anywhere'" in transcript.raw
    assert "[INFO] [launch.user]: on" in transcript.lines


def test_ctrl_c_of_a_terminal_is_not_sent_twice(tmp_path):
    process, _ = started(tmp_path)
    # As a terminal does: to the whole process group. The launch is not told that it has no terminal.
    transcript = None
    try:
        os.killpg(process.pid, signal.SIGINT)
    finally:
        transcript = finish(process, tmp_path)
    assert "[first-1] stopped by SIGINT" in transcript.lines
    assert transcript.returncode == 0


def test_launch_whose_reader_has_gone_ends_its_processes(tmp_path):
    process, _ = started(tmp_path)
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 0
    assert left(process) == []
    (folder,) = (tmp_path / "log").iterdir()
    assert "process has finished cleanly" in (folder / "launch.log").read_text()
