"""Events of processes."""

from . import Event


class RunningProcessEvent(Event):
    """Something about one process that is or was running."""

    def __init__(self, *, action, name, cmd, cwd, env, pid):
        self.action, self.process_name = action, name
        self.cmd, self.cwd, self.env, self.pid = cmd, cwd, env, pid


class ProcessStarted(RunningProcessEvent):
    """A process has started."""


class ProcessExited(RunningProcessEvent):
    """A process has ended."""

    def __init__(self, *, returncode, **about):
        super().__init__(**about)
        self.returncode = returncode


class ProcessIO(RunningProcessEvent):
    """Bytes (`text`) that a process has written to its stdout (`fd` 1) or stderr (2)."""

    def __init__(self, *, text, fd, **about):
        super().__init__(**about)
        self.text, self.fd = text, fd
