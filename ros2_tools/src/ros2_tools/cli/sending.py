"""Verbs `ros2 topic pub` and `ros2 service call`: send a message typed as YAML."""

import time

import yaml

from .graph import DIRECT, graph_node
from .messages import fill, interface_class, message_class
from .qos import chosen_profile, qos_arguments
from .verbs import arg, flag, number, verb

COUNT = number(int, "nonnegative_int", lambda value: value >= 0)
POSITIVE = number(float, "positive_float", lambda value: value > 0.0)
VALUES = arg("values", nargs="?", default="{}", help="Values as YAML ('{a: 1, b: 2}'); defaults where none is given")


def _filled(message, values, stamped=False):
    """Fill a message and return what `fill` does; RuntimeError with the reason where the values do not fit."""
    try:
        return fill(message, values, stamped)
    except Exception as error:  # whatever the message's own checks raise
        raise RuntimeError(f"Failed to populate field: {error}") from None


def _wait_for_subscriptions(publisher, wanted):
    """Return once so many subscriptions are matched, saying once a second what is waited for."""
    tenths = 0
    while publisher.get_subscription_count() < wanted:
        if tenths % 10 == 0:
            print(f"Waiting for at least {wanted} matching subscription(s)...")
        tenths += 1
        time.sleep(0.1)


@verb(
    "topic pub",
    *DIRECT,
    arg("topic_name", help="Name of the topic to publish to (e.g. '/chatter')"),
    arg("message_type", help="Type of the message (e.g. 'std_msgs/String')"),
    VALUES,
    arg("-r", "--rate", metavar="N", type=POSITIVE, default=1.0, help="Publishing rate in Hz (default: 1)"),
    arg("-p", "--print", metavar="N", type=int, default=1, help="Print only every N-th message (default: 1)"),
    flag("-1", "--once", group="times", help="Publish one message and exit"),
    arg("-t", "--times", group="times", type=COUNT, default=0, help="Publish so many messages and exit"),
    arg("-w", "--wait-matching-subscriptions", type=COUNT, help="Wait for so many first (default: 1 with -1 or -t)"),
    arg("--keep-alive", metavar="N", type=POSITIVE, default=0.1, help="Seconds to stay after the last (default: 0.1)"),
    arg("-n", "--node-name", dest="own_name", metavar="NAME", help="Name of the publishing node"),
    *qos_arguments("publish", "reliable", "transient_local", depth=-1),
)
def pub(args):
    """Publish a message to a topic."""
    import rclpy
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    latched = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    kind = message_class(args.message_type)
    try:
        values = yaml.safe_load(args.values)
    except (yaml.YAMLError, ValueError) as error:
        return f"The passed value is not YAML: {error}"
    if not isinstance(values, dict):
        return "The passed value needs to be a dictionary in YAML format"
    message = kind()
    times = 1 if args.once else args.times
    waited_for = args.wait_matching_subscriptions
    with graph_node(args) as node:
        publisher = node.create_publisher(kind, args.topic_name, chosen_profile(args, latched))
        _wait_for_subscriptions(publisher, int(times != 0) if waited_for is None else waited_for)
        stamps = _filled(message, values, stamped=True)
        print("publisher: beginning loop")
        count = 0

        def publish():
            nonlocal count
            for stamp in stamps:
                stamp(node.get_clock().now().to_msg())
            count += 1
            if args.print and count % args.print == 0:
                print(f"publishing #{count}: {message!r}\n")
            publisher.publish(message)

        publish()
        if times != 1:
            node.create_timer(1.0 / args.rate, publish)
            while times == 0 or count < times:
                rclpy.spin_once(node)
        time.sleep(args.keep_alive)


@verb(
    "service call",
    arg("service_name", help="Name of the service (e.g. '/add_two_ints')"),
    arg("service_type", help="Type of the service (e.g. 'std_srvs/srv/Empty')"),
    VALUES,
    arg("-r", "--rate", metavar="N", type=float, help="Repeat the call so many times a second"),
)
def call(args):
    """Call a service."""
    if args.rate is not None and args.rate <= 0:
        raise RuntimeError("rate must be greater than zero")
    kind = interface_class(args.service_type, "srv", "The passed service type is invalid")
    if not hasattr(kind, "Request"):
        raise RuntimeError("The passed type is not a service")
    request = kind.Request()
    _filled(request, yaml.safe_load(args.values))
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
