"""Nodes for test_node_endings.py: `steady` ticks, `storing` stores a state, `failing` stores one and then raises,
`hanging` is as `storing` and its middleware never ends, `failing_hanging` fails as `failing` and ends as `hanging`,
`unclosable` fails when its devices are closed, `unfinished` in its constructor, after it has made a stop socket.

Arguments before --ros-args: the nodes to run.
"""

import ctypes
import sys

from hexapod_dynamics.drivers.stop_socket import StopSocket
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.node_functions import steady_timer
from hexapod_dynamics.ros.running import run_together
from std_msgs.msg import String


class Steady(GuardedNode):
    """Publishes `ticks`, ten a second: how many it has published."""

    def __init__(self):
        super().__init__("steady")
        self.ending.callback(print, "steady is closed", flush=True)
        self._count, self._publisher = 0, self.create_publisher(String, "ticks", 10)
        steady_timer(self, 0.1, self._tick)

    def _tick(self):
        self._count += 1
        self._publisher.publish(String(data=str(self._count)))


class Failing(GuardedNode):
    """Says in the log which state it has found, stores another, and fails in its fifth callback."""

    def __init__(self):
        super().__init__("failing")
        self.session_state = SessionState(self)
        self._count = 0
        self.get_logger().warning(f"found {self.session_state.load()}")
        steady_timer(self, 0.1, self._tick)

    def _tick(self):
        self._count += 1
        if self._count == 5:
            self.session_state.save({"stopped": True})
            raise ZeroDivisionError("a defect of this node")


class Storing(GuardedNode):
    """Stores a state, and says in the log that it works."""

    def __init__(self):
        super().__init__("storing")
        self.session_state = SessionState(self)
        self.session_state.save({"stopped": True})
        steady_timer(self, 0.5, lambda: self.get_logger().warning("it works"))


class Hanging(Storing):
    """As Storing, but destroying it never returns, and Python's lock is held meanwhile, as in the middleware."""

    def destroy_node(self):
        ctypes.PyDLL(None).sleep(60)


class FailingHanging(Failing):
    """Fails as Failing, and destroying it never returns."""

    destroy_node = Hanging.destroy_node


class Unclosable(Storing):
    """As Storing, but one of its devices cannot be closed."""

    def __init__(self):
        super().__init__()
        self.ending.callback(print, "its other device is closed", flush=True)
        self.ending.callback(lambda: 1 / 0)


class Unfinished(GuardedNode):
    """Makes a stop socket, and fails then."""

    def __init__(self):
        super().__init__("unfinished")
        self.ending.callback(StopSocket("", lambda: (True, "")).close)
        raise ZeroDivisionError("a defect of the constructor")


if __name__ == "__main__":
    nodes = {"steady": Steady, "storing": Storing, "failing": Failing, "hanging": Hanging}
    nodes |= {"failing_hanging": FailingHanging, "unclosable": Unclosable, "unfinished": Unfinished}
    run_together([nodes[name] for name in sys.argv[1 : sys.argv.index("--ros-args")]])
