"""What tests of several drivers use."""

import threading

import pytest


@pytest.fixture
def set_back(monkeypatch):
    """Set the system clock back: with Python 3.10, that of ROS 2 Humble, waits then last until they are notified."""
    wait = threading.Condition.wait
    monkeypatch.setattr(threading.Condition, "wait", lambda self, timeout=None: wait(self))
