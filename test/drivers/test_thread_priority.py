"""The priority of a driver's thread: the best that is permitted, without a complaint."""

import logging
import os
import threading

import pytest

from hexapod_dynamics.drivers.thread_priority import raise_process_priority, raise_thread_priority


def in_a_thread(work):
    """Return what work() returns in a thread of its own, whose priority ends with it."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), name="bus")
    thread.start()
    thread.join(10)
    return found[0]


def refuse(*_arguments):
    raise PermissionError(1, "Operation not permitted")


def test_where_it_is_permitted_the_thread_alone_has_a_real_time_priority():
    def work():
        return raise_thread_priority(12), os.sched_getscheduler(0), os.sched_getparam(0).sched_priority

    before = os.sched_getscheduler(0)
    told, policy, priority = in_a_thread(work)
    if told != "SCHED_FIFO 12":
        pytest.skip("this user may not have a real-time priority")
    assert policy == os.SCHED_FIFO | os.SCHED_RESET_ON_FORK and priority == 12
    assert os.sched_getscheduler(0) == before, "the main thread is as it was"


def test_else_it_has_a_nice_value_else_none_and_the_log_has_a_line_at_debug_level_only(monkeypatch, caplog):
    asked = []
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "setpriority", lambda *arguments: asked.append(arguments))
    caplog.set_level(logging.DEBUG)
    assert in_a_thread(lambda: (raise_thread_priority(12), threading.get_native_id()))[0] == "nice -10"
    assert len(asked) == 1 and asked[0][2] == -10 and asked[0][1] != os.getpid()
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    monkeypatch.setattr(os, "setpriority", refuse)
    assert in_a_thread(lambda: raise_thread_priority(12)) == "normal"
    assert {record.levelname for record in caplog.records} == {"DEBUG"} and "thread bus" in caplog.text


@pytest.mark.parametrize(("refused", "told"), [((), "SCHED_FIFO 10"), (("sched_setscheduler",), "nice -10")])
def test_a_thread_that_has_ended_meanwhile_keeps_no_other_one_from_its_priority(monkeypatch, refused, told):
    preferred = []

    def prefer(*arguments):
        thread = arguments[told == "nice -10"]
        if thread == 11:
            raise ProcessLookupError(3, "No such process")
        preferred.append(thread)

    monkeypatch.setattr(os, "listdir", lambda _path: ["11", "12", "13"])
    for name in ("sched_setscheduler", "setpriority"):
        monkeypatch.setattr(os, name, refuse if name in refused else prefer)
    assert raise_process_priority(10) == told
    assert preferred == [12, 13]
