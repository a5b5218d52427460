"""Asks the kernel to run a driver's threads before others, if this process may do that."""

from __future__ import annotations

import logging
import os
import threading

_log = logging.getLogger(__name__)
NICE = -10


def prefer_this_thread(priority: int) -> str:
    """Give the calling thread the real-time priority `priority` (1..99, SCHED_FIFO), else nice -10; return what
    was achieved.

    A real-time priority needs CAP_SYS_NICE or an rtprio limit (deploy/compose.yaml gives both), and a control
    group with a real-time budget if the kernel has CONFIG_RT_GROUP_SCHED. A refusal is logged at debug level; the
    thread works without a priority.
    """
    name = threading.current_thread().name
    try:
        # Children of this thread (if any) start without it.
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
        return f"SCHED_FIFO {priority}"
    except OSError as error:
        _log.debug("thread %s: no real-time priority (%s)", name, error)
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        return f"nice {NICE}"
    except OSError as error:
        _log.debug("thread %s: no nice value of %d (%s)", name, NICE, error)
    return "normal"


def prefer_this_process(priority: int) -> str:
    """Give all threads of this process, and those that they start, SCHED_FIFO `priority`, else nice -10; return
    which.

    This is for a process in which one thread must not wait: while a thread that waits for a processor holds the
    interpreter's lock, no thread with a higher priority runs Python code either; and requests arrive through the
    threads of DDS. Children of this process must reset it.
    """
    threads = [int(name) for name in os.listdir("/proc/self/task")]
    try:
        for thread in threads:
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
        return f"SCHED_FIFO {priority}"
    except ProcessLookupError as error:  # a thread has ended meanwhile: its successors have the priority already
        _log.debug("process: %s", error)
        return f"SCHED_FIFO {priority}"
    except OSError as error:
        _log.debug("process: no real-time priority (%s)", error)
    try:
        for thread in threads:
            os.setpriority(os.PRIO_PROCESS, thread, NICE)
        return f"nice {NICE}"
    except OSError as error:
        _log.debug("process: no nice value of %d (%s)", NICE, error)
    return "normal"
