"""When the command `ros2` stops looking around and answers."""

import time

from pocket_ros2.cli import graph


class Node:
    """A node whose graph holds so many processes and is whole or not."""

    def __init__(self, processes, whole):
        self._graph, self._processes, self._whole = self, processes, whole

    def size(self):
        return self._processes, self._processes, 10

    def complete(self):
        return self._whole


def seconds(node, **options):
    begin = time.monotonic()
    graph.look_around(node, **options)
    return time.monotonic() - begin


def test_a_whole_graph_is_answered_from_at_once():
    assert seconds(Node(processes=2, whole=True), spin_time=60.0) < 30.0
    assert seconds(Node(processes=2, whole=True), spin_time=60.0, found=lambda: True) < 30.0


def test_nobody_else_or_nothing_found_takes_the_whole_time():
    assert seconds(Node(processes=1, whole=True), spin_time=0.3) >= 0.3
    assert seconds(Node(processes=2, whole=True), spin_time=0.3, found=lambda: False) >= 0.3


def test_a_graph_that_is_not_whole_is_given_more_time(monkeypatch):
    monkeypatch.setattr(graph, "_PATIENCE", 0.3)
    assert seconds(Node(processes=2, whole=False), spin_time=0.1) >= 0.4


def test_names_are_completed_split_and_hidden():
    assert graph.absolute("ns/node") == graph.absolute("/ns/node") == "/ns/node"
    assert graph.split("/ns/deep/node") == ("node", "/ns/deep", "/ns/deep/node")
    assert graph.split("node") == ("node", "/", "/node")
    assert graph.visible([("/a/_b", ["t"]), ("/c", ["t"])], False) == [("/c", ["t"])]
