"""`ros2 bag record -a` of ros2_tools beside topics of packages that are not installed here."""

from types import SimpleNamespace

import pytest

bag = pytest.importorskip("ros2_tools.cli.bag")


def test_a_topic_whose_type_is_not_installed_does_not_end_the_recording_of_all(monkeypatch, capsys):
    topics = [("/odd", ["no_such_package/msg/Odd"]), ("/text", ["std_msgs/msg/String"])]
    monkeypatch.setattr(bag, "found_names", lambda *_, **__: topics)
    monkeypatch.setattr(bag, "fitting_profile", lambda _: SimpleNamespace(depth=1))
    monkeypatch.setattr(bag, "_stored", lambda _: None)
    begun = []
    node = SimpleNamespace(
        get_publishers_info_by_topic=lambda topic: [topic],
        create_subscription=lambda kind, topic, *_, **__: begun.append(topic),
    )
    recorder = bag.Recorder(node, SimpleNamespace(add_connection=lambda *_, **__: None), None)
    recorder.look()
    recorder.look()
    assert begun == ["/text"] and capsys.readouterr().err.count("no_such_package/msg/Odd is not installed") == 1
