"""Limits processes to a share of one core each, by Linux control groups (version 1 or 2; needs root).

The share is given in slices: with the kernel's shortest quota of 1 ms a sixth of a core is 1 ms in every 6 ms, during
which all threads of the process stand still for the other 5 ms. A slow processor computes all the time and slowly; that
is easier for a process than these pauses, so what keeps its beat here keeps it there.
"""

import os
from pathlib import Path

_QUOTA = 0.001  # [s] shortest that the kernel accepts


class LimitError(RuntimeError):
    """This machine gives no control group."""


def _hierarchy():
    """Return (version, directory) of the cpu controller, or raise LimitError."""
    found = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            found[1] = Path(place)
        elif kind == "cgroup2" and "cpu" in (Path(place) / "cgroup.controllers").read_text().split():
            found[2] = Path(place)
    if not found:
        raise LimitError("no control group with the cpu controller is mounted below /sys/fs/cgroup")
    return min(found.items())


class CpuLimit:
    """Groups of one process each, which may use `share` (0..1) of one core; `close` sets them free.

    Raises LimitError where the kernel or the user's rights do not permit it.
    """

    def __init__(self, processes, share):
        """processes: {name: pid}."""
        if not 0.0 < share < 1.0:
            raise LimitError(f"share {share}: a number between 0 and 1 is needed, as 0.167 for a sixth of a core")
        self._version, self._root = _hierarchy()
        self.period, self._groups = _QUOTA / share, {}
        try:
            if self._version == 2:
                (self._root / "cgroup.subtree_control").write_text("+cpu")
            for name, pid in processes.items():
                group = self._groups[name] = self._root / f"hexapod_benchmark_{os.getpid()}_{name}"
                group.mkdir()
                self._bound(group)
                # Threads with a real-time priority are not subject to the quota: here they are like the others.
                for thread in os.listdir(f"/proc/{pid}/task"):
                    os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))
                (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            self.close()
            raise LimitError(f"the kernel does not permit a limit: {error}; run it as root of the host") from error

    def _bound(self, group):
        quota, period = round(1e6 * _QUOTA), round(1e6 * self.period)
        if self._version == 2:
            (group / "cpu.max").write_text(f"{quota} {period}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period))
            (group / "cpu.cfs_quota_us").write_text(str(quota))

    def close(self):
        """Move what still runs back and remove the groups."""
        for group in self._groups.values():
            if group.exists():
                for pid in (group / "cgroup.procs").read_text().split():
                    (self._root / "cgroup.procs").write_text(pid)
                group.rmdir()
        self._groups.clear()
