"""Parts of launch and launch_ros that need no process."""

import importlib
import logging
import threading
import time

import launch
import launch_ros
import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
    UnregisterEventHandler,
)
from launch.conditions import IfCondition, InvalidConditionExpressionError, UnlessCondition
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.launch_description_sources import (
    AnyLaunchDescriptionSource,
    InvalidLaunchFileError,
    PythonLaunchDescriptionSource,
)
from launch.substitutions import (
    AndSubstitution,
    AnonName,
    Command,
    FindExecutable,
    LaunchConfiguration,
    LocalSubstitution,
    NotSubstitution,
    OrSubstitution,
    SubstitutionFailure,
    TextSubstitution,
    ThisLaunchFileDir,
)
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch.utilities.type_utils import coerce_to_type
from launch_ros.utilities import evaluate_parameters_dict, normalize_parameters_dict, prefix_namespace
from launch_transcript import FILES

from pocket_ros2.deep_modules import HUMBLE
from pocket_ros2.errors import NotCoveredImport


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


@pytest.mark.parametrize(
    ("text", "truth"), [("true", True), ("1", True), (" True ", True), ("FALSE", False), ("0", False)]
)
def test_condition_texts(text, truth):
    assert IfCondition(text).evaluate(LaunchContext()) is truth
    assert UnlessCondition(text).evaluate(LaunchContext()) is not truth


@pytest.mark.parametrize("text", ["", "yes", "2", "none"])
def test_other_condition_texts_are_refused(text):
    with pytest.raises(InvalidConditionExpressionError, match="expected one of"):
        IfCondition(text).evaluate(LaunchContext())


def test_boolean_substitutions():
    assert performed(NotSubstitution("true")) == "false"
    assert performed(AndSubstitution(LaunchConfiguration("a"), "true"), a="true") == "true"
    assert performed(OrSubstitution("false", "false")) == "false"
    with pytest.raises(SubstitutionFailure):
        performed(NotSubstitution("perhaps"))


def test_command_gives_its_stdout_and_fails_loudly():
    assert performed(Command(["echo ", LaunchConfiguration("a")]), a="b") == "b\n"
    assert performed(Command("sh -c 'echo err >&2; echo out'", on_stderr="ignore")) == "out\n"
    with pytest.raises(SubstitutionFailure, match="stderr output"):
        performed(Command("sh -c 'echo err >&2'"))
    with pytest.raises(SubstitutionFailure, match="executed command failed"):
        performed(Command("false"))
    with pytest.raises(SubstitutionFailure, match="file not found"):
        performed(Command("no_such_program_anywhere"))


def test_substitutions_without_a_value_say_so():
    for substitution, reason in (
        (LaunchConfiguration("a"), "configuration 'a' does not exist"),
        (FindExecutable(name="no_such_program_anywhere"), "not found on the PATH"),
        (ThisLaunchFileDir(), "outside of a launch file"),
    ):
        with pytest.raises(SubstitutionFailure, match=reason):
            performed(substitution)
    with pytest.raises(AttributeError, match="does not contain"):
        performed(LocalSubstitution("event"))


def test_anonymous_name_is_the_same_within_a_launch():
    context = LaunchContext()
    assert AnonName("a").perform(context) == AnonName("a").perform(context) != AnonName("b").perform(context)


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        ("3", None, 3),
        ("3.0", None, 3.0),
        ("a", None, "a"),
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


@pytest.mark.parametrize(
    ("base", "name", "combined"),
    [
        (None, None, None),
        ("a", None, "a"),
        (None, "b/", "b"),
        ("/a", "b", "/a/b"),
        ("/a", "/b", "/b"),
        ("/", "b", "/b"),
    ],
)
def test_namespaces_combine(base, name, combined):
    assert prefix_namespace(base, name) == combined


def test_arguments_are_found_before_the_launch_runs():
    description = LaunchDescription(
        [
            DeclareLaunchArgument("a", default_value="1", description="the a", choices=["1", "2"]),
            DeclareLaunchArgument("a", default_value="2"),
            GroupAction([DeclareLaunchArgument("b")], condition=IfCondition("true")),
            IncludeLaunchDescription(PythonLaunchDescriptionSource(str(FILES / "included.launch.py"))),
            TimerAction(period=1.0, actions=[DeclareLaunchArgument("late")]),
        ]
    )
    arguments = {argument.name: argument for argument in description.get_launch_arguments()}
    assert list(arguments) == ["a", "b", "needed", "optional", "late"]
    assert arguments["a"].description == "the a. Valid choices are: ['1', '2']"
    assert [name for name, argument in arguments.items() if argument._conditionally_included] == ["b", "late"]


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


def test_a_launch_file_that_is_not_there_is_named():
    with pytest.raises(InvalidLaunchFileError, match="nowhere"):
        IncludeLaunchDescription("/nowhere.launch.py").execute(LaunchContext())


@pytest.mark.parametrize(
    ("module", "name", "package"),
    [
        ("launch.actions.declare_launch_argument", "DeclareLaunchArgument", "launch.actions"),
        ("launch.substitutions.launch_configuration", "LaunchConfiguration", "launch.substitutions"),
        ("launch.event_handlers.on_process_exit", "OnProcessExit", "launch.event_handlers"),
        ("launch.events.process.process_exited", "ProcessExited", "launch.events.process"),
        (
            "launch.launch_description_sources.python_launch_description_source",
            "PythonLaunchDescriptionSource",
            "launch.launch_description_sources",
        ),
        ("launch_ros.actions.push_ros_namespace", "PushRosNamespace", "launch_ros.actions"),
        ("launch_ros.substitutions.find_package", "FindPackageShare", "launch_ros.substitutions"),
    ],
)
def test_a_class_is_the_same_by_its_deep_path(module, name, package):
    assert getattr(importlib.import_module(module), name) is getattr(importlib.import_module(package), name)


DEEP = [(f"{package}.{name}", names) for package, modules in HUMBLE.items() for name, names in modules.items()]


@pytest.mark.parametrize(("module", "names"), DEEP, ids=[module for module, _ in DEEP])
def test_each_module_of_humble_is_there_or_says_that_it_is_not_covered(module, names):
    try:
        made = importlib.import_module(module)
    except NotCoveredImport as refusal:
        assert f"{module}.".startswith(f"{refusal.name}.") and refusal.name in str(refusal)
        return
    found = [name for name in names.split() if name in vars(made)]
    assert found
    for name in set(names.split()) - set(found):
        with pytest.raises(NotCoveredImport, match=name):
            getattr(made, name)
    with pytest.raises(AttributeError, match="nothing_of_the_sort"):
        made.nothing_of_the_sort  # noqa: B018


@pytest.mark.parametrize(
    "line",
    [
        "from launch_ros.event_handlers import OnStateTransition",
        "from launch_ros.events.lifecycle import ChangeState",
        "from launch.frontend import Parser",
        "from tf2_ros import TransformException",
        "from tf2_ros import LookupException, ConnectivityException, ExtrapolationException",
    ],
)
def test_an_import_of_what_is_not_covered_says_so(line):
    with pytest.raises(NotCoveredImport, match="does not cover"):
        exec(line, {})


def test_a_misspelled_module_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("launch.actions.declare_launch_arguments")


def test_what_is_not_covered_says_so():
    with pytest.raises(NotCoveredImport, match=r"launch_ros\.actions\.LifecycleNode"):
        from launch_ros.actions import LifecycleNode  # noqa: F401
    with pytest.raises(NotCoveredImport):
        launch.frontend  # noqa: B018
    with pytest.raises(AttributeError):
        launch_ros.actions.Nodes  # noqa: B018
    with pytest.raises(InvalidLaunchFileError, match="does not cover launch files in XML"):
        AnyLaunchDescriptionSource(str(FILES / "xml.launch.xml")).get_launch_description(LaunchContext())


def test_description_is_shown_as_a_tree():
    process = ExecuteProcess(cmd=["echo", LaunchConfiguration("a")], cwd="/tmp", env={"b": "c"}, shell=True)
    shown = (
        launch.LaunchIntrospector()
        .format_launch_description(
            LaunchDescription(
                [
                    RegisterEventHandler(
                        OnProcessExit(target_action=process, on_exit=[LogInfo(msg=["gone ", "away"])])
                    ),
                    process,
                    Shutdown(),
                ]
            )
        )
        .splitlines()[1:]
    )
    assert shown[0].startswith("├── RegisterEventHandler('<launch.event_handlers.OnProcessExit object")
    assert shown[1:] == [
        "│   └── OnProcessExit(matcher='event == ProcessExited and ExecuteLocal(event.action)', handler='<actions>', "
        "handle_once=False)",
        "│       └── LogInfo('gone ' + 'away')",
        "├── ExecuteProcess(cmd=['echo', LaunchConfig('a')], cwd=''/tmp'', env={'b': 'c'}, shell=True)",
        "└── EmitEvent(event='launch.events.Shutdown')",
    ]


def test_launch_with_nothing_to_wait_for_ends():
    assert run() == 0
    assert run(LogInfo(msg="hello")) == 0


def test_error_in_a_function_ends_the_launch_and_its_processes(capsys):
    def broken(context):
        raise ValueError("out of legs")

    began = time.monotonic()
    assert run(ExecuteProcess(cmd=["sleep", "60"]), OpaqueFunction(function=broken)) == 1
    assert time.monotonic() - began < 5.0
    assert "Caught exception in launch (see debug for traceback): out of legs" in capsys.readouterr().out


def test_error_in_an_event_handler_ends_the_launch(capsys):
    def broken(event, context):
        raise ValueError("out of legs")

    assert run(TimerAction(period=60.0, actions=[]), ExecuteProcess(cmd=["true"], on_exit=broken)) == 1
    assert "out of legs" in capsys.readouterr().out


def test_service_is_shut_down_from_another_thread():
    service = LaunchService(noninteractive=True)
    seen = []
    service.include_launch_description(
        LaunchDescription(
            [
                RegisterEventHandler(OnShutdown(on_shutdown=lambda event, context: seen.append(event.reason))),
                TimerAction(period=60.0, actions=[]),
                OpaqueFunction(function=lambda context: threading.Timer(0.1, service.shutdown).start()),
            ]
        )
    )
    assert service.run() == 0
    assert seen == ["LaunchService.shutdown() called"]


def test_service_runs_again_and_in_the_main_thread_only():
    service = LaunchService(noninteractive=True)
    assert service.run() == 0
    service.include_launch_description(LaunchDescription([LogInfo(msg="again")]))
    assert service.run() == 0
    raised = []

    def elsewhere():
        try:
            service.run()
        except RuntimeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert raised == ["LaunchService can only be run in the main thread."]


def test_unregistered_handler_is_not_called():
    seen = []
    handler = OnShutdown(on_shutdown=lambda event, context: seen.append(event))
    assert run(RegisterEventHandler(handler), UnregisterEventHandler(handler)) == 0
    assert seen == []


def test_cancelled_timer_does_not_fire():
    seen = []
    timer = TimerAction(period=0.05, actions=[OpaqueFunction(function=lambda context: seen.append("timer"))])
    assert (
        run(
            timer,
            OpaqueFunction(function=lambda context: timer.cancel()),
            TimerAction(period=0.2, actions=[OpaqueFunction(function=lambda context: seen.append("later"))]),
        )
        == 0
    )
    assert seen == ["later"]


def test_action_is_executed_once():
    twice = ExecuteProcess(cmd=["true"])
    assert run(twice, twice) == 1


def test_output_is_kept_for_those_who_ask():
    process = ExecuteProcess(cmd=["sh", "-c", "printf out; printf err >&2; exit 4"], cached_output=True)
    assert run(process) == 0
    assert (process.get_stdout(), process.get_stderr(), process.return_code) == ("out", "err", 4)


def test_bytes_that_are_no_text_are_shown_as_such(capsys):
    assert run(ExecuteProcess(cmd=["printf", r"a\377b\n\303"], output="screen", name="odd")) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[odd-")]
    assert [line.split("] ")[1] for line in said] == ["a\N{REPLACEMENT CHARACTER}b", "\N{REPLACEMENT CHARACTER}"]


def test_no_log_folder_before_the_first_line(tmp_path):
    launch.logging.reset()
    LaunchDescription([LogInfo(msg=TextSubstitution(text="a"))]).get_launch_arguments()
    assert not (tmp_path / "log").exists()
    launch.logging.get_logger("launch").info("a")
    assert len(list((tmp_path / "log").iterdir())) == 1


def test_debug_writes_debug_lines(capsys):
    service = LaunchService(debug=True)
    assert service.run() == 0
    assert launch.logging.launch_config.level == logging.DEBUG
    assert "[DEBUG] [launch]: processing event: 'launch.events.Shutdown'" in capsys.readouterr().out
