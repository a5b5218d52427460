"""Verb `ros2 service call`."""

import time

import yaml

from .fill import fill
from .interfaces import service_class


def call_arguments(parser):
    """Declare the options of `ros2 service call`."""
    parser.add_argument("service_name", help="Name of the service (e.g. '/add_two_ints')")
    parser.add_argument("service_type", help="Type of the service (e.g. 'std_srvs/srv/Empty')")
    parser.add_argument(
        "values",
        nargs="?",
        default="{}",
        help="The request's values as YAML (e.g. '{a: 1, b: 2}'); defaults where none is given",
    )
    parser.add_argument("-r", "--rate", metavar="N", type=float, help="Repeat the call so many times a second")


def call_verb(args):
    """Call a service once it is there and print request and response, once or at a rate."""
    if args.rate is not None and args.rate <= 0:
        raise RuntimeError("rate must be greater than zero")
    kind = service_class(args.service_type)
    request = kind.Request()
    try:
        fill(request, yaml.safe_load(args.values))
    except Exception as error:  # whatever the message's own checks raise
        return f"Failed to populate field: {error}"
    import rclpy

    rclpy.init(args=[])
    package, *_, name = args.service_type.split("/")
    node = rclpy.create_node(f"_ros2cli_requester_{package}_{name}", start_parameter_services=False)
    try:
        client = node.create_client(kind, args.service_name)
        if not client.service_is_ready():
            print("waiting for service to become available...")
            client.wait_for_service()
        while True:
            print(f"requester: making request: {request!r}\n")
            begin = time.monotonic()
            future = client.call_async(request)
            rclpy.spin_until_future_complete(node, future)
            if future.result() is None:
                raise RuntimeError(f"Exception while calling service: {future.exception()!r}")
            print(f"response:\n{future.result()!r}\n")
            if args.rate is None:
                return None
            time.sleep(max(0.0, begin + 1.0 / args.rate - time.monotonic()))
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
