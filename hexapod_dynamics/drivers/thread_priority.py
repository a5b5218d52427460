"""Asks the kernel to run a driver's threads before others, if this process may do that."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Sequence

_log = logging.getLogger(__name__)
NICE = -10  # before ordinary processes, behind a stop request (nice -20)


def raise_thread_priority(priority: int) -> str:
    """Give the calling thread SCHED_FIFO `priority` (1..99), else nice -10; return what was achieved.

    A real-time priority needs CAP_SYS_NICE or an rtprio limit (deploy/docker_run gives one), and a control
    group with a real-time budget if the kernel has CONFIG_RT_GROUP_SCHED. A refusal is logged at debug level; the
    thread works without a priority. Children of this thread start without it if it is real-time.
    """
    policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    return _raise_priority([threading.get_native_id()], policy, priority, f"thread {threading.current_thread().name}")


def raise_process_priority(priority: int) -> str:
    """Give this process's threads, and those they start, SCHED_FIFO `priority`, else nice -10; return which.

    This is for a process in which one thread must not wait: while a thread that waits for a processor holds the
    interpreter's lock, no thread with a higher priority runs Python code either; and requests arrive through the
    threads of DDS. Children of this process must reset it.
    """
    threads = [int(name) for name in os.listdir("/proc/self/task")]
    return _raise_priority(threads, os.SCHED_FIFO, priority, "process")


def _raise_priority(threads: Sequence[int], policy: int, priority: int, who: str) -> str:
    for name, prefer in (
        (f"SCHED_FIFO {priority}", lambda each: os.sched_setscheduler(each, policy, os.sched_param(priority))),
        (f"nice {NICE}", lambda each: os.setpriority(os.PRIO_PROCESS, each, NICE)),
    ):
        try:
            for thread in threads:
                with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                    prefer(thread)
            return name
        except OSError as error:
            _log.debug("%s: no %s (%s)", who, name, error)
    return "normal"
