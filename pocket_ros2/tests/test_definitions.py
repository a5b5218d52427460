"""The definitions of messages that an environment keeps, so that its processes need not import rosbags."""

import json
import subprocess
import sys

from pocket_ros2 import definitions

READ = "from pocket_ros2.definitions import definition, _store; _store(); import sys; print('rosbags' in sys.modules)"


def test_what_is_kept_is_what_rosbags_has_and_a_damaged_file_is_written_again(tmp_path, monkeypatch):
    file = tmp_path / "share" / "kept.json"
    monkeypatch.setattr(definitions, "kept_file", lambda: file)
    fresh = definitions._store.__wrapped__()
    assert json.loads(file.read_text()) == fresh and "sensor_msgs/msg/JointState" in fresh
    assert definitions._store.__wrapped__() == fresh
    file.write_text(file.read_text()[:1000])
    assert definitions._store.__wrapped__() == fresh
    assert json.loads(file.read_text()) == fresh
    assert [path.name for path in file.parent.iterdir()] == ["kept.json"]


def test_an_environment_that_cannot_be_written_to_does_without(tmp_path, monkeypatch):
    (tmp_path / "share").write_text("a file where a directory should be")
    monkeypatch.setattr(definitions, "kept_file", lambda: tmp_path / "share" / "kept.json")
    assert "std_msgs/msg/String" in definitions._store.__wrapped__()


def test_the_second_process_does_not_import_rosbags():
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
