"""Fixtures: simulated LX servos at true pace, and bus threads on them."""

import pytest
from support.lx_rig import PATIENT, make_chain, make_device


@pytest.fixture
def rig(tmp_path):
    """Give eighteen loaded servos on a pty, standing at 0.1 rad."""
    device = make_device(tmp_path / "bus")
    device.start()
    yield device
    device.stop()


@pytest.fixture
def chain(rig):
    """Give a bus thread that waits long for answers."""
    chain = make_chain(rig, **PATIENT)
    chain.start()
    yield chain
    chain.stop()


@pytest.fixture
def brisk_chain(rig):
    """A chain with the driver's own reply_timeout: on a bad line, each lost answer of the patient one costs 50 ms."""
    chain = make_chain(rig)
    chain.start()
    yield chain
    chain.stop()
