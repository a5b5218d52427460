"""Which files, processes and pickles a thread opens: audit events of the interpreter, by thread."""

import sys
import threading
from contextlib import contextmanager

# Events that have no place in a control thread.
SLOW = ("open", "subprocess.Popen", "pickle.find_class", "os.posix_spawn", "os.fork", "os.exec", "import", "compile")
_watched: dict[int, list] = {}


def _hook(event, arguments):
    events = _watched.get(threading.get_ident())
    if events is not None and event in SLOW:
        events.append((event, str(arguments)[:200]))


sys.addaudithook(_hook)


@contextmanager
def audited():
    """Collect the SLOW events of the present thread in the list that is given."""
    events: list = []
    _watched[threading.get_ident()] = events
    try:
        yield events
    finally:
        del _watched[threading.get_ident()]
