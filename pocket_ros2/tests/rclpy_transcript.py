"""Does many small things with plain rclpy and prints what came of each, as one JSON object.

Run by pocket ROS 2 and, where there is one, by a real ROS 2: both must say the same. What Humble says is kept beside
this file, so that the comparison is made everywhere. Arguments: none.
"""

import copy
import json
import pickle
import re
import sys
import time

import numpy as np

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point32, Pose, PoseArray, Quaternion, Vector3
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    Log,
    ParameterDescriptor,
    ParameterValue,
    SetParametersResult,
)
from rclpy.clock import Clock, ClockType, JumpThreshold, ROSClock
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.expand_topic_name import expand_topic_name
from rclpy.parameter import Parameter
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSPresetProfiles,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future
from rclpy.time import Time
from rclpy.utilities import remove_ros_args
from rclpy.validate_full_topic_name import validate_full_topic_name
from rclpy.validate_namespace import validate_namespace
from rclpy.validate_node_name import validate_node_name
from rclpy.validate_topic_name import validate_topic_name
from sensor_msgs.msg import Image, Imu, JointState
from std_msgs.msg import (
    Bool,
    Byte,
    ByteMultiArray,
    Char,
    Float32MultiArray,
    Header,
    Int8,
    String,
    UInt8,
    UInt8MultiArray,
)
from std_srvs.srv import SetBool

results = {}


def plain(text):
    """Return the text as every numpy (2: np.float64(2.0)) and Python (3.10: enumerations by name) would write it."""
    text = re.sub(r"\bnp\.float64\(([^)]*)\)", r"\1", text)
    return re.sub(r"\b(\w+Policy)\.(\w+)\b", lambda m: str(int(getattr(rclpy.qos, m[1])[m[2]])), text)


def record(label, action):
    """Keep what an action returns or raises."""
    label = plain(label)
    assert label not in results, label
    try:
        outcome = plain(repr(action()))
    except Exception as error:
        # Long number ranges and pointers in texts are of no interest, nor are source locations of rcl.
        text = str(error).split(" and each double in")[0].split(" (")[0].split(", at ./src")[0].split(", at /")[0]
        outcome = f"{type(error).__name__}: {text}"
    results[label] = outcome


def assigned(kind, name, value):
    message = kind()
    setattr(message, name, value)
    return getattr(message, name)


def messages():
    assignments = [
        (Vector3, "x", 1), (Vector3, "x", np.float64(2)), (Vector3, "x", "a"), (Vector3, "x", float("nan")),
        (Vector3, "x", float("inf")), (Point32, "x", 1e39), (Point32, "x", float("inf")), (Header, "frame_id", 3),
        (Header, "stamp", 3), (UInt8, "data", 256), (UInt8, "data", -1), (Int8, "data", 200), (UInt8, "data", True),
        (UInt8, "data", 1.0), (Bool, "data", 1), (Char, "data", "a"), (Char, "data", 3), (Byte, "data", 3),
        (Byte, "data", b"ab"), (Byte, "data", b"a"), (JointState, "position", [1, 2]),
        (JointState, "position", [1.0, 2]), (JointState, "position", np.zeros(3)), (JointState, "position", (1.0,)),
        (JointState, "name", ["a", 3]), (JointState, "name", "abc"), (JointState, "name", ("a",)),
        (Imu, "orientation_covariance", [0.0] * 8), (Imu, "orientation_covariance", [0] * 9),
        (Imu, "orientation_covariance", [0.0] * 9), (Imu, "orientation_covariance", np.zeros(9, np.float32)),
        (Imu, "orientation_covariance", np.zeros(8)), (Imu, "orientation_covariance", np.zeros((3, 3))),
        (UInt8MultiArray, "data", [1, 300]), (UInt8MultiArray, "data", b"abc"), (UInt8MultiArray, "data", "abc"),
        (ByteMultiArray, "data", [b"a"]), (ByteMultiArray, "data", [1]), (PoseArray, "poses", [1]),
        (PoseArray, "poses", [Pose()]), (ParameterDescriptor, "integer_range", [IntegerRange(), IntegerRange()]),
        (ParameterDescriptor, "integer_range", [IntegerRange(step=2)]), (ParameterValue, "bool_array_value", [1]),
        (ParameterValue, "bool_array_value", [True]), (ParameterValue, "integer_array_value", [2**63]),
        (DiagnosticStatus, "level", b"\x01"), (DiagnosticStatus, "level", 1), (Vector3, "nope", 1.0),
        (Image, "data", b"xyz"),
    ]  # fmt: skip
    for kind, name, value in assignments:
        record(f"assign {kind.__name__}.{name} = {value!r}", lambda k=kind, n=name, v=value: assigned(k, n, v))
    record("float32 out of range", lambda: Float32MultiArray(data=[1e39]))
    record("constructor converts", lambda: JointState(position=np.ones(2), velocity=[1, 2], effort=(3,)))
    record("constructor converts arrays", lambda: Imu(orientation_covariance=range(9)).orientation_covariance)
    record("constructor refuses text", lambda: type(JointState(position="abc")))
    record("unknown keyword", lambda: Vector3(q=1.0))
    record("positional", lambda: Vector3(1.0))
    record("equal", lambda: (Imu() == Imu(), Imu() == 3, Vector3(x=1.0) == Vector3(), JointState() == JointState()))
    record("hash", lambda: hash(Vector3()))
    record("service object", lambda: SetBool())
    record("request", lambda: SetBool.Request(data=True))
    record("type names", lambda: (SetBool.Request.__name__, SetBool.__name__, Imu.__name__))
    record("deepcopy", lambda: copy.deepcopy(JointState(name=["a"])) == JointState(name=["a"]))
    record("pickle", lambda: pickle.loads(pickle.dumps(Imu())) == Imu())
    record("field types", lambda: Imu.get_fields_and_field_types())
    record("slots", lambda: Imu.__slots__)
    record("defaults", lambda: (Quaternion(), Quaternion.W__DEFAULT, Log.WARN, DiagnosticStatus.STALE))
    record("repr", lambda: JointState(name=["a"], position=[1.0], header=Header(frame_id="x")))
    message = JointState(name=["a", "bc", "déf"], position=[1.0, 2.0], effort=[3.0], header=Header(frame_id="base"))
    record("bytes", lambda: serialize_message(message).hex())
    record("back", lambda: deserialize_message(serialize_message(message), JointState) == message)


def names():
    full = ["", "/", "a", "/a", "/a/", "/a//b", "/1a", "/a/1b", "/a b", "/a_b/c", "/~", "/{node}", "/_a", "/ä"]
    for name in full:
        record(f"full topic {name!r}", lambda n=name: validate_full_topic_name(n))
        record(f"namespace {name!r}", lambda n=name: validate_namespace(n))
    record("full topic too long", lambda: validate_full_topic_name("/" + "a" * 300) is True)
    for name in ["", "a", "1a", "a/b", "a b", "_a", "a-b", "ä"]:
        record(f"node {name!r}", lambda n=name: validate_node_name(n))
    topics = ["", "a", "/a", "a/", "~", "~/a", "~a", "a/~", "a//b", "1a", "a/1", "/1", "{node}", "{node}/a", "{", "}",
              "{a", "a}", "{1a}", "{a b}", "a b", "{ns}/x", "{}", "~/{node}", "a{node}b", "__a", "/{ns}", "~/1a",
              "{nope}", "a__b", "~~"]  # fmt: skip
    for name in topics:
        record(f"topic {name!r}", lambda n=name: validate_topic_name(n))
        record(f"service {name!r}", lambda n=name: validate_topic_name(n, is_service=True))
        record(f"expand {name!r}", lambda n=name: expand_topic_name(n, "node", "/ns"))
        record(f"expand at root {name!r}", lambda n=name: expand_topic_name(n, "node", "/"))


def times():
    record("duration", lambda: (Duration(seconds=1.5).nanoseconds, Duration(seconds=-1, nanoseconds=5).nanoseconds))
    record("duration repr", lambda: Duration(seconds=2))
    record("duration message", lambda: (Duration(seconds=-1.5).to_msg(), Duration(nanoseconds=7).to_msg()))
    record("duration too big", lambda: Duration(nanoseconds=2**63))
    record("duration order", lambda: (Duration(seconds=1) < Duration(seconds=2), Duration() == Duration()))
    record("duration against int", lambda: Duration() == 0)
    record("time", lambda: Time(seconds=3, nanoseconds=4))
    record("time parts", lambda: Time(seconds=3, nanoseconds=4).seconds_nanoseconds())
    record("time negative", lambda: Time(seconds=-1))
    record("time nanoseconds negative", lambda: Time(nanoseconds=-1))
    record("time type", lambda: Time(clock_type="x"))
    record("time sum", lambda: Time(seconds=1) + Duration(seconds=2))
    record("time sum reversed", lambda: Duration(seconds=2) + Time(seconds=1))
    record("time difference", lambda: Time(seconds=3) - Time(seconds=1))
    record("time minus duration", lambda: Time(seconds=3) - Duration(seconds=1))
    record("time plus time", lambda: Time(seconds=3) + Time(seconds=1))
    record("time below zero", lambda: Time(seconds=1) - Duration(seconds=2))
    record("time types differ", lambda: Time(seconds=3) - Time(seconds=1, clock_type=ClockType.ROS_TIME))
    record("time compare types", lambda: Time(seconds=3) < Time(seconds=1, clock_type=ClockType.ROS_TIME))
    record("time equal types", lambda: Time(seconds=3) == Time(seconds=3, clock_type=ClockType.ROS_TIME))
    record("time equals int", lambda: Time(nanoseconds=5) == 5)
    record("int is not time", lambda: 5 != Time(nanoseconds=5))
    record("time equals nothing", lambda: Time(nanoseconds=5) == None)  # noqa: E711
    record("time below int", lambda: Time(nanoseconds=5) < 5)
    record("time as key", lambda: {Time(nanoseconds=5): 1})
    record("time message", lambda: Time.from_msg(Time(nanoseconds=5_000_000_007).to_msg()))
    record("time from wrong message", lambda: Time.from_msg(3))
    record("clock", lambda: (type(Clock(clock_type=ClockType.ROS_TIME)).__name__, type(Clock()).__name__))
    record("clock repr", lambda: Clock(clock_type=ClockType.STEADY_TIME))
    record("threshold", lambda: JumpThreshold(min_forward=Duration(seconds=-1), min_backward=None))
    record("threshold backward", lambda: JumpThreshold(min_forward=None, min_backward=Duration(seconds=1)))
    clock, jumps = ROSClock(), []
    threshold = JumpThreshold(min_forward=Duration(nanoseconds=10), min_backward=Duration(nanoseconds=-10))
    handle = clock.create_jump_callback(
        threshold, pre_callback=lambda: jumps.append("pre"),
        post_callback=lambda jump: jumps.append(
            (jump.clock_change.name, jump.delta.nanoseconds if len(jumps) > 2 else 0)),
    )  # fmt: skip
    clock._set_ros_time_is_active(True)
    clock.set_ros_time_override(Time(nanoseconds=100, clock_type=ClockType.ROS_TIME))
    clock.set_ros_time_override(Time(nanoseconds=105, clock_type=ClockType.ROS_TIME))
    clock.set_ros_time_override(Time(nanoseconds=50, clock_type=ClockType.ROS_TIME))
    record("simulated now", lambda: (clock.now(), clock.ros_time_is_active))
    handle.unregister()
    clock.set_ros_time_override(Time(nanoseconds=500, clock_type=ClockType.ROS_TIME))
    clock._set_ros_time_is_active(False)
    record("jumps", lambda: jumps)
    record("not simulated", lambda: clock.now().nanoseconds > 10**18)


def qos():
    record("no depth", lambda: QoSProfile())
    record("keep last without depth", lambda: QoSProfile(history=HistoryPolicy.KEEP_LAST))
    for preset in QoSPresetProfiles:
        record(f"preset {preset.name}", lambda p=preset.value: str(p).replace(" nanoseconds", ""))
    record("short keys", lambda: (HistoryPolicy.short_keys(), DurabilityPolicy.short_keys()))
    record("from short key", lambda: (ReliabilityPolicy.get_from_short_key("best_effort"), QoSProfile(depth=3).depth))
    record("short key", lambda: ReliabilityPolicy.BEST_EFFORT.short_key)
    record("equal profiles", lambda: QoSProfile(depth=1) == QoSProfile(depth=1))
    for offered in (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT):
        for requested in (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT):
            pair = (QoSProfile(depth=1, reliability=offered), QoSProfile(depth=1, reliability=requested))
            record(f"{offered.name} to {requested.name}", lambda p=pair: qos_check_compatible(*p)[0])
    for offered in (DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE):
        for requested in (DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE):
            pair = (QoSProfile(depth=1, durability=offered), QoSProfile(depth=1, durability=requested))
            record(f"{offered.name} to {requested.name}", lambda p=pair: qos_check_compatible(*p)[0])
    pair = (QoSProfile(depth=1, deadline=Duration(seconds=2)), QoSProfile(depth=1, deadline=Duration(seconds=1)))
    record("deadlines", lambda: (qos_check_compatible(*pair)[0], qos_check_compatible(*pair[::-1])[0]))


def parameter_objects():
    values = [None, True, 3, 2.5, "x", [b"a"], [True], [1, 2], [1.0], ["a"], [], [1, 2.0], (1, 2), {}, [1, True], b"x",
              np.float64(2.0), [None]]  # fmt: skip
    for value in values:
        record(f"parameter of {value!r}", lambda v=value: Parameter("p", value=v).type_)
        record(f"parameter message of {value!r}", lambda v=value: Parameter("p", value=v).get_parameter_value())
    record("wrong pair", lambda: Parameter("p", Parameter.Type.BOOL, 3))
    record("type as int", lambda: Parameter("p", 3, 3))
    record("from message", lambda: Parameter.from_parameter_msg(Parameter("p", value=[1, 2]).to_parameter_msg()).value)


def parameters(node):
    record("declare", lambda: node.declare_parameter("gain", 1.5).value)
    record("declare again", lambda: node.declare_parameter("gain", 1.5))
    record("declare empty name", lambda: node.declare_parameter("", 1.5))
    record("declare with type", lambda: node.declare_parameter("typed", Parameter.Type.INTEGER).value)
    record("get uninitialised", lambda: node.get_parameter("typed"))
    record("get or", lambda: node.get_parameter_or("typed", Parameter("x", value=3)).value)
    record("declare not set", lambda: node.declare_parameter("n", Parameter.Type.NOT_SET))
    record("get undeclared", lambda: node.get_parameter("nope"))
    record("describe undeclared", lambda: node.describe_parameter("nope"))
    record("declare many", lambda: [p.value for p in node.declare_parameters("many", [("a", 1), ("b", "x")])])
    record("by prefix", lambda: {k: v.value for k, v in node.get_parameters_by_prefix("many").items()})
    record("many with wrong tuple", lambda: node.declare_parameters("", [()]))
    record("overridden", lambda: node.declare_parameter("given", 1.0).value)
    record("overridden by another type", lambda: node.declare_parameter("wrong", 1).value)
    record("override ignored", lambda: node.declare_parameter("ignored", 1, ignore_override=True).value)
    dynamic = ParameterDescriptor(dynamic_typing=True)
    record("dynamic", lambda: node.declare_parameter("dynamic", None, dynamic).value)
    record("set dynamic", lambda: node.set_parameters([Parameter("dynamic", value=3)]))
    record("set dynamic to text", lambda: node.set_parameters([Parameter("dynamic", value="x")]))
    record("unset dynamic", lambda: node.set_parameters([Parameter("dynamic")]))
    record("dynamic is gone", lambda: node.has_parameter("dynamic"))
    ranged = ParameterDescriptor(integer_range=[IntegerRange(from_value=0, to_value=10, step=5)])
    record("declare ranged", lambda: node.declare_parameter("ranged", 5, ranged).value)
    for value in (0, 10, 7, 11, -1):
        record(f"set ranged {value}", lambda v=value: node.set_parameters([Parameter("ranged", value=v)]))
    floating = ParameterDescriptor(floating_point_range=[FloatingPointRange(from_value=0.0, to_value=1.0, step=0.1)])
    record("declare floating", lambda: node.declare_parameter("floating", 0.5, floating).value)
    for value in (0.0, 1.0, 0.3, 0.35, 1.1, 2, float("nan")):
        record(f"set floating {value}", lambda v=value: node.set_parameters([Parameter("floating", value=v)]))
    record("declare out of range", lambda: node.declare_parameter("out", 5.0, copy.deepcopy(floating)))
    record("declare read-only", lambda: node.declare_parameter("fixed", 1, ParameterDescriptor(read_only=True)).value)
    record("set read-only", lambda: node.set_parameters([Parameter("fixed", value=2)]))
    record("undeclare read-only", lambda: node.undeclare_parameter("fixed"))
    record("set wrong type", lambda: node.set_parameters([Parameter("gain", value=2)]))
    record("set undeclared", lambda: node.set_parameters([Parameter("nope", value=2)]))
    record("unset static", lambda: node.set_parameters([Parameter("gain")]))
    record("set no parameter", lambda: node.set_parameters([3]))
    both = [Parameter("gain", value=3.0), Parameter("ranged", value=11)]
    record("atomic refusal", lambda: (node.set_parameters_atomically(both), node.get_parameter("gain").value))
    record("one by one", lambda: (node.set_parameters(both), node.get_parameter("gain").value))

    def refuse(changed):
        return SetParametersResult(successful=changed[0].name != "gain", reason="no gain today")

    node.add_on_set_parameters_callback(refuse)
    record("callback refuses", lambda: node.set_parameters([Parameter("gain", value=4.0)]))
    record("callback allows", lambda: node.set_parameters([Parameter("ranged", value=0)]))
    node.remove_on_set_parameters_callback(refuse)
    record("callback gone", lambda: node.set_parameters([Parameter("gain", value=4.0)]))
    record("types", lambda: node.get_parameter_types(["gain", "ranged"]))
    record("describe", lambda: node.describe_parameter("ranged"))
    record("describe default", lambda: node.describe_parameter("gain"))
    record("use_sim_time", lambda: (node.get_parameter("use_sim_time").value, node.describe_parameter("use_sim_time")))
    record("undeclare", lambda: (node.undeclare_parameter("gain"), node.has_parameter("gain")))


def node_names(node):
    record("node", lambda: (node.get_name(), node.get_namespace(), node.get_fully_qualified_name()))
    record("logger", lambda: node.get_logger().name)
    for topic in ("plain", "/absolute", "~/own", "mapped", "chain", "other", "~/mine", "{node}/sub", "{ns}/sub",
                  "only_here"):  # fmt: skip
        record(f"resolve {topic!r}", lambda t=topic: (node.resolve_topic_name(t), node.resolve_service_name(t)))
        record(f"expand only {topic!r}", lambda t=topic: node.resolve_topic_name(t, only_expand=True))
    publisher = node.create_publisher(String, "mapped", 10)
    record("publisher", lambda: (publisher.topic_name, publisher.topic, publisher.get_subscription_count()))
    record("publish wrong type", lambda: publisher.publish(3) if rclpy.ok() else None)
    record("bad depth", lambda: node.create_publisher(String, "x", -1))
    record("bad qos", lambda: node.create_publisher(String, "x", "10"))
    record("bad topic", lambda: node.create_publisher(String, "a b", 10))
    record("bad service", lambda: node.create_client(SetBool, "a b"))
    record("logger child", lambda: node.get_logger().get_child("c").name)
    record("logger without name", lambda: rclpy.logging.get_logger(""))
    record("log levels", lambda: (node.get_logger().get_effective_level(), node.get_logger().is_enabled_for(10)))
    record("set level", lambda: (node.get_logger().set_level(50), node.get_logger().get_effective_level()))
    record("log below level", lambda: node.get_logger().error("quiet"))
    record("unknown filter", lambda: node.get_logger().fatal("x", nope=1))
    record("destroy publisher", lambda: (node.destroy_publisher(publisher), node.destroy_publisher(publisher)))
    timer = node.create_timer(10.0, lambda: None)
    record("timer", lambda: (timer.timer_period_ns, timer.is_canceled(), timer.is_ready()))
    record("timer canceled", lambda: (timer.cancel(), timer.is_canceled(), timer.reset(), timer.is_canceled()))
    record("timer destroyed", lambda: (node.destroy_timer(timer), node.destroy_timer(timer)))
    record("rate", lambda: node.create_rate(0))


def other_nodes():
    record("bad node name", lambda: rclpy.create_node("a b"))
    record("bad namespace", lambda: rclpy.create_node("a", namespace="/1"))
    with_args = rclpy.create_node("local", cli_args=["--ros-args", "-r", "a:=b", "-r", "__ns:=/far", "-p", "x:=3"])
    record("node arguments", lambda: (with_args.get_fully_qualified_name(), with_args.resolve_topic_name("a")))
    record("node argument parameter", lambda: with_args.declare_parameter("x", 1).value)
    free = rclpy.create_node("free", use_global_arguments=False, allow_undeclared_parameters=True)
    record("free", lambda: (free.get_fully_qualified_name(), free.resolve_topic_name("mapped")))
    record("undeclared allowed", lambda: free.get_parameter("u").value)
    record("undeclared is set", lambda: free.set_parameters([Parameter("u", value=1)]))
    record("undeclared set", lambda: (free.get_parameter("u").value, free.describe_parameter("u")))
    automatic = rclpy.create_node(
        "automatic", automatically_declare_parameters_from_overrides=True,
        parameter_overrides=[Parameter("extra", value=[1.0])],
    )  # fmt: skip
    record("automatic", lambda: sorted((k, v.value) for k, v in automatic._parameters.items()))
    for node in (with_args, free, automatic):
        node.destroy_node()


def arguments():
    for given in (
        ["a", "--ros-args", "-r", "x:=y", "--", "b"], ["--ros-args"], ["--ros-args", "--log-level", "debug"],
        ["a", "--ros-args", "-p", "x:=1"],
    ):  # fmt: skip
        record(f"remove {given}", lambda g=given: remove_ros_args(g))
    for given in (
        ["--ros-args", "nope"], ["--ros-args", "-r", "x"], ["--ros-args", "-r", "x:="], ["--ros-args", "-r"],
        ["--ros-args", "-p", "x"], ["--ros-args", "--params-file", "/nope.yaml"], ["--ros-args", "--log-level", "loud"],
        ["--ros-args", "-r", "__node:=a b"], ["--ros-args", "-r", "__ns:=x"], ["--ros-args", "-r", "a b:=c"],
    ):  # fmt: skip
        context = rclpy.Context()
        try:
            rclpy.init(args=given, context=context)
        except Exception as error:
            results[f"init {given}"] = type(error).__name__
        else:
            results[f"init {given}"] = "accepted"
            rclpy.shutdown(context=context)
    values = ["1", "1.0", "1e3", "true", "True", "yes", "'1'", "text", "[1, 2]", "[1.0, 2]", "[a, b]", "[]", "", "0x10",
              "1_000", ".5", "-.inf", "nan", ".nan", "a b", "'", "{a: 1}", "~", "null", "off", "010", "1.", "+3",
              "[true, false]", "2020-01-01", "[1, a]", "1:30", "Infinity", "-inf", "on", "y",
              "0o7", "1e", "0x"]  # fmt: skip
    for value in values:
        context = rclpy.Context()
        try:
            rclpy.init(args=["--ros-args", "-p", f"v:={value}"], context=context)
        except Exception as error:
            results[f"value {value!r}"] = type(error).__name__
            continue
        node = rclpy.create_node("valued", context=context, automatically_declare_parameters_from_overrides=True)
        record(f"value {value!r}", lambda n=node: n._parameters["v"].value if n.has_parameter("v") else "not there")
        node.destroy_node()
        rclpy.shutdown(context=context)


def timers(node):
    def left(timer):
        value = timer.time_until_next_call()
        return None if value is None else round(value / 1e9)

    def state(timer):
        return timer.is_canceled(), timer.is_ready(), left(timer), round(timer.time_since_last_call() / 1e9)

    timer = node.create_timer(10.0, lambda: None)
    record("timer of ten seconds", lambda: state(timer))
    timer.cancel()
    record("canceled timer", lambda: state(timer))
    timer.timer_period_ns = 20 * 10**9
    record("period of a canceled timer", lambda: (timer.timer_period_ns, left(timer)))
    timer.reset()
    record("reset timer", lambda: state(timer))
    timer.timer_period_ns = 5 * 10**9
    record("the call that is due next stays where it was", lambda: (timer.timer_period_ns, left(timer)))
    node.destroy_timer(timer)
    record("destroyed timer", lambda: timer.time_until_next_call())
    record("destroyed timer canceled", lambda: timer.cancel())
    calls = []

    def once():
        calls.append("once")
        first.cancel()
        second.cancel()

    def never():
        calls.append("never")
        first.cancel()
        second.cancel()

    first, second = node.create_timer(0.001, once), node.create_timer(0.001, never)
    time.sleep(0.01)
    for _ in range(4):
        rclpy.spin_once(node, timeout_sec=0.05)
    record("a timer cancels itself and another that is due", lambda: (calls, first.is_canceled(), second.is_ready()))
    node.destroy_timer(first)
    node.destroy_timer(second)


def futures():
    future, calls = Future(), []
    future.add_done_callback(lambda f: calls.append(f.result()))
    record("future", lambda: (future.done(), future.cancelled(), future.result(), future.exception()))
    future.set_result(3)
    record("future done", lambda: (future.done(), future.cancelled(), future.result(), calls))
    future.add_done_callback(lambda f: calls.append("late"))
    record("late callback", lambda: calls)
    failed = Future()
    failed.set_exception(KeyError("x"))
    record("future failed", lambda: (failed.done(), failed.exception()))
    record("result of failed", lambda: failed.result())
    cancelled = Future()
    cancelled.cancel()
    record("future cancelled", lambda: (cancelled.done(), cancelled.cancelled(), cancelled.result()))


def running(node):
    executor, said = SingleThreadedExecutor(), []
    record("add node", lambda: (executor.add_node(node), executor.add_node(node), node.executor is executor))
    task = executor.create_task(lambda a, b=0: said.append(a + b), 1, b=2)
    executor.spin_once(timeout_sec=5)
    record("task", lambda: (said, task.done(), task.result(), task.executing()))

    async def compute():
        return 5

    coroutine = executor.create_task(compute)
    executor.spin_until_future_complete(coroutine, timeout_sec=5)
    record("coroutine", lambda: (coroutine.done(), coroutine.result()))

    def fail():
        raise ValueError("on purpose")

    executor.create_task(fail)
    record("task that fails", lambda: executor.spin_once(timeout_sec=5))
    guard = node.create_guard_condition(lambda: said.append("guard"))
    guard.trigger()
    while "guard" not in said:
        executor.spin_once(timeout_sec=5)
    record("guard", lambda: said)
    record("destroy guard", lambda: (node.destroy_guard_condition(guard), node.destroy_guard_condition(guard)))
    calls = []
    timer = node.create_timer(0.001, lambda: calls.append(0))
    while len(calls) < 3:
        executor.spin_once(timeout_sec=5)
    record("timer destroyed while spinning", lambda: node.destroy_timer(timer))
    record("cancel destroyed timer", lambda: timer.cancel())
    client = node.create_client(SetBool, "nobody")
    record("no server", lambda: (client.service_is_ready(), client.wait_for_service(timeout_sec=0.01)))
    record("raw bytes", lambda: node.create_publisher(String, "x", 1).publish(serialize_message(String(data="x"))))
    record("presets", lambda: node.create_publisher(String, "y", QoSPresetProfiles.SENSOR_DATA.value).topic_name)
    record("message of subclass", lambda: node.create_publisher(String, "x", 1).publish(type("S", (String,), {})()))
    record("executor's node", lambda: [n.get_name() for n in executor.get_nodes()])
    record("remove node", lambda: (executor.remove_node(node), executor.remove_node(node), executor.get_nodes()))
    record("shut executor down", lambda: (executor.shutdown(), executor.shutdown(timeout_sec=0.1)))


def after_the_end(node, publisher, subscription, client):
    record("publish after destruction", lambda: publisher.publish(String()))
    record("destroy twice", lambda: node.destroy_node())
    record("call after destruction", lambda: client.call_async(SetBool.Request()))
    record("topic after destruction", lambda: subscription.topic)


def life_cycle():
    record("init twice", lambda: rclpy.init(args=[]))
    record("ok", lambda: rclpy.ok())
    rclpy.shutdown()
    record("not ok", lambda: rclpy.ok())
    record("shutdown twice", lambda: rclpy.shutdown())
    record("try shutdown", lambda: rclpy.try_shutdown())
    record("node after shutdown", lambda: rclpy.create_node("late"))
    context = rclpy.Context()
    record("context before init", lambda: (context.ok(), context.get_domain_id()))
    record("negative domain", lambda: context.init([], domain_id=-1))


def main():
    messages()
    names()
    times()
    qos()
    parameter_objects()
    rclpy.init(args=[
        "--ros-args", "-r", "mapped:=target", "-r", "/ns/chain:=mapped", "-r", "other:only_other:=x",
        "-r", "~/mine:=yours", "-r", "node:only_here:=there", "-r", "rosservice://plain:=service_only",
        "-p", "given:=2.5", "-p", "wrong:=text",
        "-p", "ignored:=7", "-p", "node:ranged:=10", "-p", "free:gain:=9.0",
    ])  # fmt: skip
    node = rclpy.create_node("node", namespace="ns")
    parameters(node)
    node_names(node)
    other_nodes()
    arguments()
    timers(node)
    futures()
    running(node)
    last = node.create_publisher(String, "x", 1), node.create_subscription(String, "x", print, 1)
    client = node.create_client(SetBool, "x")
    node.destroy_node()
    after_the_end(node, *last, client)
    keeping = rclpy.create_node("keeping")
    publisher = keeping.create_publisher(String, "x", 1)
    life_cycle()
    record("publish after shutdown", lambda: publisher.publish(String()))
    record("destroy after shutdown", lambda: keeping.destroy_node())
    json.dump(results, sys.stdout, indent=1, sort_keys=True)


main()
