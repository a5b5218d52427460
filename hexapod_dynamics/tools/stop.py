"""`ros2 run hexapod_dynamics stop`: the emergency stop; `--resume` ends it, `--release` lets the servos go at once."""

import argparse
import sys

import rclpy
from hexapod_dynamics.nodes.participant import take_place
from rclpy.utilities import remove_ros_args
from std_srvs.srv import SetBool, Trigger


def _arguments(words):
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


def _call_of(given):
    """Service type, name and request that the arguments ask for."""
    if given.release:
        return Trigger, "servos/release", Trigger.Request()
    if given.sit:
        return SetBool, "servos/torque", SetBool.Request(data=False)
    return SetBool, "emergency_stop", SetBool.Request(data=not given.resume)


def main(args=None):
    """Call the service once; exit code 0: done, 1: rejected, 2: no answer."""
    words = remove_ros_args(sys.argv if args is None else args)[1:]
    given = _arguments(words)
    take_place()
    rclpy.init(args=args)
    node = rclpy.create_node(
        "stop_call", namespace=given.namespace or None, start_parameter_services=False, enable_rosout=False
    )
    try:
        sys.exit(_call(node, *_call_of(given), given.timeout))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _call(node, kind, name, request, timeout):
    client = node.create_client(kind, name)
    if not client.wait_for_service(timeout_sec=timeout):
        print(
            f"nobody offers {client.srv_name}: is the node servos running, in this --namespace and ROS_DOMAIN_ID? "
            "Without it the servos hold where they are; the battery switch lets them go.",
            file=sys.stderr,
        )
        return 2
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=timeout)
    if not future.done():
        print(f"{client.srv_name} did not answer within {timeout} s", file=sys.stderr)
        return 2
    answer = future.result()
    print(answer.message, file=sys.stdout if answer.success else sys.stderr)
    return 0 if answer.success else 1


if __name__ == "__main__":
    main()
