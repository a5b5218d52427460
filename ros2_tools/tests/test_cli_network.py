"""The command `ros2` against a node, each in a process of its own."""

import re
import signal
import subprocess
import time

import pytest
from cli_process import OURS, environment_in, node, ros2
from domains import reserve_domain

ENVIRONMENT = environment_in(domain=reserve_domain())
NAME = "/ns/everything"


@pytest.fixture(scope="module", autouse=True)
def everything():
    """Have the node of cli_node.py running."""
    with node(ENVIRONMENT):
        yield


def output(*words):
    """Return what a successful `ros2 <words>` prints."""
    code, out, err = ros2(ENVIRONMENT, *words)
    assert (code, err) == (0, "")
    return out


def test_topic_list_shows_names_types_and_counts():
    names = output("topic", "list").split()
    assert {"/ns/text", "/ns/odometry", "/ns/listen", "/elsewhere/listen", "/rosout", "/parameter_events"} <= {*names}
    assert "/ns/_hidden" not in names
    assert names == sorted(names)
    assert "/ns/odometry [nav_msgs/msg/Odometry]" in output("topic", "list", "-t").splitlines()
    verbose = output("topic", "list", "-v")
    published, subscribed = verbose.split("Subscribed topics:")
    assert " * /ns/text [std_msgs/msg/String] 1 publisher\n" in published
    assert " * /ns/listen [std_msgs/msg/String] 1 subscriber\n" in subscribed
    assert int(output("topic", "list", "-c", "--include-hidden-topics")) == len(names) + 2


def test_topic_type_is_that_of_the_topic_or_nothing():
    assert output("topic", "type", "/ns/odometry") == "nav_msgs/msg/Odometry\n"
    assert ros2(ENVIRONMENT, "topic", "type", "/nope") == (1, "", "")


def test_topic_info_names_node_and_quality_of_service():
    assert output("topic", "info", "/ns/joints") == (
        "Type: sensor_msgs/msg/JointState\nPublisher count: 1\nSubscription count: 0\n"
    )
    text = output("topic", "info", "-v", "/ns/latched")
    assert "Node name: everything\nNode namespace: /ns\nTopic type: std_msgs/msg/String\n" in text
    assert "Reliability: RELIABLE" in text and "Durability: TRANSIENT_LOCAL" in text
    assert ros2(ENVIRONMENT, "topic", "info", "/nope") == (1, "", "Unknown topic '/nope'\n")


def test_echo_fits_its_quality_of_service_to_the_publisher():
    assert output("topic", "echo", "--once", "/ns/latched") == "data: stays\n---\n"
    best_effort = output("topic", "echo", "--once", "/ns/joints", "--field", "name")
    assert best_effort == "['a', 'b']\n---\n"
    code, out, _ = ros2(ENVIRONMENT, "topic", "echo", "--once", "/nope")
    assert (code, out) == (1, "WARNING: topic [/nope] does not appear to be published yet\n")


def test_echo_prints_fields_csv_and_raw_bytes():
    assert output("topic", "echo", "--once", "/ns/odometry", "--field", "pose.pose.position") == (
        "x: .nan\ny: .inf\nz: 0.0\n---\n"
    )
    assert output("topic", "echo", "--once", "/ns/odometry", "--csv").startswith("5,0,odom,,nan,inf,0.0,")
    assert output("topic", "echo", "--once", "/ns/latched", "--raw").startswith("b'\\x00\\x01\\x00\\x00")
    assert (
        output("topic", "echo", "--once", "/ns/odometry", "--field", "header.stamp", "--filter", "m.sec == 5")
        == "sec: 5\nnanosec: 0\n---\n"
    )


def test_pub_waits_for_a_subscription_and_is_heard():
    out = output("topic", "pub", "--once", "/ns/listen", "std_msgs/msg/String", "data: hello there")
    assert "publisher: beginning loop\npublishing #1: std_msgs.msg.String(data='hello there')\n\n" in out
    assert output("topic", "echo", "--once", "/ns/heard") == "data: hello there\n---\n"


def test_pub_refuses_what_is_no_message():
    pub = "topic", "pub", "--once", "-w", "0", "/x"
    code, _, reason = ros2(ENVIRONMENT, *pub, "geometry_msgs/msg/Twist", "{linear: {q: 1}}")
    assert code == 1
    assert reason.startswith("Failed to populate field: 'Vector3' object has no attribute 'q'")
    assert ros2(ENVIRONMENT, *pub, "std_msgs/msg/Nope")[::2] == (1, "The passed message type is invalid\n")
    assert ros2(ENVIRONMENT, *pub, "std_msgs/msg/String", "text")[::2] == (
        1,
        "The passed value needs to be a dictionary in YAML format\n",
    )


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (["hz", "/ns/odometry"], r"average rate: (1\d|2[0-3])\.\d{3}\n\tmin: "),
        (["echo", "/ns/text"], 'data: \'héllo: "w"\n'),
    ],
)
def test_verbs_that_go_on_end_on_sigint_without_a_traceback(words, pattern):
    process = subprocess.Popen(
        [*OURS, "topic", *words], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    text, deadline = "", time.monotonic() + 60
    while not re.search(pattern, text) and time.monotonic() < deadline:
        text += process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert re.search(pattern, text), text
    assert "Traceback" not in errors
    assert process.returncode == 2


def test_services_are_listed_and_called():
    assert "/ns/switch [std_srvs/srv/SetBool]" in output("service", "list", "-t").splitlines()
    assert output("service", "type", "/ns/switch") == "std_srvs/srv/SetBool\n"
    assert output("service", "call", "/ns/switch", "std_srvs/srv/SetBool", "{data: true}").endswith(
        "requester: making request: std_srvs.srv.SetBool_Request(data=True)\n\n"
        "response:\nstd_srvs.srv.SetBool_Response(success=True, message='switched')\n\n"
    )
    assert ros2(ENVIRONMENT, "service", "call", "/ns/switch", "std_srvs/srv/Nope")[::2] == (
        1,
        "The passed service type is invalid\n",
    )


def test_an_action_is_known_by_its_feedback():
    assert output("action", "list") == "/ns/walk\n"
    assert output("action", "list", "-t") == "/ns/walk [std_msgs/msg/String]\n"
    assert output("action", "list", "-c") == "1\n"
    assert "  Action Servers:\n    /ns/walk: std_msgs/msg/String\n" in output("node", "info", NAME)


def test_doctor_fails_checks_by_warnings_on_request_only():
    code, out, err = ros2(ENVIRONMENT, "doctor")
    assert (code, out) == (0, "\nAll 3 checks passed\n\n")
    assert "Publisher without subscriber detected on /ns/text." in err
    code, out, err = ros2(ENVIRONMENT, "doctor", "--include-warnings", "--report-failed")
    assert code == 0
    assert re.search(r"\n[12]/3 check\(s\) failed\n\nFailed modules: (network )?topic\n", out)
    assert "\n   TOPIC LIST\n" in out and "RMW MIDDLEWARE" not in out
    report = output("doctor", "--report")
    for line in (
        "middleware name    : rmw_",
        "topic               : /ns/text\npublisher count     : 1\nsubscriber count    : 0\n",
        "compatibility status    : No publisher/subscriber pairs found\n",
    ):
        assert line in report


def test_node_list_and_info_show_all_that_a_node_has():
    assert output("node", "list") == f"{NAME}\n"
    lines = output("node", "info", NAME).splitlines()
    assert lines[:2] == [NAME, "  Subscribers:"]
    titles = [line for line in lines if line.startswith("  ") and not line.startswith("    ")]
    assert [title.strip(" :") for title in titles] == [
        "Subscribers",
        "Publishers",
        "Service Servers",
        "Service Clients",
        "Action Servers",
        "Action Clients",
    ]
    for entry in (
        "/ns/listen: std_msgs/msg/String",
        "/ns/odometry: nav_msgs/msg/Odometry",
        f"{NAME}/set_parameters: rcl_interfaces/srv/SetParameters",
        "/elsewhere/trigger: std_srvs/srv/Trigger",
    ):
        assert f"    {entry}" in lines
    assert ros2(ENVIRONMENT, "node", "info", "/nope")[::2] == (1, "Unable to find node '/nope'\n")


def test_parameters_are_listed_and_described():
    own = "any count fixed flag gain many.b many.d many.i many.s many.y name"
    names = f"{own} start_type_description_service use_sim_time".split()
    assert output("param", "list", NAME) == "".join(f"  {name}\n" for name in names)
    assert output("param", "list").startswith(f"{NAME}:\n  any\n")
    assert "  many.s (type: string array)\n" in output("param", "list", NAME, "--param-type")
    assert output("param", "describe", NAME, "gain", "fixed") == (
        "Parameter name: gain\n  Type: double\n  Description: a gain\n  Constraints:\n"
        "    Min value: 0.0\n    Max value: 10.0\n    Step: 0.5\n"
        "Parameter name: fixed\n  Type: integer\n  Constraints:\n    Read only: true\n"
    )


SETTINGS = {
    "gain": ("3.5", "Double value is: 3.5"),
    "flag": ("false", "Boolean value is: False"),
    "many.i": ("[4, 5]", "Integer values are: array('q', [4, 5])"),
    "any": ("text", "String value is: text"),
    "many.s": ("[x, y]", "String values are: ['x', 'y']"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_parameter_is_what_it_was_set_to(name):
    value, printed = SETTINGS[name]
    assert output("param", "set", NAME, name, value) == "Set parameter successful\n"
    assert output("param", "get", NAME, name) == f"{printed}\n"


REFUSED = {
    ("name", "bad"): ": no bad names",
    ("gain", "300.0"): ": ",
    ("gain", "text"): ": Wrong parameter type",
    ("nope", "1"): ": ",
    ("fixed", "8"): ": ",
}


def test_refused_parameters_say_why_and_stay():
    before = output("param", "dump", NAME)
    for (name, value), reason in REFUSED.items():
        _, out, err = ros2(ENVIRONMENT, "param", "set", NAME, name, value)
        assert out == ""
        assert err.startswith(f"Setting parameter failed{reason}")
    assert output("param", "dump", NAME) == before


def test_what_is_dumped_is_what_is_set():
    output("param", "set", NAME, "gain", "2.5")
    dumped = output("param", "dump", NAME)
    assert dumped.startswith(f"{NAME}:\n  ros__parameters:\n")
    assert "    gain: 2.5\n" in dumped and "    many:\n      b:\n" in dumped


def test_an_unknown_node_is_not_found():
    for words in (["get", "/nope", "x"], ["set", "/nope", "x", "1"], ["list", "/nope"], ["dump", "/nope"]):
        assert ros2(ENVIRONMENT, "param", *words)[::2] == (1, "Node not found\n")
