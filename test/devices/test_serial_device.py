"""The pseudo-terminal of simulated devices: events may come from any thread."""

import sys
import threading
import time

from hexapod_dynamics.devices.serial_device import SerialDevice
from hexapod_dynamics.drivers.servos.lx.protocol import FrameParser


class Silent(SerialDevice):
    """A device that answers nothing."""

    def execute_frame(self, packet, end):
        """Ignore it."""


def test_events_of_other_threads_are_all_executed_and_the_device_lives_on(tmp_path):
    """A remote control that was moved while the board sent ended the thread of the device once."""
    device, done = Silent(tmp_path / "port", 115200, FrameParser()), []
    device.start()

    def put(many=4000):
        for k in range(many):
            device.schedule(time.monotonic() + 1e-3 * (k % 97), done.append, -1.0)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=put) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60.0)
        end = time.monotonic() + 30.0
        while len(done) < 16000 and time.monotonic() < end:
            time.sleep(0.01)
        assert len(done) == 16000
    finally:
        sys.setswitchinterval(usual)
        device.stop()
