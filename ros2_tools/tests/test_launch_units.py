"""Parts of launch and launch_ros that need no process."""

import threading
import time

import launch
import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.conditions import IfCondition, UnlessCondition
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.launch_description_sources import (
    AnyLaunchDescriptionSource,
    PythonLaunchDescriptionSource,
)
from launch.substitutions import (
    Command,
    FindExecutable,
    LaunchConfiguration,
    SubstitutionFailure,
    TextSubstitution,
    ThisLaunchFileDir,
)
from launch.utilities import coerce_to_type, normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.parameter_descriptions import evaluate_parameters_dict, normalize_parameters_dict
from launch_transcript import FILES

from ros2_tools.cli import main
from ros2_tools.errors import NotCoveredImport


@pytest.fixture(autouse=True)
def own_log_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    launch.logging.reset()
    yield
    launch.logging.reset()


def performed(substitution, **configurations):
    context = LaunchContext()
    context.launch_configurations.update(configurations)
    return perform_substitutions(context, normalize_to_list_of_substitutions(substitution))


def run(*entities):
    service = LaunchService(noninteractive=True)
    service.include_launch_description(LaunchDescription(list(entities)))
    return service.run()


@pytest.mark.parametrize(("text", "truth"), [("true", True), (" True ", True), ("FALSE", False), ("0", False)])
def test_condition_texts(text, truth):
    assert IfCondition(text).evaluate(LaunchContext()) is truth
    assert UnlessCondition(text).evaluate(LaunchContext()) is not truth


def test_command_gives_its_stdout_and_fails_loudly():
    assert performed(Command(["echo ", LaunchConfiguration("a")]), a="b") == "b\n"
    assert performed(Command("sh -c 'echo err >&2; echo out'", on_stderr="ignore")) == "out\n"
    for command, reason in (
        ("sh -c 'echo err >&2'", "stderr output"),
        ("false", "executed command failed"),
        ("no_such_program_anywhere", "file not found"),
    ):
        with pytest.raises(SubstitutionFailure, match=reason):
            performed(Command(command))


def test_substitutions_without_a_value_say_so():
    for substitution, reason in (
        (LaunchConfiguration("a"), "configuration 'a' does not exist"),
        (FindExecutable(name="no_such_program_anywhere"), "not found on the PATH"),
        (ThisLaunchFileDir(), "outside of a launch file"),
    ):
        with pytest.raises(SubstitutionFailure, match=reason):
            performed(substitution)


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
    ],
)
def test_texts_become_values(text, data_type, value):
    result = coerce_to_type(text, data_type)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("text", "data_type"),
    [("a", int), ("1", bool), ("[1, a]", None), ("{a: 1}", None), ("[1, 2]", list[str]), ("[", None)],
)
def test_texts_that_are_no_such_value_are_refused(text, data_type):
    with pytest.raises(ValueError):
        coerce_to_type(text, data_type)


@pytest.mark.parametrize("value", [[], [1, "a"], [True, 1], None, {1, 2}, [[1]]])
def test_parameter_values_of_no_parameter_type_are_refused(value):
    with pytest.raises(TypeError):
        evaluate_parameters_dict(LaunchContext(), normalize_parameters_dict({"name": value}))


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


def test_a_description_and_its_arguments_are_printed_without_a_launch(capsys):
    path = str(FILES / "included.launch.py")
    assert main(["launch", "--print", path]) is None and main(["launch", "--show-args", path]) is None
    shown = capsys.readouterr().out
    assert "    DeclareLaunchArgument('needed')\n" in shown
    assert "LogInfo('included with ' + LaunchConfig('needed') + ' ' + LaunchConfig('optional'))" in shown
    assert "    'optional':\n        no description given\n        (default: 'default')" in shown


def test_refused_declarations():
    with pytest.raises(RuntimeError, match="not in provided choices"):
        DeclareLaunchArgument("a", default_value="3", choices=["1", "2"])
    with pytest.raises(RuntimeError, match="empty list of choices"):
        DeclareLaunchArgument("a", choices=[])
    with pytest.raises(TypeError, match="holds actions"):
        LaunchDescription(["text"])
    with pytest.raises(TypeError, match="instance or a callable"):
        OnProcessExit(target_action="gait", on_exit=[])
    with pytest.raises(ValueError, match="not a valid standard output config"):
        launch.logging.get_output_loggers("a", "screens")


@pytest.mark.parametrize("as_list", [False, True])
def test_a_launch_file_is_included_by_its_path_or_by_a_list_of_substitutions(as_list, capfd):
    path = str(FILES / "included.launch.py")
    location = [TextSubstitution(text=str(FILES)), "/", LaunchConfiguration("file")] if as_list else path
    include = IncludeLaunchDescription(location, launch_arguments={"needed": "this"}.items())
    assert isinstance(include.launch_description_source, AnyLaunchDescriptionSource)
    assert run(DeclareLaunchArgument("file", default_value="included.launch.py"), include) == 0
    assert "included with this default" in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    "line",
    [
        "from launch.actions import PushEnvironment",
        "from launch.event_handlers import OnExecutionComplete",
        "from launch_ros.actions import LifecycleNode",
        "from launch_ros.descriptions import ComposableNode",
        "from tf2_ros import TransformException",
    ],
)
def test_an_import_of_what_is_not_covered_says_so(line):
    with pytest.raises(NotCoveredImport, match="does not cover"):
        exec(line, {})


def test_error_in_a_function_ends_the_launch_and_its_processes(capsys):
    def broken(context):
        raise ValueError("out of legs")

    began = time.monotonic()
    assert run(ExecuteProcess(cmd=["sleep", "60"]), OpaqueFunction(function=broken)) == 1
    assert time.monotonic() - began < 5.0
    assert "Caught exception in launch (see debug for traceback): out of legs" in capsys.readouterr().out


def test_bytes_that_are_no_text_are_shown_as_such(capsys):
    assert run(ExecuteProcess(cmd=["printf", r"a\377b\n\303"], output="screen", name="odd")) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[odd-")]
    assert [line.split("] ")[1] for line in said] == ["a\N{REPLACEMENT CHARACTER}b", "\N{REPLACEMENT CHARACTER}"]


def test_error_in_an_event_handler_ends_the_launch(capsys):
    def broken(event, context):
        raise ValueError("out of legs")

    assert run(TimerAction(period=60.0, actions=[]), ExecuteProcess(cmd=["true"], on_exit=broken)) == 1
    assert "out of legs" in capsys.readouterr().out


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


def test_cancelled_timer_does_not_fire():
    seen = []
    timer = TimerAction(period=0.05, actions=[OpaqueFunction(function=lambda context: seen.append("timer"))])
    later = TimerAction(period=0.2, actions=[OpaqueFunction(function=lambda context: seen.append("later"))])
    assert run(timer, OpaqueFunction(function=lambda context: timer.cancel()), later) == 0
    assert seen == ["later"]
