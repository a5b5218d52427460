"""ROS domains for tests, each for one user on this machine."""

import fcntl
import random
import tempfile
from pathlib import Path

DOMAINS = range(12, 40, 2)  # the next number belongs to each; the tests of the robot take theirs from 40 on
RESERVED = []  # locks, until this process ends


def reserve_domain():
    """Return a domain that, with the next one, no other test on this machine has until this process ends."""
    for domain in random.SystemRandom().sample(DOMAINS, len(DOMAINS)):
        file = open(Path(tempfile.gettempdir(), f"ros2_tools_test_domain_{domain}"), "a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            RESERVED.append(file)
            return domain
    raise RuntimeError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use by tests on this machine")
