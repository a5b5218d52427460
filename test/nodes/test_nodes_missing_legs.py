"""`set_morphology --missing` of legs that hang there, with the nodes: torque off is for their servos, too."""

import subprocess
import sys
import uuid

from support.driver_session import NAMES, Servos
from support.ros_session import Process, wait_until

from diagnostic_msgs.msg import DiagnosticStatus

MISSING = ("RM", "LM", "RF")


def declare(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "hexapod_dynamics.tools.set_morphology", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done


def test_release_reaches_the_servos_of_legs_that_are_declared_missing(probe, robot):
    """Those of legs that are really gone: test_missing_servos.py."""
    manager, servos = Process.node("damage_manager"), Servos(probe, uuid.uuid4().hex)
    try:
        declare("--missing", *MISSING)
        wait_until(lambda: servos.joints[-1][1].name == [n for n in NAMES if n[-2:] not in MISSING], 10, "declared")
        assert servos.ask("servos/release").success
        off = robot.servos.holding
        wait_until(lambda: not off().any(), 10, lambda: f"{off()} all let go")
        wait_until(
            lambda: servos.value("torque not confirmed") == "" and "torque is off" in servos.status.message,
            10,
            "confirmed",
        )
        assert servos.status.level == DiagnosticStatus.WARN, servos.status.message  # no error
        declare("--restore", *MISSING)
        wait_until(lambda: "declared to be there again" in servos.process.output, 10, lambda: servos.process.output)
        assert "the torque of all servos is off, theirs, too" in servos.process.output
        wait_until(lambda: not off().any(), 10, "none has torque")
        assert servos.ask("servos/torque", True).success
        wait_until(lambda: off().all(), 10, "all hold where they stand")
    finally:
        servos.process.end()
        manager.end()
    assert "Traceback" not in servos.process.output + manager.output
