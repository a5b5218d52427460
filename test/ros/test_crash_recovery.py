"""What a node keeps over a crash, with a file system that is full and with files that nobody has written so."""

import os
import subprocess
import threading

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs a ROS 2: ./with_ros2 colcon test")

from hexapod_dynamics.errors import StoredStateError  # noqa: E402
from hexapod_dynamics.ros.crash_recovery import SessionState  # noqa: E402
from hexapod_dynamics.ros.state_file import StateFile  # noqa: E402
from hexapod_dynamics.runtime_directory import forget_session  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402


@pytest.fixture
def born(tmp_path, monkeypatch):
    """A function that starts the node, again after a crash, and gives its SessionState."""
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(tmp_path / "run"))
    rclpy.init()
    nodes, states = [], []

    def birth(session="s1", namespace="left"):
        given = [Parameter("session", value=session)]
        nodes.append(rclpy.create_node("walker", namespace=namespace, parameter_overrides=given))
        states.append(SessionState(nodes[-1]))
        return states[-1]

    yield birth
    for state in states:
        state.close()  # else its thread writes the file again where the next test has its directory
    for node in nodes:
        node.destroy_node()
    rclpy.try_shutdown()


def test_what_is_saved_is_there_after_a_crash_and_gone_after_a_clean_end(born, tmp_path):
    kept = born()
    assert kept.load() is None and not kept.unreadable
    assert kept.save({"x": 1.5})
    assert born().load() == {"x": 1.5}
    kept.forget()
    assert born().load() is None
    assert not list((tmp_path / "run" / "sessions").iterdir())


@pytest.mark.parametrize("session, namespace", [("s1.left", ""), ("s1", "left/arm"), ("s1", "right"), ("s1", "")])
def test_what_another_session_or_robot_has_stored_is_neither_read_nor_deleted(born, session, namespace):
    other = born(session, namespace)
    assert other.save({"x": 1.5})
    assert born("s1", "left").load() is None
    other.close()  # its thread would write the file again
    forget_session("s1", "/left")
    assert born(session, namespace).load() == {"x": 1.5}
    forget_session(session, namespace)
    assert born(session, namespace).load() is None


@pytest.mark.parametrize("data", [b"[1,2]", b"", b'{"x": 1', b"null", b"\0\0\0", b"[" * 100_000, b"\xff\x00\xfe", None])
def test_a_file_that_holds_something_else_is_not_used_and_does_not_end_the_node(born, tmp_path, data):
    kept = born()
    kept.save({"x": 1.5})
    kept.close()  # its thread would write the file again
    (file,) = (tmp_path / "run" / "sessions").iterdir()
    if data is None:  # a pipe, which is not waited for
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_bytes(data)
    kept = born()
    assert kept.load() is None and kept.unreadable
    assert kept.save({"x": 2.5})
    assert born().load() == {"x": 2.5}


def test_a_directory_in_the_place_of_the_file_is_named_and_leaves_no_descriptor_open(tmp_path):
    (tmp_path / "state.json").mkdir()
    file, before = StateFile(lambda: tmp_path, "state.json"), len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(StoredStateError, match="it is no file: remove it"):
            file.read()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_full_file_system_keeps_the_change_in_the_old_files_place(born, tmp_path, monkeypatch):
    kept = born()
    assert kept.save({"walks": True, "name": "a long one"})

    def full(_path, _data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    assert kept.save({"walks": False})
    assert born().load() == {"walks": False}
    (tmp_path / "run" / "sessions" / "s1:left.walker.json").unlink()
    assert not kept.save({"walks": True})  # said, and the node goes on
    assert born().load() is None


def test_a_disk_that_hangs_keeps_no_node_from_starting(born, monkeypatch):
    works, write = threading.Event(), StateFile.write
    monkeypatch.setattr(StateFile, "write", lambda file, values: works.wait(20.0) and write(file, values))
    kept = born()
    assert not kept.save({"walks": True}) and "not on the disk" in kept.failure
    works.set()
    assert kept.save({"walks": False}) and not kept.failure


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system; the test above needs no root")
def test_a_small_tmpfs_that_is_really_full(born, tmp_path):
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", run], check=False).returncode:
        pytest.skip("this container may not mount; the test above needs no mount")
    try:
        kept = born()
        assert kept.save({"walks": True})
        with pytest.raises(OSError), open(run / "ballast", "wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        assert kept.save({"walks": False})
        assert born().load() == {"walks": False}
    finally:
        subprocess.run(["umount", run], check=True)
