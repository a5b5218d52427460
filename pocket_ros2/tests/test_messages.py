"""Message classes and their modules."""

import importlib
import pickle
import subprocess
import sys

import pytest
from cli_process import pocket_environment

from pocket_ros2.definitions import PACKAGES, message_names, service_names


@pytest.mark.parametrize("package", PACKAGES)
def test_every_class_of_a_package_can_be_made(package):
    for kind, listed in (("msg", message_names(package)), ("srv", service_names(package))):
        if not listed:
            continue
        module = importlib.import_module(f"{package}.{kind}")
        assert set(listed) <= set(dir(module))
        for name in listed:
            made = getattr(module, name)
            for one in [made] if kind == "msg" else [made.Request, made.Response]:
                assert one() == one()
                assert pickle.loads(pickle.dumps(one())) == one()
                assert repr(one()).startswith(f"{package}.{kind}.{one.__name__}(")


def test_an_unknown_class_names_those_there_are():
    import std_srvs.srv

    with pytest.raises(AttributeError, match="SetBools.*Empty, SetBool, Trigger"):
        std_srvs.srv.SetBools  # noqa: B018


def test_a_constant_cannot_be_set():
    from diagnostic_msgs.msg import DiagnosticStatus

    with pytest.raises(AttributeError, match="OK is a constant"):
        DiagnosticStatus.OK = b"\2"
    with pytest.raises(AttributeError):
        DiagnosticStatus().OK = b"\2"


def test_importing_messages_does_not_load_dds(domain):
    """Cyclone DDS takes most of the time of an import; `import rclpy` and messages do without."""
    program = 'import sys, rclpy, sensor_msgs.msg; sys.exit("cyclonedds" in sys.modules)'
    run = subprocess.run([sys.executable, "-c", program], env=pocket_environment(domain), timeout=60)
    assert run.returncode == 0
