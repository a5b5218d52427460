"""The system clock is set back while nodes run: what they do in time goes on, and their stamps follow the clock.

A Jetson Nano has no clock battery; the first contact with a time server moves its clock. Setting this machine's clock
would disturb everybody on it, so a library between the node and the C library moves the one clock of the one process.
"""

import math
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from support.ros_session import Process, wait_until

import hexapod_dynamics
from hexapod_dynamics.ros.node_functions import stamp_seconds
from sensor_msgs.msg import JointState

HOUR = 3600.0
SEATED = np.tile([0.0, 1.2, -0.45], 6)
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile double *offset;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void start(void) {
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY);
    offset = mmap(NULL, sizeof(double), PROT_READ, MAP_SHARED, file, 0);
    real = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t id, struct timespec *out) {
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, out);
    if (id == CLOCK_REALTIME && offset) out->tv_sec += (long)*offset;
    return result;
}

/* Fast DDS waits until a time of CLOCK_REALTIME, which the kernel has not set back; small times are of another. */
static struct timespec kernels(const struct timespec *end) {
    struct timespec of_kernel = *end;
    if (offset && end->tv_sec > 1000000000) of_kernel.tv_sec -= (long)*offset;
    return of_kernel;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end) {
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!wait) wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");  /* x86-64 has an older one, too */
    if (!wait) wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    struct timespec of_kernel = kernels(end);
    return wait(condition, mutex, &of_kernel);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *end) {
    static int (*lock)(pthread_mutex_t *, const struct timespec *);
    if (!lock) lock = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
    struct timespec of_kernel = kernels(end);
    return lock(mutex, &of_kernel);
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
"""


class Clock:
    """The clock of processes started with `environment`; `set` moves it by so many seconds."""

    def __init__(self, directory):
        (directory / "clock.c").write_text(SOURCE)
        library, self._offset = directory / "clock.so", directory / "offset"
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", directory / "clock.c", "-o", library, "-ldl"], check=True, timeout=60
        )
        self._offset.write_bytes(struct.pack("d", 0.0))
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._offset)}

    def set(self, seconds):
        with open(self._offset, "r+b") as file:
            file.write(struct.pack("d", seconds))


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc to make a clock of the node's own")
    return Clock(tmp_path_factory.mktemp("clock"))


def test_joint_commands_go_on_when_the_clock_is_set_back_an_hour(probe, clock):
    heard = probe.hear(JointState, "joint_commands")
    clock.set(0.0)
    with Process.node("gait", environment=clock.environment) as gait:
        wait_until(lambda: len(heard) > 20, 120, lambda: gait.output)
        assert abs(stamp_seconds(heard[-1][1].header.stamp) - time.time()) < 60.0
        clock.set(-HOUR)
        now = time.monotonic()
        wait_until(
            lambda: sum(at > now + 0.1 for at, _ in list(heard)) > 50,
            20,
            lambda: f"commands go on, but {sum(at > now for at, _ in heard)}",
        )
        assert abs(stamp_seconds(heard[-1][1].header.stamp) + HOUR - time.time()) < 60.0  # the clock was set
        assert gait.running()


def test_servos_hold_without_commands_and_sit_at_low_voltage_after_the_clock_is_set_back_an_hour(
    probe, robot, commands, clock
):
    heard = probe.statuses.heard
    clock.set(0.0)
    with Process.node("servos", environment=clock.environment) as servos:

        def reach(pose):
            commands.pose = np.full(18, pose)
            near = lambda: np.allclose(robot.pose, pose, atol=math.radians(0.24))  # noqa: E731
            wait_until(near, 30, lambda: f"{robot.pose} {servos.output}")

        reach(0.3)
        clock.set(-HOUR)
        now = time.monotonic()
        reach(0.1)  # commands are followed
        commands.pose = np.full(18, 0.6)
        time.sleep(0.1)
        commands.pose = None
        time.sleep(0.5)
        probe.statuses.says("servos", "holding the pose, no commands", 5)
        held = robot.pose.copy()
        time.sleep(0.4)
        assert np.array_equal(robot.pose, held) and robot.servos.are_holding().all()
        robot.servos.voltage[:] = 9.4
        probe.statuses.says("servos", "sitting down: supply at 9.4 V", 15)
        wait_until(lambda: not robot.servos.are_holding().any(), 20, "it sits down and lets go")
        assert np.allclose(robot.pose, SEATED, atol=0.03)
        stamps = [stamp_seconds(array.header.stamp) for at, array in list(heard) if at > now + 1.5]
        assert max(stamps) + HOUR < time.time() + 60.0  # the clock was set


def test_every_timer_of_a_node_runs_on_the_steady_clock():
    package = Path(hexapod_dynamics.__file__).parent
    wrong = [
        f"{path.name}: {line.strip()}"
        for path in [*package.glob("nodes/*.py"), *package.glob("ros/*.py")]
        for line in path.read_text().splitlines()
        if re.search(r"\.create_timer\(", line) and "clock=STEADY" not in line
    ]
    assert not wrong
