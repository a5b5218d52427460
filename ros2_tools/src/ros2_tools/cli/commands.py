"""Which commands and verbs there are, what they do, and which module holds them (imported when they are called)."""

from typing import NamedTuple


class Verb(NamedTuple):
    """One verb: `<module>.<name>_arguments(parser)` declares its options, `<module>.<name>_verb(args)` does it."""

    summary: str
    module: str


class Command(NamedTuple):
    """One command: either verbs and the options they share, or a module of its own like a verb's."""

    summary: str
    verbs: dict = {}
    options: tuple = ()
    module: str = ""


_HIDDEN_TOPICS = (("--include-hidden-topics", "Consider hidden topics as well"),)
_HIDDEN_SERVICES = (("--include-hidden-services", "Consider hidden services as well"),)

COMMANDS = {
    "action": Command("Various action related sub-commands", {"list": Verb("Output a list of action names", "names")}),
    "bag": Command(
        "Various rosbag related sub-commands",
        {
            "info": Verb("Print information about a bag", "bag"),
            "play": Verb("Publish what a bag holds", "bag"),
            "record": Verb("Record topics to a bag", "bag"),
        },
    ),
    "doctor": Command("Check ROS setup and other potential issues", module="doctor"),
    "interface": Command(
        "Show information about ROS interfaces",
        {
            "list": Verb("List all interface types available", "interface"),
            "show": Verb("Output the interface definition", "interface"),
        },
    ),
    "launch": Command("Run a launch file", module="launch"),
    "node": Command(
        "Various node related sub-commands",
        {
            "info": Verb("Output information about a node", "node"),
            "list": Verb("Output a list of available nodes", "node"),
        },
    ),
    "param": Command(
        "Various param related sub-commands",
        {
            "describe": Verb("Show descriptive information about declared parameters", "param"),
            "dump": Verb("Show all of the parameters of a node in a YAML file format", "param"),
            "get": Verb("Get parameter", "param"),
            "list": Verb("Output a list of available parameters", "param"),
            "set": Verb("Set parameter", "param"),
        },
    ),
    "pkg": Command(
        "Various package related sub-commands",
        {
            "executables": Verb("Output a list of package specific executables", "pkg"),
            "list": Verb("Output a list of available packages", "pkg"),
            "prefix": Verb("Output the prefix path of a package", "pkg"),
            "xml": Verb("Output the XML of the package manifest or a specific tag", "pkg"),
        },
    ),
    "run": Command("Run a package specific executable", module="run"),
    "service": Command(
        "Various service related sub-commands",
        {
            "call": Verb("Call a service", "service_call"),
            "list": Verb("Output a list of available services", "names"),
            "type": Verb("Output a service's type", "names"),
        },
        _HIDDEN_SERVICES,
    ),
    "topic": Command(
        "Various topic related sub-commands",
        {
            "echo": Verb("Output messages from a topic", "topic_echo"),
            "hz": Verb("Print the average publishing rate to screen", "topic_hz"),
            "info": Verb("Print information about a topic", "topic"),
            "list": Verb("Output a list of available topics", "names"),
            "pub": Verb("Publish a message to a topic", "topic_pub"),
            "type": Verb("Print a topic's type", "names"),
        },
        _HIDDEN_TOPICS,
    ),
}

COMMANDS["wtf"] = COMMANDS["doctor"]._replace(summary="Use `wtf` as alias to `doctor`")

# What the command of a full ROS 2 has beyond these, to be named when it is refused.
NOT_COVERED = {
    "component": "components",
    "control": "ros2_control",
    "daemon": "a daemon (every command looks at the network itself, so nothing is to be started or stopped)",
    "lifecycle": "lifecycle nodes",
    "multicast": "multicast tests",
    "security": "DDS security",
    "test": "launch tests",
    "trace": "tracing",
}
NOT_COVERED_VERBS = {
    **{("topic", verb): "bandwidth, delay and search of topics" for verb in ("bw", "delay", "find")},
    **{("interface", verb): "more of interfaces than list and show" for verb in ("package", "packages", "proto")},
    **{("param", verb): "deleting and loading parameters" for verb in ("delete", "load")},
    ("service", "find"): "a search of services by type",
    ("action", "info"): "more of actions than their list",
    ("action", "send_goal"): "more of actions than their list",
    ("doctor", "hello"): "network tests of several computers",
    ("pkg", "create"): "making packages",
}
