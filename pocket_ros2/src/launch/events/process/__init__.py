"""Events of processes, and events that control a process."""

import os
import signal as signals

from ...event import Event


class RunningProcessEvent(Event):
    """Something about one process that is or was running."""

    name = "launch.events.process.RunningProcessEvent"

    def __init__(self, *, action, name, cmd, cwd, env, pid):
        self.action = action
        self.process_name = name
        self.cmd = cmd
        self.cwd = cwd
        self.env = env
        self.pid = pid

    @property
    def execute_process_action(self):
        """The action that runs the process."""
        return self.action


class ProcessStarted(RunningProcessEvent):
    """A process has started."""

    name = "launch.events.process.ProcessStarted"


class ProcessExited(RunningProcessEvent):
    """A process has ended."""

    name = "launch.events.process.ProcessExited"

    def __init__(self, *, returncode, **about):
        super().__init__(**about)
        self.returncode = returncode


class ProcessIO(RunningProcessEvent):
    """Bytes written by a process or to be sent to it."""

    name = "launch.events.process.ProcessIO"

    def __init__(self, *, text, fd, **about):
        super().__init__(**about)
        self.text = text
        self.fd = fd

    @property
    def from_stdin(self):
        """Whether these are bytes for stdin."""
        return self.fd == 0

    @property
    def from_stdout(self):
        """Whether these bytes came from stdout."""
        return self.fd == 1

    @property
    def from_stderr(self):
        """Whether these bytes came from stderr."""
        return self.fd == 2


class ProcessStdin(ProcessIO):
    """Bytes for a process's stdin."""

    name = "launch.events.process.ProcessStdin"

    def __init__(self, *, text, **about):
        super().__init__(text=text, fd=0, **about)


class ProcessStdout(ProcessIO):
    """Bytes from a process's stdout."""

    name = "launch.events.process.ProcessStdout"

    def __init__(self, *, text, **about):
        super().__init__(text=text, fd=1, **about)


class ProcessStderr(ProcessIO):
    """Bytes from a process's stderr."""

    name = "launch.events.process.ProcessStderr"

    def __init__(self, *, text, **about):
        super().__init__(text=text, fd=2, **about)


class ProcessTargetedEvent(Event):
    """Base of the events that control the processes that a matcher accepts."""

    name = "launch.events.process.ProcessTargetedEvent"

    def __init__(self, *, process_matcher):
        self.process_matcher = process_matcher


class ShutdownProcess(ProcessTargetedEvent):
    """Ends the process: SIGINT, then SIGTERM, then SIGKILL."""

    name = "launch.events.process.ShutdownProcess"


class SignalProcess(ProcessTargetedEvent):
    """Sends a signal to the process, given by number, by name or as signal.Signals."""

    name = "launch.events.process.SignalProcess"

    def __init__(self, *, signal_number, process_matcher):
        super().__init__(process_matcher=process_matcher)
        self.signal = (
            signals.Signals[signal_number] if isinstance(signal_number, str) else signals.Signals(signal_number)
        )

    @property
    def signal_name(self):
        """The signal's name."""
        return self.signal.name


def matches_pid(pid):
    """Return a matcher of the process with this id."""
    return lambda action: (action.process_details or {}).get("pid") == pid


def matches_name(name):
    """Return a matcher of the process with this name, as gait-2."""
    return lambda action: (action.process_details or {}).get("name") == name


def matches_executable(name):
    """Return a matcher of processes by the name of their program's file."""
    return lambda action: os.path.basename((action.process_details or {"cmd": [""]})["cmd"][0]) == name


__all__ = [
    "ProcessExited",
    "ProcessIO",
    "ProcessStarted",
    "ProcessStderr",
    "ProcessStdin",
    "ProcessStdout",
    "ProcessTargetedEvent",
    "RunningProcessEvent",
    "ShutdownProcess",
    "SignalProcess",
    "matches_executable",
    "matches_name",
    "matches_pid",
]
