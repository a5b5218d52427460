"""State that a node restores when it is started again: values in a file of one session.

A node deletes its file when it ends cleanly and nothing starts it again. Below a launch file a node that a signal has
ended is started again, too: there the launch deletes the files of its session when it ends. A launch that was killed
deletes nothing; one of the same session (HEXAPOD_DYNAMICS_SESSION) goes on from there.
"""

import json
import os

from hexapod_dynamics.errors import UnsafePathError
from hexapod_dynamics.nodes.common import declare
from hexapod_dynamics.parameters.common import SESSION
from hexapod_dynamics.runtime_directory import private_directory


class SessionState:
    """Stores values of `node` for the session in its parameter `session`; without a session nothing is stored.

    A file that cannot be written or read is reported once, as a warning of the node, and never ends the node.
    """

    def __init__(self, node):
        session = declare(node, SESSION)
        self._warn, self._failed = node.get_logger().warning, False
        self.unreadable = False  # no directory for the state, or a file that `save` did not write
        self._file, self._wanted = None, bool(session)
        if session:
            # The name contains the namespace: two robots of one launch do not share their state.
            name = f"{session}{node.get_namespace()}/{node.get_name()}".replace("//", "/").replace("/", ".")
            try:
                self._file = private_directory("sessions") / f"{name}.json"
            except UnsafePathError as error:
                self._failed = self.unreadable = True
                self._warn(f"no state can be stored for a respawn: {error}")

    def load(self):
        """Return the dict that was saved before a crash, or None; set `unreadable` if the file is not valid."""
        if self._file is None or not self._file.exists():
            return None
        try:
            values = json.loads(self._file.read_text())
        except (OSError, ValueError) as error:
            values = error
        if isinstance(values, dict):
            return values
        self.unreadable = True
        self._warn(f"the state stored before a crash is not readable ({self._file}: {values}): it is not used")
        return None

    def save(self, values):
        """Store a dict that JSON can write; the file is replaced atomically.

        Return False if there is a session, but the file cannot be written.
        """
        if self._file is None:
            return not self._wanted
        text = json.dumps(values).encode()
        draft = self._file.with_suffix(".new")
        try:
            try:
                draft.write_bytes(text)
                os.replace(draft, self._file)
            except OSError:
                draft.unlink(missing_ok=True)
                # A full file system refuses a new file; the block that the old one has can still be written to.
                with open(self._file, "r+b") as file:
                    file.write(text)
                    file.truncate()
        except OSError as error:
            if not self._failed:
                self._failed = True
                self._warn(f"no state can be stored for a respawn: {error}; free space in {self._file.parent}")
            return False
        self._failed = False
        return True

    def forget(self):
        """Delete the stored state: the node ends for good."""
        if self._file is not None:
            try:
                self._file.unlink(missing_ok=True)
            except OSError as error:
                self._warn(f"the stored state cannot be deleted: {error}")
