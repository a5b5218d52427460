"""Descriptions, of which the argument `case` names one."""

import os
import sys

from launch import LaunchDescription
from launch import actions as do
from launch import event_handlers as on
from launch import substitutions as sub
from launch.conditions import IfCondition, LaunchConfigurationEquals, LaunchConfigurationNotEquals, UnlessCondition
from launch.events import Shutdown as ShutdownEvent
from launch.launch_description_sources import AnyLaunchDescriptionSource, PythonLaunchDescriptionSource
from launch_ros.actions import Node, PushRosNamespace, SetParameter, SetRemap
from launch_ros.descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import ExecutableInPackage, FindPackagePrefix, FindPackageShare

DEAF = 'import signal, time; [signal.signal(s, signal.SIG_IGN) for s in {}]; print("up", flush=True); time.sleep(60)'
STOPPED = """
import os, signal, sys, time
def stop(number, frame):
    os.write(1, f'stopped by {signal.Signals(number).name}\\n'.encode())
    sys.exit(0)
signal.signal(signal.SIGINT, stop)
signal.signal(signal.SIGTERM, stop)
os.write(1, b'up\\n')
time.sleep(60)
"""


def process(*cmd, output="screen", **kwargs):
    return do.ExecuteProcess(cmd=[*cmd], output=output, **kwargs)


def shell(script, *words, **kwargs):
    return process(sub.FindExecutable(name="sh"), "-c", script, *words, **kwargs)


def python(code, **kwargs):
    return process(sys.executable, "-c", code, **kwargs)


def sequence():
    first = shell("echo one; echo two >&2; printf three")
    second = python('import sys; print("known by its code"); sys.exit(3)', name="second", output="both")
    third = process("echo", "$GREETING", "you", shell=True, additional_env={"GREETING": "hello"})
    silent = shell("echo only in the log; echo on the screen >&2", output="log")
    terminal = shell("test -t 1 && echo a terminal", emulate_tty=True)
    exits = {
        first: [log("first has ended"), second],
        second: lambda event, context: [log(f"second has ended with {event.returncode}"), third],
        third: [silent],
        silent: [terminal],
        terminal: [do.EmitEvent(event=ShutdownEvent(reason="all is told"))],
    }

    handlers = [
        on.OnProcessStart(target_action=first, on_start=[log("first has started")]),
        on.OnProcessIO(target_action=second, on_stdout=lambda event: log("second said ", event.text.decode().strip())),
        *(on.OnProcessExit(target_action=one, on_exit=then) for one, then in exits.items()),
        on.OnShutdown(on_shutdown=lambda event, context: [log(f"the end: {event.reason}")]),
    ]
    return [
        *(do.RegisterEventHandler(handler) for handler in handlers),
        process("sleep", "60"),
        first,
    ]


def required():
    return [
        process("sleep", "60", name="other"),
        shell("sleep 0.5; exit 2", name="required", on_exit=do.Shutdown(reason="it is gone")),
    ]


def respawn():
    count = os.path.join(os.environ["SCRATCH"], "count")
    again = shell('echo again >> "$0"; wc -l < "$0"', count, name="again", respawn=True, respawn_delay=0.2)

    def third(event, context):
        with open(count) as file:
            return do.EmitEvent(event=ShutdownEvent(reason="thrice")) if len(file.readlines()) == 3 else None

    return [
        do.RegisterEventHandler(on.OnProcessExit(target_action=again, on_exit=third)),
        do.TimerAction(period=0.3, actions=[process("echo", sub.EnvironmentVariable("SCRATCH"), output="log")]),
        do.TimerAction(period=60.0, actions=[process("echo", "never")]),
        again,
    ]


def stubborn():
    up = []

    def count(event):
        if event.text.startswith(b"up"):
            up.append(event)
        return do.EmitEvent(event=ShutdownEvent(reason="up")) if len(up) == 2 else None

    soon = {"sigterm_timeout": "0.5", "sigkill_timeout": "0.5"}
    return [
        do.RegisterEventHandler(on.OnProcessIO(on_stdout=count)),
        python(DEAF.format("[signal.SIGINT]"), name="deaf_to_sigint", **soon),
        python(DEAF.format("[signal.SIGINT, signal.SIGTERM]"), name="deaf", **soon),
        do.LogInfo(msg="waiting"),
    ]


def outputs():
    kinds = ("screen", "log", "both", "own_log", "full")
    return [shell("echo out; echo err >&2", name=kind, output=kind) for kind in kinds]


def sleepers():
    return [
        python(STOPPED, name="first"),
        python(STOPPED, name="second", respawn=True),
        shell("exit 0", name="third", respawn=True, respawn_delay=60.0),
        do.TimerAction(period=sub.LaunchConfiguration("period", default="60"), actions=[]),
    ]


def bad_condition():
    return [process("sleep", "60"), do.LogInfo(msg="never", condition=IfCondition("perhaps"))]


def broken(*event_and_context):
    raise ValueError("out of legs")


def bad_function():
    return [process("sleep", "60"), do.OpaqueFunction(function=broken)]


def bad_event_handler():
    return [do.TimerAction(period=60.0, actions=[]), process("true", on_exit=broken)]


def no_text():
    return [process("printf", r"a\377b\n\303", name="odd")]


def cancelled():
    timer = do.TimerAction(period=0.05, actions=[log("never")])
    cancel = do.OpaqueFunction(function=lambda context: timer.cancel())
    return [timer, cancel, do.TimerAction(period=0.2, actions=[log("later")])]


def bad_program():
    return [process("no_such_program_anywhere"), do.LogInfo(msg="on")]


def value(name):
    return sub.LaunchConfiguration(name, default="unset")


def log(*msg, **kwargs):
    return do.LogInfo(msg=[*msg], **kwargs)


def teller(**kwargs):
    return Node(package="demo", executable="teller", output="screen", **kwargs)


def arguments():
    fast = sub.PythonExpression(["2 * ", sub.LaunchConfiguration("speed"), " > 1"])
    return [
        do.DeclareLaunchArgument("speed", default_value="0.5", description="how fast"),
        do.DeclareLaunchArgument("mode", default_value="slow", choices=["slow", "fast"], description="how"),
        do.DeclareLaunchArgument("bare", default_value=["a", sub.EnvironmentVariable("NOT_SET", default_value="b")]),
        log(
            "speed ", sub.LaunchConfiguration("speed"), sub.TextSubstitution(text=", "), sub.LaunchConfiguration("bare")
        ),
        log("slow", condition=LaunchConfigurationEquals("mode", "slow")),
        log("not slow", condition=LaunchConfigurationNotEquals("mode", "slow")),
        log("not set", condition=LaunchConfigurationEquals("nowhere", None)),
        log("twice is more than 1", condition=IfCondition(fast)),
        log("twice is at most 1", condition=UnlessCondition(fast)),
        log(sub.PathJoinSubstitution(["/a", sub.LaunchConfiguration("mode"), "c.yaml"])),
        log(sub.PythonExpression(["floor(", sub.LaunchConfiguration("speed"), " * 10) + sqrt(4)"])),
        do.SetLaunchConfiguration("speed", "2"),
        do.OpaqueFunction(function=lambda context, word: [log(word, sub.LaunchConfiguration("speed"))], args=["now "]),
    ]


def scopes():
    included = [sub.ThisLaunchFileDir(), "/included.launch.py"]
    given = {"needed": "given", "optional": value("a")}
    path = os.path.join(os.path.dirname(__file__), "included.launch.py")
    again = [
        do.IncludeLaunchDescription(source, launch_arguments=[("needed", "again")])
        for source in (AnyLaunchDescriptionSource(included), included, path)
    ]
    return [
        do.DeclareLaunchArgument("a", default_value="1"),
        do.GroupAction(
            [
                do.SetLaunchConfiguration("a", "2"),
                log("in: ", value("a")),
                do.SetEnvironmentVariable("COLOUR", "red"),
                do.ExecuteProcess(cmd=["sh", "-c", "echo $COLOUR"], name="in", output="screen"),
            ]
        ),
        log("out: ", value("a"), " ", sub.EnvironmentVariable("COLOUR", default_value="no colour")),
        do.GroupAction([do.SetLaunchConfiguration("a", "3")], scoped=False),
        log("after unscoped: ", value("a")),
        do.GroupAction(
            [log("not forwarded: ", value("a"), " ", value("b"))],
            forwarding=False,
            launch_configurations={"b": value("a")},
        ),
        do.GroupAction([log("never")], condition=IfCondition("false")),
        do.IncludeLaunchDescription(PythonLaunchDescriptionSource(included), launch_arguments=given.items()),
        log("kept after the include: ", value("needed")),
        do.GroupAction(again),
    ]


def prefix():
    return [teller(prefix=["env PREFIXED=yes"]), teller()]


def nodes():
    config = sub.PathJoinSubstitution([FindPackageShare("demo"), "config"])
    rate, words = sub.LaunchConfiguration("rate"), sub.LaunchConfiguration("words")
    values = {
        "whole": 3,
        "real": 2.5,
        "truth": True,
        "text": 'a "quoted": text',
        "digits": "12",
        "list": [1, 2, 3],
        "mixed": [1, 2.5],
        "texts": ["x", "y z"],
        "nested": {"deeper": {"one": 1}},
        "read": rate,
        "list_read": words,
        "kept_text": ParameterValue(rate, value_type=str),
        "as_float": ParameterValue(rate, value_type=float),
        "as_texts": ParameterValue(words, value_type=list[str]),
        "joined": ["r", rate],
        ("name_", rate): 1.0,
    }
    return [
        do.DeclareLaunchArgument("rate", default_value="50"),
        do.DeclareLaunchArgument("words", default_value="[a, b]"),
        teller(),
        teller(
            name="named",
            namespace="space",
            exec_name="label",
            parameters=[sub.PathJoinSubstitution([config, "demo.yaml"]), values],
            remappings=[("chatter", "talk"), ("~/state", ["/st", rate])],
            ros_arguments=["--log-level", "warn"],
            arguments=["-x", rate],
            additional_env={"MARK": "seen"},
        ),
        do.GroupAction(
            [
                PushRosNamespace("outer"),
                PushRosNamespace("inner"),
                SetParameter("gain", 0.5),
                SetParameter("mode", "auto"),
                SetRemap("cmd", "command"),
                teller(name="below", parameters=[{"gain": 1.5}]),
                teller(name="below", namespace="/absolute"),
            ]
        ),
        teller(
            name="outside",
            parameters=[
                ParameterFile(sub.PathJoinSubstitution([config, "templated.yaml"]), allow_substs=True),
                "/nowhere/at/all.yaml",
            ],
        ),
        Node(executable=ExecutableInPackage(package="demo", executable="teller"), exec_name="by_path", output="screen"),
        log(FindPackagePrefix("demo")),
    ]


def made(context):
    rate = sub.LaunchConfiguration("rate", default=50).perform(context)
    return [teller(name=f"made_{rate}", namespace=["ns_", sub.LaunchConfiguration("rate", default="50")])]


def more_nodes():
    around = [SetParameter("numbers", [1, 2]), SetParameter("use_sim_time", True), SetRemap("from", "to")]
    return [
        do.GroupAction([*around, teller(remappings=[("a", "b")])]),
        teller(),
        do.OpaqueFunction(function=made),
        do.GroupAction([teller(name="never")], condition=UnlessCondition("1")),
        teller(name="same", namespace="twice"),
        teller(name="same", namespace="/twice"),
    ]


def bad_namespace():
    return [PushRosNamespace("1st"), teller()]


def bad_package():
    return [teller(), Node(package="no_such_package", executable="x")]


def bad_executable():
    return [Node(package="demo", executable="no_such_program")]


def generate_launch_description():
    case = do.OpaqueFunction(function=lambda context: globals()[context.launch_configurations["case"]]())
    return LaunchDescription([case])
