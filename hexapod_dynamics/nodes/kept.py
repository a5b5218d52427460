"""What a node keeps over a crash: a few values in a file that belongs to one session and goes with its clean end."""

import json
import os
import tempfile
from pathlib import Path

from hexapod_dynamics.nodes.common import declare


class Kept:
    """Values of `node` in the session its parameter `session` names; without one nothing is kept."""

    def __init__(self, node):
        session = declare(node, 'session', '', 'what this node keeps survives a crash and respawn within one session, '
                          'a name the launch file makes up; empty: a new start knows nothing', read_only=True)
        name = f'hexapod_{node.get_name()}_{os.getuid()}_{session}.json'
        self._file = Path(tempfile.gettempdir()) / name if session else None

    def load(self):
        """Return what was saved before a crash, None if there is nothing."""
        if self._file is None or not self._file.exists():
            return None
        return json.loads(self._file.read_text())

    def save(self, values):
        """Keep values that JSON can write; a reader sees all of them or those before."""
        if self._file is not None:
            draft = self._file.with_suffix('.new')
            draft.write_text(json.dumps(values))
            os.replace(draft, self._file)

    def forget(self):
        """Keep nothing: the node ends cleanly."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
