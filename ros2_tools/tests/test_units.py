"""Parts of launch, launch_ros and the command `ros2` that need no process."""

import subprocess
import sys
import threading

import launch
import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.conditions import IfCondition, UnlessCondition
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, FindExecutable, LaunchConfiguration, SubstitutionFailure, ThisLaunchFileDir
from launch.utilities import coerce_to_type, perform_substitutions
from launch_ros.parameter_descriptions import evaluate_parameters_dict
from processes import FILES

from rclpy.parameter import parameter_value_to_python
from ros2_tools.cli.param import value_message
from ros2_tools.cli.topic import Rate
from ros2_tools.errors import NotCovered


@pytest.fixture(autouse=True)
def own_log_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    launch.logging.reset()
    yield
    launch.logging.reset()


@pytest.mark.parametrize(("text", "truth"), [("true", True), (" True ", True), ("FALSE", False), ("0", False)])
def test_condition_texts(text, truth):
    assert IfCondition(text).evaluate(LaunchContext()) is truth
    assert UnlessCondition(text).evaluate(LaunchContext()) is not truth


def test_command_gives_its_stdout():
    context = LaunchContext()
    context.launch_configurations["a"] = "b"
    assert perform_substitutions(context, Command(["echo ", LaunchConfiguration("a")])) == "b\n"
    ignoring = Command("sh -c 'echo err >&2; echo out'", on_stderr="ignore")
    assert perform_substitutions(context, ignoring) == "out\n"


@pytest.mark.parametrize(
    ("substitution", "reason"),
    [
        (Command("sh -c 'echo err >&2'"), "stderr output"),
        (Command("false"), "executed command failed"),
        (Command("no_such_program_anywhere"), "file not found"),
        (LaunchConfiguration("a"), "configuration 'a' does not exist"),
        (FindExecutable(name="no_such_program_anywhere"), "not found on the PATH"),
        (ThisLaunchFileDir(), "outside of a launch file"),
    ],
)
def test_substitutions_without_a_text_say_why(substitution, reason):
    with pytest.raises(SubstitutionFailure, match=reason):
        perform_substitutions(LaunchContext(), substitution)


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        ("3.0", None, 3.0),
        ("[1, 2]", None, [1, 2]),
        ("3", str, "3"),
        ("3", float, 3.0),
        ("on", bool, True),
        ("[a, b]", list[str], ["a", "b"]),
        ("", None, ""),
        *((*refused, ValueError) for refused in (("a", int), ("1", bool), ("[1, a]", None), ("{a: 1}", None))),
        *((*refused, ValueError) for refused in (("[1, 2]", list[str]), ("[", None))),
    ],
)
def test_texts_become_values_or_are_refused(text, data_type, value):
    if value is ValueError:
        with pytest.raises(ValueError):
            coerce_to_type(text, data_type)
    else:
        result = coerce_to_type(text, data_type)
        assert result == value
        assert type(result) is type(value)


@pytest.mark.parametrize("value", [[], [1, "a"], [True, 1], None, {1, 2}, [[1]]])
def test_parameter_values_of_no_parameter_type_are_refused(value):
    with pytest.raises(TypeError):
        evaluate_parameters_dict(LaunchContext(), {"name": value})


def test_arguments_are_found_before_the_launch_runs():
    description = LaunchDescription(
        [
            DeclareLaunchArgument("a", default_value="1", description="the a", choices=["1", "2"]),
            DeclareLaunchArgument("a", default_value="2"),
            GroupAction([DeclareLaunchArgument("b")], condition=IfCondition("true")),
            IncludeLaunchDescription(PythonLaunchDescriptionSource(str(FILES / "included.launch.py"))),
            TimerAction(period=1.0, actions=[DeclareLaunchArgument("late")]),
            GroupAction([DeclareLaunchArgument("hidden")], forwarding=False),
        ]
    )
    arguments = {argument.name: argument for argument in description.get_launch_arguments()}
    assert list(arguments) == ["a", "b", "needed", "optional", "late"]
    assert arguments["a"].description == "the a. Valid choices are: ['1', '2']"
    assert [name for name, argument in arguments.items() if argument.is_conditional] == ["b", "late"]


@pytest.mark.parametrize(
    ("declare", "error", "reason"),
    [
        (lambda: DeclareLaunchArgument("a", default_value="3", choices=["1"]), RuntimeError, "not in provided choices"),
        (lambda: DeclareLaunchArgument("a", choices=[]), RuntimeError, "empty list of choices"),
        (lambda: LaunchDescription(["text"]), TypeError, "holds actions"),
        (lambda: OnProcessExit(target_action="gait", on_exit=[]), TypeError, "instance or a callable"),
        (lambda: launch.logging.get_output_loggers("a", "x"), ValueError, "not a valid standard output config"),
        *(
            (lambda line=line: exec(f"from {line}", {}), NotCovered, "does not cover")
            for line in (
                "launch.actions import PushEnvironment",
                "launch.event_handlers import OnExecutionComplete",
                "launch_ros.actions import LifecycleNode",
                "launch_ros.descriptions import ComposableNode",
                "tf2_ros import TransformException",
            )
        ),
    ],
)
def test_what_cannot_be_is_refused(declare, error, reason):
    with pytest.raises(error, match=reason):
        declare()


def test_service_is_shut_down_from_another_thread():
    service = LaunchService(noninteractive=True)
    seen = []
    entities = [
        RegisterEventHandler(OnShutdown(on_shutdown=lambda event, context: seen.append(event.reason))),
        TimerAction(period=60.0, actions=[]),
        OpaqueFunction(function=lambda context: threading.Timer(0.1, service.shutdown).start()),
    ]
    service.include_launch_description(LaunchDescription(entities))
    assert service.run() == 0
    assert seen == ["LaunchService.shutdown() called"]


VALUES = {
    **{"true": (1, True), "5": (2, 5), "5.0": (3, 5.0), "abc": (4, "abc"), "[]": (6, []), "[1, 2]": (7, [1, 2])},
    **{"[true, false]": (6, [True, False]), "[1.0]": (8, [1.0]), "[a, b]": (9, ["a", "b"])},
    **{text: (4, text) for text in ("[1, 2.0]", "{a: 1}", "[a: b", "", "a: b: c", "[[1]]")},
}


@pytest.mark.parametrize("text", VALUES)
def test_a_word_becomes_the_parameter_value_it_looks_like(text):
    message = value_message(text)
    assert (message.type, parameter_value_to_python(message)) == VALUES[text]


def test_the_rate_is_printed_once_a_second_over_the_window():
    rate, lines = Rate(window=10), []
    for i in range(1, 40):
        rate.add(i * 100_000_000)
        lines.append(rate.line())
    printed = [line for line in lines if line]
    assert len(printed) == 3
    assert printed[-1] == "average rate: 10.000\n\tmin: 0.100s max: 0.100s std dev: 0.00000s window: 10"


def test_a_command_loads_the_messages_that_it_uses_and_no_generator_of_code():
    code = (
        "import sys; from ros2_tools.cli import main; main(['interface', 'show', 'std_msgs/msg/String'])\n"
        "from sensor_msgs.msg import Imu; Imu.__class__.__import_type_support__(); import rclpy.serialization\n"
        "rclpy.serialization.serialize_message(Imu())\n"
        "print({'em', 'lark', 'sensor_msgs.msg._image'} & {*sys.modules}, hasattr(sys.modules['std_msgs.msg'], 'Nope'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "string data\nset() False\n", done.stderr
