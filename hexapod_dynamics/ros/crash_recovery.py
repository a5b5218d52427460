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
from collections.abc import Callable, Mapping
from concurrent.futures import Future as Job
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

from hexapod_dynamics.errors import HexapodError, ParameterError, StoredStateError, UnsafePathError
from hexapod_dynamics.parameters.spec import SESSION, STATE_DIRECTORY
from hexapod_dynamics.ros import start
from hexapod_dynamics.ros.node_functions import declare, steady_timer
from hexapod_dynamics.ros.state_file import FAILURES, VARIABLE, LaunchMemory, StateFile
from hexapod_dynamics.runtime_directory import checked_session, own_directory, private_directory
from rclpy.task import Future

if TYPE_CHECKING:
    from rclpy.node import Node

SLOWEST = 2.0  # [s] after which a request is answered although its state is not on the disk yet
WATCH = 0.4  # [s] between two checks of the file, and between two attempts to write
ENDS = 1.0  # [s] for which the end of a node waits for the disk
CHANGED = "the stored state was deleted or changed by another program"
REPORTED = 30.0  # [s] for which a warning reports that a lost file was written again


class SessionState:
    """Stores values of `node` for the session in its parameter `session`, or for ever in its `state_directory`.

    Without both, nothing is stored. lasting: whether the node has the parameter `state_directory`. keeps: the state
    stays when the node ends cleanly, too. A file that cannot be written or read is reported once, as a warning of the
    node, and never ends the node. `running` closes this object when the node ends.

    Raises ParameterError for a session that cannot be part of a file's name, and for a directory that others could
    have changed.
    """

    def __init__(self, node: Node, lasting: bool = True, keeps: bool = False) -> None:
        session = declare(node, SESSION)
        directory = declare(node, STATE_DIRECTORY) if lasting else ""
        self._node, self._warn, self._failed = node, node.get_logger().warning, False
        self.unreadable = False  # no directory for the state, or a file that `save` did not write
        self.lost = False  # no directory, or a state was stored in this launch but its file is missing
        self.problem = ""  # fault and remedy if unreadable or lost
        self._file, self._wanted = None, bool(session or directory)
        self._keeps, self._noticed = keeps or bool(directory), 0.0
        self._disk: ThreadPoolExecutor | None = None  # the thread that writes
        self._watching, self._closed = Job(), False
        self._lock = threading.Lock()  # held only for moments, because control threads call `post`
        self._values: Mapping[str, object] = {}  # the newest that were posted
        self._posted = self._written = 0  # numbers of the newest values, and of those that were tried to be written
        self.losses = 0  # number of times that another program deleted or changed the file
        # [number of the values, monotonic time [s], Future] of `stored`: the waiting callbacks
        self._waiting: list[tuple[int, float, Future]] = []
        try:
            if session:
                checked_session(session)
            self._memory = LaunchMemory(
                start.launch_process(), os.environ.get(VARIABLE, ""), node.get_fully_qualified_name()
            )
            if directory:
                own_directory(directory, STATE_DIRECTORY.name)
        except HexapodError as error:
            raise ParameterError(str(error)) from None
        node.session_state = self
        if self._wanted:
            # The name contains the namespace: two robots of one launch do not share their state.
            name = f"{'' if directory else session}{node.get_namespace()}/{node.get_name()}".replace("//", "/")

            def place() -> Path:
                return own_directory(directory, STATE_DIRECTORY.name) if directory else private_directory("sessions")

            try:
                self._file = StateFile(place, f"{name.strip('/').replace('/', '.')}.json")
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
            self.reject(error)
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
            self.problem = f"the file {self._file.path} was deleted while this launch was running"
            self._warn(f"the state stored before a crash is missing: {self.problem}")
        return remembered

    def reject(self, error: Exception) -> None:
        """Treat the file as unreadable, because its values have another structure."""
        self.unreadable = True
        self.problem = f"{self._file.path}: {error}"
        self._warn(f"the state stored before a crash is not readable ({self.problem}): it is not used")

    # Write -----------------------------------------------------------------------------------------------------------

    def save(self, values: Mapping[str, object]) -> bool:
        """Store a dict that JSON can write and wait until it is on the disk; the file is replaced atomically.

        Return False if the file cannot be written. From then on the file is watched.
        """
        if self._file is None:
            return not self._wanted
        return self._submit(values).result()

    def post(self, values: Mapping[str, object]) -> None:
        """Let another thread store a dict that JSON can write; of several dicts only the last one is stored."""
        if self._file is not None:
            self._submit(values)

    def stored(self) -> Future:
        """Return a Future to `await` in a callback of a service: done when everything posted is on the disk.

        Its result is empty, or the reason why it is not.
        """
        future = Future()
        with self._lock:
            if self._written < self._posted:
                self._waiting.append((self._posted, time.monotonic(), future))
                return future
        future.set_result(self.failure)
        return future

    def _submit(self, values: Mapping[str, object]) -> Job[bool]:
        with self._lock:
            self._values = values
            self._posted += 1
        if self._disk is None:
            self._disk = ThreadPoolExecutor(1, "state")
            self._watching = self._disk.submit(bool)
            steady_timer(self._node, WATCH, self._watch)
        return self._disk.submit(self._write_newest)

    def _watch(self) -> None:
        """Answer the requests that have waited too long for the disk, and check the file once the disk is free."""
        late = f"it is not on the disk after {SLOWEST:.0f} s"
        self._answer(lambda _, since: time.monotonic() - since > SLOWEST, late)
        if self._watching.done() and not self._closed:
            self._watching = self._disk.submit(self._check)

    def _check(self) -> None:
        """Write the file again if another program has changed it, or if it could not be written."""
        if self._failed:
            self._write_newest()
        elif not self._file.is_untouched():
            self.losses += 1
            self._write_newest(lost=True)

    def _write_newest(self, lost: bool = False) -> bool:
        """Write the newest values, unless an earlier job has done so; return whether they are on the disk."""
        with self._lock:
            values, number = self._values, self._posted
        if number > self._written or self._failed or lost:
            done = self._write(values, lost)
            with self._lock:
                self._written = number
            self._answer(lambda wanted, _: wanted <= number, self.failure)
            return done
        return True

    def _write(self, values: Mapping[str, object], lost: bool) -> bool:
        try:
            self._memory.save(values)
        except StoredStateError as error:  # the file is more important
            self._warn(f"not stored in the launch: {error}", throttle_duration_sec=60.0)
        try:
            self._file.write(values)
        except FAILURES as error:
            self.problem = str(error)
            if not self._failed:
                self._failed = True
                self._warn(f"no state can be stored for a respawn: {error}; free space in {self._file.path.parent}")
            return False
        self._failed = False
        if lost:
            self._noticed = time.monotonic()
            self._warn(
                f"the stored state was deleted or changed by another program: {self._file.path} is written again"
            )
        return True

    def _answer(self, is_due: Callable[[int, float], bool], result: str) -> None:
        with self._lock:
            due = [future for wanted, since, future in self._waiting if is_due(wanted, since)]
            self._waiting = [each for each in self._waiting if each[2] not in due]
        for future in due:
            future.set_result(result)
        if due and self._node.executor is not None:
            self._node.executor.wake()

    # Report ----------------------------------------------------------------------------------------------------------

    @property
    def failure(self) -> str:
        """Why the state cannot be stored; empty if it can."""
        return f"it cannot be written, see the log ({self.problem})" if self._failed else ""

    def assess(self, now: float) -> tuple[str, list[str]]:
        """Return level and list of messages for the diagnostics at the monotonic time `now` [s]."""
        if self._noticed and now - self._noticed < REPORTED:
            return "warn", [f"{CHANGED}, and written again: {self._file.path}"]
        return "ok", []

    # End -------------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what is posted and stop watching the file, because the node ends."""
        if self._disk is not None and not self._closed:
            self._closed = True
            wait([self._disk.submit(bool)], ENDS)  # the jobs before it have ended then
            self._disk.shutdown(wait=False)

    def forget(self) -> None:
        """Delete the stored state, because the node will not be restarted, unless it is to be kept."""
        self.close()
        if self._file is not None and not self._keeps:
            try:
                self._file.delete()
            except OSError as error:
                self._warn(f"the stored state cannot be deleted: {error}")
