"""A simulated port is opened only while it is that of a living simulator of ours: over real pseudo-terminals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import support.lx_rig
from support.lx_rig import make_device

from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.drivers.simulated_port import PortClaim, find_proved_device
from hexapod_dynamics.errors import DeviceError

SIMULATOR = """
import sys, time
from support.lx_rig import make_device
make_device(sys.argv[1]).start()
print("up", flush=True)
time.sleep(60)
"""


@pytest.fixture
def killed(tmp_path):
    """Give the link of a simulator that was killed, and the device it served."""
    link = tmp_path / "bus"
    command = [sys.executable, "-c", SIMULATOR, str(link)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(support.lx_rig.__file__).parents[1])
    assert process.stdout.readline() == b"up\n"
    port = os.readlink(link)
    assert find_proved_device(link) == port
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return link, port


def test_a_killed_simulators_link_is_not_opened_whoever_has_its_terminal_now(killed):
    link, port = killed
    strangers = []  # take terminals until one has the dead simulator's number
    while len(strangers) < 50 and (not strangers or os.ttyname(strangers[-1][1]) != port):
        strangers.append(os.openpty())
    try:
        assert os.ttyname(strangers[-1][1]) == port, "the number was given to a stranger"
        os.set_blocking(strangers[-1][0], False)
        bus = LxServos(PortSettings(str(link), prove=lambda: _proved(link)), ())
        with pytest.raises(BusError, match="left by a simulator that has died"):
            bus.open()
        with pytest.raises(BlockingIOError):
            os.read(strangers[-1][0], 100)
    finally:
        for pair in strangers:
            for descriptor in pair:
                os.close(descriptor)


def _proved(link):
    try:
        return find_proved_device(link)
    except DeviceError as error:
        raise BusError(str(error)) from error


def test_the_next_simulator_takes_a_dead_ones_place(killed):
    link, _port = killed
    rig = make_device(link)
    rig.start()
    assert find_proved_device(link) == os.readlink(link)
    rig.stop()
    assert not list(link.parent.iterdir())


def test_a_second_simulator_of_the_same_robot_is_refused(tmp_path):
    rig, second = make_device(tmp_path / "bus"), make_device(tmp_path / "bus")
    rig.start()
    with pytest.raises(DeviceError, match=f"another simulator .process {os.getpid()}.*ROS_DOMAIN_ID"):
        second.start()
    assert find_proved_device(tmp_path / "bus")
    rig.stop()
    second.stop()


def test_another_launchs_port_and_one_that_points_elsewhere_are_refused(tmp_path):
    link = tmp_path / "bus"
    rig = make_device(link, session="a")
    rig.start()
    assert find_proved_device(link, "a") == find_proved_device(link) == os.readlink(link)
    with pytest.raises(DeviceError, match="another launch"):
        find_proved_device(link, "b")
    link.unlink()
    link.symlink_to("/dev/null")
    with pytest.raises(DeviceError, match="points to /dev/null"):
        find_proved_device(link, "a")
    rig.stop()


def test_a_record_that_others_can_write_to_is_not_believed(tmp_path):
    claim = PortClaim(tmp_path / "bus")
    claim.name("/dev/pts/1")
    (tmp_path / "bus.owner").chmod(0o666)
    with pytest.raises(DeviceError, match="only this user can write to"):
        find_proved_device(tmp_path / "bus")
    claim.release()


def test_an_unplugged_port_is_not_opened_until_it_is_back(tmp_path):
    rig = make_device(tmp_path / "bus")
    rig.start()
    rig.unplug()
    with pytest.raises(DeviceError, match="it is not opened"):
        find_proved_device(tmp_path / "bus")
    rig.plug_in()
    assert find_proved_device(tmp_path / "bus")
    rig.stop()
