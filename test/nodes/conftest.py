"""The probe that the tests of a module share."""

import pytest


@pytest.fixture(scope="module")
def probe():
    """A Probe in a ROS domain of the module's own."""
    # Here, because this file is read for `pytest -m pure` too, on machines that have no ROS 2.
    from support.ros_session import Probe, separate

    separate()
    probe = Probe()
    yield probe
    probe.close()
