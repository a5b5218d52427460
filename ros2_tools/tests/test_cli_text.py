"""What the command `ros2` makes of messages and words, without a network."""

import io
import subprocess
import sys
from contextlib import redirect_stdout

import pytest

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry, Path
from rclpy.parameter import parameter_value_to_python
from ros2_tools.cli import main
from ros2_tools.cli.fill import fill
from ros2_tools.cli.launch import parsed_arguments
from ros2_tools.cli.param import value_message
from ros2_tools.cli.text import Printer
from ros2_tools.cli.topic_hz import Rate
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Header, UInt8MultiArray


def output(*words):
    """Return the exit value of `ros2 <words>` and what it prints."""
    out = io.StringIO()
    out.reconfigure = lambda **options: None
    with redirect_stdout(out):
        code = main([*words])
    return code, out.getvalue()


def test_yaml_of_a_message_keeps_its_order_and_spells_numbers_as_yaml():
    message = Twist()
    message.linear.x, message.angular.z = 1e-7, float("nan")
    assert Printer().yaml(message) == (
        "linear:\n  x: 1.0e-07\n  y: 0.0\n  z: 0.0\nangular:\n  x: 0.0\n  y: 0.0\n  z: .nan\n"
    )


@pytest.mark.parametrize(
    ("message", "field", "expected"),
    [
        (JointState(position=[1.0, 2.0]), "position", "<sequence type: double, length: 2>"),
        (JointState(name=["a"]), "name", "<sequence type: string, length: 1>"),
        (Path(), "poses", "<sequence type: geometry_msgs/msg/PoseStamped, length: 0>"),
        (Imu(), "orientation_covariance", "<array type: double[9]>"),
        (UInt8MultiArray(data=[1]), "data", "<sequence type: uint8, length: 1>"),
    ],
)
def test_no_arr_names_type_and_length(message, field, expected):
    lines = Printer(no_arr=True).yaml(message).splitlines()
    assert f"{field}: '{expected}'" in [line.strip() for line in lines]


def test_flow_style_puts_arrays_in_one_line():
    assert "position: [1.0, 2.0]\n" in Printer(flow_style=True).yaml(JointState(position=[1.0, 2.0]))


def test_csv_has_every_value_and_drops_leading_empty_ones():
    assert Printer().csv(JointState(header=Header(frame_id="f"), name=["a", "b"], position=[1.5])) == "0,0,f,a,b,1.5,,"
    assert Printer(truncate=2).csv(UInt8MultiArray(data=[1, 2, 3])) == "0,1,2,..."


def test_fill_makes_the_messages_of_a_list():
    message = Path()
    fill(message, {"poses": [{"pose": {"position": {"x": 2}}}, {}]})
    assert [pose.pose.position.x for pose in message.poses] == [2.0, 0.0]


def test_fill_leaves_auto_and_now_to_be_stamped_later():
    message = Odometry()
    stamps = fill(message, {"header": "auto", "child_frame_id": "now"}, stamped=True)
    now = type(message.header.stamp)(sec=7)
    for stamp in stamps:
        stamp(now)
    assert (message.header.stamp.sec, message.child_frame_id) == (7, "now")


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"linear": {"q": 1}}, AttributeError),
        ({"linear": 3}, TypeError),
        ({"linear": {"x": "abc"}}, ValueError),
        ("text", TypeError),
    ],
)
def test_fill_refuses_what_does_not_fit(values, error):
    with pytest.raises(error):
        fill(Twist(), values)


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("true", 1, True),
        ("5", 2, 5),
        ("5.0", 3, 5.0),
        ("abc", 4, "abc"),
        ("[]", 6, []),
        ("[true, false]", 6, [True, False]),
        ("[1, 2]", 7, [1, 2]),
        ("[1.0]", 8, [1.0]),
        ("[a, b]", 9, ["a", "b"]),
        ("[1, 2.0]", 4, "[1, 2.0]"),
        ("{a: 1}", 4, "{a: 1}"),
        ("[a: b", 4, "[a: b"),
        ("", 4, ""),
        ("a: b: c", 4, "a: b: c"),
        ("[[1]]", 4, "[[1]]"),
    ],
)
def test_a_word_becomes_the_parameter_value_it_looks_like(text, code, value):
    message = value_message(text)
    assert (message.type, parameter_value_to_python(message)) == (code, value)


def test_launch_arguments_are_split_and_the_last_wins():
    assert parsed_arguments(["a:=1", "c:=x:=y", "a:=2"]) == [("a", "2"), ("c", "x:=y")]
    for word in ("a", ":=1", "a:=", "a=1"):
        with pytest.raises(RuntimeError, match="malformed launch argument"):
            parsed_arguments([word])


def test_the_rate_is_printed_once_a_second_over_the_window():
    rate, lines = Rate(window=10), []
    for i in range(1, 40):
        rate.add(i * 100_000_000)
        lines.append(rate.line())
    printed = [line for line in lines if line]
    assert len(printed) == 3
    assert printed[-1] == "average rate: 10.000\n\tmin: 0.100s max: 0.100s std dev: 0.00000s window: 10"


def test_interface_show_prints_fields_and_what_is_in_them():
    assert output("interface", "show", "geometry_msgs/msg/PointStamped") == (
        None,
        (
            "std_msgs/Header header\n\tbuiltin_interfaces/Time stamp\n\t\tint32 sec\n\t\tuint32 nanosec\n"
            "\tstring frame_id\nPoint point\n\tfloat64 x\n\tfloat64 y\n\tfloat64 z\n"
        ),
    )
    assert output("interface", "show", "std_srvs/srv/SetBool") == (
        None,
        "bool data\n---\nbool success\nstring message\n",
    )


def test_a_command_loads_the_messages_that_it_uses_and_no_generator_of_code():
    code = (
        "import sys; from ros2_tools.cli import main; main(['interface', 'show', 'std_msgs/msg/String'])\n"
        "from sensor_msgs.msg import Imu; Imu.__class__.__import_type_support__(); import rclpy.serialization\n"
        "rclpy.serialization.serialize_message(Imu())\n"
        "print({'em', 'lark', 'sensor_msgs.msg._image'} & {*sys.modules}, hasattr(sys.modules['std_msgs.msg'], 'Nope'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "string data\nset() False\n", done.stderr


def test_interface_list_has_messages_services_and_actions():
    _, text = output("interface", "list")
    messages, services, actions = (text.index(title) for title in ("Messages:\n", "Services:\n", "Actions:\n"))
    assert messages == 0 < text.index("    nav_msgs/msg/Odometry\n") < services
    assert services < text.index("    std_srvs/srv/SetBool\n") < actions
    assert output("interface", "list", "-s")[1].startswith("Services:\n")


@pytest.mark.parametrize(
    "words",
    [
        ["nope"],
        ["topic", "nope"],
        ["topic", "echo"],
        ["topic", "pub", "-r", "0", "/x", "y"],
        ["topic", "echo", "/x", "--qos-profile", "nope"],
    ],
)
def test_a_word_that_is_none_of_the_choices_is_refused(words, capsys):
    with pytest.raises(SystemExit) as refused:
        main(words)
    assert refused.value.code == 2
    assert "usage: ros2" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["topic"], ["param"]])
def test_a_command_without_a_verb_prints_its_help(words):
    code, text = output(*words)
    assert not code
    assert text.startswith(" ".join(["usage: ros2", *words])) and "Commands:" in text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["topic", "bw", "/x"],
            "ros2 topic bw: ros2_tools does not cover bandwidth, delay and search of topics; source",
        ),
        (["param", "load", "/n", "f"], "ros2 param load: ros2_tools does not cover deleting and loading parameters"),
        (["daemon", "stop"], "ros2 daemon: ros2_tools does not cover a daemon"),
        (["action", "info", "/walk"], "ros2 action info: ros2_tools does not cover more of actions than their list"),
        (["interface", "show", "std_msgs/String"], "Invalid name 'std_msgs/String'. Expected three parts separated by"),
        (["interface", "show", "nope/msg/Nope"], "Unknown package 'nope'"),
        (["interface", "show", "std_msgs/msg/Nope"], "Could not find the interface 'std_msgs/msg/Nope'; std_msgs has"),
    ],
)
def test_what_is_not_there_is_named(words, reason):
    assert main(words).startswith(reason)


def test_run_without_an_executable_lists_those_of_the_package(capsys):
    with pytest.raises(SystemExit):
        main(["run", "hexapod_dynamics"])
    assert "{check_robot,companions,compile," in capsys.readouterr().err
    assert main(["run", "nobody", "x"]) == "Package 'nobody' not found"
