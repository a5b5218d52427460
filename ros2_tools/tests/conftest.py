"""A context and nodes on a domain of its own, which no other test run uses."""

import os
import time

import pytest
from domains import reserve_domain

import rclpy

# A user's own network is not that of the tests: one interface that is not there would fail each of them.
os.environ.pop("CYCLONEDDS_URI", None)

DOMAIN = int(os.environ.get("ROS_DOMAIN_ID") or reserve_domain())


@pytest.fixture
def domain(monkeypatch):
    """Return the domain's number, which processes started from here use too."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    return DOMAIN


@pytest.fixture
def ros(domain, monkeypatch, tmp_path):
    """Initialise rclpy for one test."""
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    rclpy.init(args=[])
    yield rclpy
    rclpy.try_shutdown()


@pytest.fixture
def node(ros):
    """Return a node."""
    made = ros.create_node("tested")
    yield made
    made.destroy_node()


def spin_until(node, condition, timeout=10.0):
    """Spin a node until something holds; fail if it does not in time."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        rclpy.spin_once(node, timeout_sec=0.05)
