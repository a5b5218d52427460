"""State that a node restores after a restart: values in a file of one session.

A node deletes its file when it ends cleanly and will not be started again. A launch also restarts nodes that were
ended by a signal; so the launch deletes the files of its session when it ends. A killed launch deletes nothing;
the next launch of the same session (HEXAPOD_DYNAMICS_SESSION) continues with its files. Files in `state_directory`
belong to no session and are never deleted.

One thread accesses the file, so that control threads do not wait for the disk. A file that was deleted while the node
runs is written again and reported. If a file was deleted before a restart,
the memory of the launch (state_file.py) shows this, and has the last values, too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hexapod_dynamics.errors import HexapodError, ParameterError, StoredStateError, UnsafePathError
from hexapod_dynamics.parameters.spec import SESSION, STATE_DIRECTORY
from hexapod_dynamics.ros import start
from hexapod_dynamics.ros.node_functions import call_in_thread, declare_all
from hexapod_dynamics.ros.state_file import MEMORY_VARIABLE, LaunchMemory, StateFile
from hexapod_dynamics.runtime_directory import SESSION_END, check_session, make_directory, private_directory
from rclpy.task import Future

if TYPE_CHECKING:
    from rclpy.node import Node

CHECK_PERIOD = 0.4  # [s] between two checks of the file, and between two attempts to write
PATIENCE = 2.0  # [s] for which a caller waits for the disk


class SessionState:
    """Stores values of `node` for the session in its parameter `session`, or for ever in its `state_directory`.

    Without both, nothing is stored. lasting: whether the node has the parameter `state_directory`. keeps: the state
    stays when the node ends cleanly, too. A file that cannot be written or read is reported once, as a warning of the
    node, and never ends the node. The node keeps this object as its `session_state`, which `running` closes at the end.

    Raises ParameterError for a session that cannot be part of a file's name, and for a directory that others could
    have changed.
    """

    def __init__(self, node: Node, lasting: bool = True, keeps: bool = False) -> None:
        values = declare_all(node, [SESSION, STATE_DIRECTORY] if lasting else [SESSION])
        session = values.read("session", str)
        directory = values.read("state_directory", str) if lasting else ""
        self._node, self._warn = node, node.get_logger().warning
        self._failed = False  # the newest values are not in the file
        self.unreadable = False  # no directory for the state, or a file that `save` did not write
        self.lost = False  # no directory, or a state was stored in this launch but its file is missing
        self.problem = ""  # fault and remedy if unreadable or lost
        self._file: StateFile | None = None
        self._place = ""  # path of the file
        self._keeps, self._noticed = keeps or bool(directory), 0.0
        self._disk: threading.Thread | None = None  # it writes
        self._changed = threading.Condition()  # held only for moments, because control threads call `post`
        self._values: Mapping[str, object] = {}  # the newest that were posted
        self._posted = self._written = 0  # numbers of the newest values, and of those that were tried to be written
        self._closed = False
        self.losses = 0  # number of times that another program deleted or changed the file
        try:
            if session:
                check_session(session)
            self._memory = LaunchMemory(
                start.launch_process(), os.environ.get(MEMORY_VARIABLE, ""), node.get_fully_qualified_name()
            )
            if directory:
                make_directory(directory, STATE_DIRECTORY.name)
        except HexapodError as error:
            raise ParameterError(str(error)) from None
        if session or directory:
            # The name contains the namespace: two robots of one launch do not share their state.
            name = node.get_fully_qualified_name().strip("/").replace("/", ".")
            belongs = "" if directory else session + SESSION_END

            def place() -> Path:
                return make_directory(directory, STATE_DIRECTORY.name) if directory else private_directory("sessions")

            try:
                self._file = StateFile(place, f"{belongs}{name}.json")
                self._place = str(self._file.path)
            except UnsafePathError as error:
                self._failed = self.unreadable = self.lost = True
                self.problem = str(error)
                self._warn(f"no state can be stored for a respawn: {error}")

    # Read ------------------------------------------------------------------------------------------------------------

    def load(self) -> dict[str, object] | None:
        """Return the dict that was saved before a crash, or None.

        `unreadable` is then true if the file is not valid, `lost` if a state was stored in this launch and its file is
        missing: the values in the memory of the launch are returned then, None if there are none.
        """
        if self._file is None:
            return None
        try:
            values = self._file.read()
        except StoredStateError as error:
            values = None
            self.mark_unreadable(error)
        if values is not None:
            return values
        remembered, known = None, True
        try:
            remembered = self._memory.load()
        except StoredStateError as error:
            known = False
            self._warn(str(error))
        self.lost = not self.unreadable and (remembered is not None or not known)
        if self.lost:
            self.problem = f"the file {self._place} was deleted while this launch was running"
            self._warn(f"the state stored before a crash is missing: {self.problem}")
        return remembered

    def mark_unreadable(self, error: Exception) -> None:
        """Treat the file as unreadable, because its values have another structure."""
        self.unreadable = True
        self.problem = f"{self._place}: {error}"
        self._warn(f"the state stored before a crash is not readable ({self.problem}): it is not used")

    # Write -----------------------------------------------------------------------------------------------------------

    def save(self, values: Mapping[str, object]) -> bool:
        """Store a dict that JSON can write and wait until it is on the disk; the file is replaced atomically.

        Return False if the file cannot be written, or not within two seconds. From then on the file is watched.
        """
        self.post(values)
        return not self.wait()

    def wait(self) -> str:
        """Wait until everything posted is on the disk, or two seconds; return why it is not, else an empty text."""
        with self._changed:
            number = self._posted
            done = self._changed.wait_for(lambda: self._written >= number, PATIENCE)
        if not done:
            self._fail(f"{self._place}: it is not on the disk after {PATIENCE:g} s")
        return self.failure

    def post(self, values: Mapping[str, object]) -> None:
        """Let another thread store a dict that JSON can write; of several dicts only the last one is stored."""
        if self._file is None:
            return
        with self._changed:
            self._values = values
            self._posted += 1
            self._changed.notify_all()
        if self._disk is None:
            self._disk = threading.Thread(target=self._run, args=(self._file,), name="state", daemon=True)
            self._disk.start()

    def wait_until_stored(self) -> Future:
        """Return a Future to `await` in a callback of a service: `wait`, in another thread unless all is stored."""
        with self._changed:
            if self._written < self._posted:
                return call_in_thread(self._node, self.wait)
        done = Future()
        done.set_result(self.failure)
        return done

    def _run(self, file: StateFile) -> None:
        """Write what is posted, and write again what another program has changed, or what could not be written."""
        closing = False
        while not closing:
            with self._changed:
                self._changed.wait_for(lambda: self._posted > self._written or self._closed, CHECK_PERIOD)
                values, number, closing = self._values, self._posted, self._closed
            lost = not closing and number == self._written and not self._failed and not file.is_untouched()
            if number > self._written or self._failed or lost:
                try:
                    self._write(file, values, lost)
                except Exception as error:  # as of values that JSON cannot write: whoever stores next is heard again
                    self._fail(f"{type(error).__name__}: {error}")
                with self._changed:
                    self._written = number
                    self._changed.notify_all()

    def _write(self, file: StateFile, values: Mapping[str, object], lost: bool) -> None:
        self.losses += lost
        try:
            self._memory.save(values)
        except StoredStateError as error:  # the file is more important
            self._warn(f"not stored in the launch: {error}", throttle_duration_sec=60.0)
        try:
            file.write(values)
        except (OSError, HexapodError) as error:
            self._fail(f"{error}; {file.path.parent} has to be writable, with free space")
            return
        self._failed = False
        if lost:
            self._noticed = time.monotonic()
            self._warn(f"the stored state was deleted or changed by another program: {self._place} is written again")

    def _fail(self, problem: str) -> None:
        self.problem = problem
        if not self._failed:
            self._failed = True
            self._warn(f"no state can be stored for a respawn: {problem}")

    # Report ----------------------------------------------------------------------------------------------------------

    @property
    def failure(self) -> str:
        """Why the state cannot be stored; empty if it can."""
        return f"it cannot be written, see the log ({self.problem})" if self._failed else ""

    def assess(self, now: float) -> tuple[str, list[str]]:
        """Return level and list of messages for the diagnostics at the monotonic time `now` [s]."""
        if self._noticed and now - self._noticed < 30.0:  # [s] for which it is reported
            changed = "the stored state was deleted or changed by another program"
            return "warn", [f"{changed}, and written again: {self._place}"]
        return "ok", []

    # End -------------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what is posted and stop watching the file, because the node ends; a disk that hangs has a second."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._disk is not None:
            self._disk.join(1.0)

    def forget(self) -> None:
        """Delete the stored state, because the node will not be restarted, unless it is to be kept."""
        self.close()
        if self._file is not None and not self._keeps:
            try:
                self._file.delete()
            except OSError as error:
                self._warn(f"the stored state cannot be deleted: {error}")
