"""Asks the kernel to run a driver's thread before others, where that is permitted."""

from __future__ import annotations

import logging
import os
import threading

_log = logging.getLogger(__name__)
_NICE = -10


def prefer_this_thread(priority: int) -> str:
    """Give the calling thread the real-time priority `priority` (1..99, SCHED_FIFO), else nice -10; return what it has.

    A real-time priority needs CAP_SYS_NICE or an rtprio limit (deploy/compose.yaml gives both), and a control group
    with a real-time budget where the kernel has CONFIG_RT_GROUP_SCHED. What is not permitted is logged at debug level:
    the thread works without it.
    """
    name = threading.current_thread().name
    try:
        # Children of this thread (if any) start without it.
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
        return f"SCHED_FIFO {priority}"
    except OSError as error:
        _log.debug("thread %s: no real-time priority (%s)", name, error)
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        return f"nice {_NICE}"
    except OSError as error:
        _log.debug("thread %s: no nice value of %d (%s)", name, _NICE, error)
    return "normal"
