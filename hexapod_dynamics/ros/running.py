"""Runs the process of a node: start, spin, restart of a failed node, and a clean end."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import cast

import rclpy
from hexapod_dynamics.errors import HexapodError, MissingPackageError, ParameterError
from hexapod_dynamics.process_environment import prepare_for_ros
from hexapod_dynamics.ros import start
from hexapod_dynamics.ros.guarded_node import GuardedNode, describe_error
from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

LASTING_ERRORS = (ParameterError, MissingPackageError)  # a node that these have refused would be refused again
REFUSED_PAUSE = 30.0  # [s] before a launch starts a refused node again, which else would tell its reason each second
ENDING_LOCK = threading.Lock()  # faulthandler has one timer for all threads


def run_together(node_classes: Sequence[type[GuardedNode]], args: list[str] | None = None) -> None:
    """Start nodes in one process, spin them, and shut them down cleanly on SIGINT and SIGTERM; several run each in a
    thread of its own. An invalid parameter ends a node.

    A node that would be refused again is left out, and the others run. If one of several nodes fails later, it is
    restarted after a second, as a launch file does with a process, and the others continue; a failure of a single
    node ends the process.
    """
    start.install_signal_handlers()
    call_libc("mallopt", -8, 1)  # M_ARENA_MAX: the threads share one heap, because they allocate little
    prepare_for_ros()
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # of ROS arguments, a file of parameters, the domain, the folder of the logs
        sys.stderr.write(f"ROS 2 does not start: {describe_error(error).partition(', at /')[0]}\n")
        start.wait_where_respawned()
        os._exit(1)
    status, nodes, failure = 1, [], None
    for node_class in node_classes:
        try:
            nodes.append(make_node(node_class))
        except LASTING_ERRORS:
            continue
        except Exception as error:
            failure = error
            break
    if nodes and failure is None:
        status = run_nodes(nodes)
    else:
        end_nodes(nodes)
    with limit_shutdown():
        rclpy.try_shutdown()
    if isinstance(failure, HexapodError) and start.launch_process():
        time.sleep(REFUSED_PAUSE)
    elif not nodes and failure is None:
        start.wait_where_respawned()  # because the next start would be refused, too
    # Everything is closed. End without destroying the objects of all libraries one by one, which takes 0.5 s of CPU per
    # node, 2 s for the launch file.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def make_node(node_class: type[GuardedNode]) -> GuardedNode:
    """Return a new node; an error in its constructor is logged, and what it has started is ended, before it is raised.

    The incomplete node must not look like a working one: it would otherwise stay in the graph, with its devices and
    its stop socket, as long as this process lasts.
    """
    node = node_class.__new__(node_class)  # known before the constructor fails
    try:
        cast("Callable[[GuardedNode], None]", node_class.__init__)(node)  # each gives its own name
    except Exception as error:
        begun = hasattr(node, "ending")  # else rclpy has made no node
        fatal = (node.get_logger() if begun else rclpy.logging.get_logger(node_class.__name__)).fatal
        fatal(str(error) if isinstance(error, HexapodError) else traceback.format_exc())
        if isinstance(error, RCLError) and (uri := os.environ.get("CYCLONEDDS_URI")):
            fatal(
                f"the node cannot be made; CYCLONEDDS_URI is {uri!r}: an interface in it may not be there, or "
                "beside ROS_LOCALHOST_ONLY=1 be the loopback interface, which Cyclone DDS does not accept twice"
            )
        if begun:
            end_nodes([node], destroy=Node.destroy_node)  # its own method needs what the constructor has not made
        raise
    return node


def run_nodes(nodes: list[GuardedNode]) -> int:
    """Spin nodes until a signal is received, and end them; return the exit code of the process."""
    start.defer_signals()
    # Objects alive now stay alive. Without `freeze` the garbage collector would scan all of them again and again,
    # which stops every thread for 70 ms (0.4 s on a Jetson Nano).
    gc.collect()
    gc.freeze()
    call_libc("malloc_trim", 0)  # memory that was freed after the start, but kept by glibc: 3 MiB of each process
    failed = False
    try:
        spin(nodes)
        if start.has_launch_ended():
            nodes[0].get_logger().warning("the launch process has ended: this node ends too")
    except Exception:  # printed first, so that the log names the cause whatever the end brings
        traceback.print_exc()
        failed = True
    return int(not end_nodes(nodes, will_restart=failed or start.launch_process() != 0) or failed)


def spin(nodes: list[GuardedNode]) -> None:
    """Run the callbacks of nodes until a signal is received; several nodes run each in its own thread, with
    `run_with_restarts`.

    At the end, the list `nodes` contains the existing nodes.
    """

    def going() -> bool:
        return rclpy.ok() and not start.is_stopping()

    if len(nodes) == 1:
        serve(nodes[0], going)
        return
    threads = [
        threading.Thread(target=run_with_restarts, args=(nodes, node, going), name=node.get_name())
        for node in list(nodes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def serve(node: GuardedNode, going: Callable[[], bool]) -> None:
    """Run the callbacks of a node while going() is true, in an executor of its own."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    if node.loop is not None:
        node.loop.run(executor, going)
    while going():
        executor.spin_once(timeout_sec=0.2)  # a signal is noticed at the end of the wait


def run_with_restarts(nodes: list[GuardedNode], first: GuardedNode, going: Callable[[], bool]) -> None:
    """`serve` one of several nodes; if it fails, end it and make a new one after a second, also in `nodes`."""
    node_class, node = type(first), first
    # PR_SET_NAME: for `top -H` this thread and those that it starts have the name's first 15 characters.
    call_libc("prctl", 15, first.get_name().encode(), 0, 0, 0)
    while True:
        try:
            serve(node, going)
            return
        except Exception:  # raised by any callback; the other nodes continue
            node.get_logger().fatal(f"{traceback.format_exc()}node failed, restarting in 1 s")
        nodes.remove(node)
        end_nodes([node])
        again = remake_node(node_class, going)
        if again is None:
            return
        node = again
        nodes.append(node)


def remake_node(node_class: type[GuardedNode], going: Callable[[], bool]) -> GuardedNode | None:
    """Return a new node after a pause, longer if it fails; None if it would be refused again or the process ends."""
    while True:
        left = time.monotonic() + 1.0
        while going() and time.monotonic() < left:
            time.sleep(0.1)
        if not going():
            return None
        try:
            return make_node(node_class)
        except LASTING_ERRORS:
            return None
        except Exception:  # it is in the log
            continue


def end_nodes(
    nodes: Sequence[GuardedNode],
    will_restart: bool = True,
    destroy: Callable[[GuardedNode], object] = lambda node: node.destroy_node(),
) -> bool:
    """Close the devices of nodes, then destroy the nodes; the stored state of each is kept if it will be restarted.

    What a node raises is printed, and keeps neither its other devices open nor other nodes. Return whether none has.
    """
    errors = 0

    def attempt(end: Callable[[], object]) -> None:
        nonlocal errors
        try:
            end()
        except Exception:
            errors += 1
            traceback.print_exc()

    for node in nodes:
        if node.loop is not None:
            node.loop.cancel()
        attempt(node.ending.close)
        if node.session_state is not None:
            attempt(node.session_state.close if will_restart else node.session_state.forget)
    with limit_shutdown():
        for node in nodes:
            attempt(partial(destroy, node))
    return errors == 0


@contextlib.contextmanager
def limit_shutdown() -> Iterator[None]:
    """Give the middleware 2.4 s to destroy nodes whose devices are closed and whose state is stored.

    Cyclone DDS waits 1 s for each writer of which a process that was killed in the last 10 s has not acknowledged the
    last data: one of requests and that of discovery are 2 s. Fast DDS was seen to spin there for ever. Before the
    launch kills it (4 s after its signal), the process ends with exit code 1 and the place in its log, whether
    Python's lock is held or not; of several nodes in the process all end, and a launch file starts them again.
    """
    with ENDING_LOCK:
        faulthandler.dump_traceback_later(2.4, exit=True)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def call_libc(name: str, *arguments: int | bytes) -> None:
    """Call a function of the C library, if it is there: some are of glibc only."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
