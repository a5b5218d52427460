"""`hexapod-stop`: the emergency stop; `--resume` ends it, `--release` lets the servos go at once.

`ros2 run hexapod_dynamics stop` is the same, but `ros2 run` itself takes several times as long.

The stop goes by a local socket first (drivers/stop_request.py), before anything else is imported or parsed. If the
socket gives no answer, and for all other requests, the service is called; rclpy is imported only then.
"""

from __future__ import annotations

import os
import sys

from hexapod_dynamics.drivers.stop_request import StopRequest

TYPE_CHECKING = False  # typing itself would delay the stop
if TYPE_CHECKING:
    import argparse

PATIENCE = 0.5  # [s] after which the service is called, too


def _arguments(words: list[str]) -> argparse.Namespace:
    import argparse

    parser = argparse.ArgumentParser(
        prog="stop", description="Freeze the robot's pose at once, whatever commands come, until --resume."
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--resume", action="store_true", help="end the emergency stop: commands move the robot again")
    what.add_argument("--release", action="store_true", help="let all servos go at once (the robot drops)")
    what.add_argument("--sit", action="store_true", help="sit down, then switch torque off")
    parser.add_argument("--namespace", default="", help="of the robot, as in walk.launch.py namespace:=")
    parser.add_argument("--timeout", type=float, default=5.0, help="how long to wait for the node servos [s]")
    return parser.parse_args(words)


def main(args: list[str] | None = None) -> None:
    """Send one request; exit code 0: done, 1: rejected, 2: no answer."""
    words = list(sys.argv if args is None else args)[1:]
    if not words or (len(words) == 2 and words[0] == "--namespace"):
        request: StopRequest | None = _stop("".join(words[1:]), PATIENCE)
        sys.exit(_call(_arguments(words), args, request))
    named = "--ros-args" not in words  # else ROS sets the namespace, and its arguments are not for the parser
    if not named:
        from rclpy.utilities import remove_ros_args

        words = remove_ros_args(["stop", *words])[1:]
    given = _arguments(words)
    stops = named and not (given.resume or given.release or given.sit)
    request = _stop(given.namespace, min(PATIENCE, given.timeout)) if stops else None
    sys.exit(_call(given, args, request))


def _stop(namespace: str, patience: float) -> StopRequest:
    """Request the emergency stop by the socket; end the process after an answer, else return the request."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)  # the highest: a stop precedes everything else
    except OSError:
        pass
    request = StopRequest(namespace)
    answer = request.wait_for_answer(patience)
    if answer is not None:
        sys.exit(_report(*answer))
    return request


def _report(success: bool, message: str) -> int:
    print(message, file=sys.stdout if success else sys.stderr)
    return 0 if success else 1


def _no_answer(why: str) -> int:
    print(why, file=sys.stderr)
    return 2


def _call(given: argparse.Namespace, args: list[str] | None, stop: StopRequest | None) -> int:
    """Call the service once, while a request that the socket has taken may still be answered; return the exit code."""
    if "site" not in sys.modules:  # python3 -S
        import site

        site.main()
    from contextlib import ExitStack
    from functools import partial

    try:
        from hexapod_dynamics.tools.service_call import call_service, open_calling_node
    except ModuleNotFoundError as error:
        return _no_answer(
            f"no node servos of this user answers here in ROS_DOMAIN_ID {os.environ.get('ROS_DOMAIN_ID', 0)} and "
            f"namespace {given.namespace or '/'}, and there is no {error.name} for the service: source ROS 2 first, "
            "or use ./with_ros2"
        )
    with ExitStack() as ends:
        try:
            node = ends.enter_context(open_calling_node("stop_call", given.namespace, args))
        except RuntimeError as error:  # as where neither HOME nor ROS_LOG_DIR is set
            return _no_answer(
                f"no node servos answers here, and ROS 2 does not start for {given.namespace or '/'}: {error}"
            )
        hint = (
            "is the node servos running, in this --namespace and ROS_DOMAIN_ID? Without it the servos hold where they "
            "are; the battery switch lets them go."
        )
        meanwhile = (lambda: None) if stop is None else partial(stop.wait_for_answer, 0.0)
        answer = call_service(node, *_call_of(given), given.timeout, hint, meanwhile)
        if answer is None:
            return 2
        return _report(*answer) if isinstance(answer, tuple) else _report(answer.success, answer.message)


def _call_of(given: argparse.Namespace) -> tuple[type, str, object]:
    """Return the service type, the name and the request for the arguments."""
    from std_srvs.srv import SetBool, Trigger

    if given.release:
        return Trigger, "servos/release", Trigger.Request()
    if given.sit:
        return SetBool, "servos/torque", SetBool.Request(data=False)
    return SetBool, "emergency_stop", SetBool.Request(data=not given.resume)


if __name__ == "__main__":
    main()
