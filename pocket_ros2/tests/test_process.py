"""Whole processes: how they end, what they leave behind, what they read from the environment and the command line."""

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_process import pocket_environment
from conftest import spin_until

import rclpy
from std_msgs.msg import String

TALKER = Path(__file__).parent / "talker.py"


@contextlib.contextmanager
def talker(domain, *words, **environment):
    """Run talker.py until the block ends."""
    process = subprocess.Popen(
        [sys.executable, TALKER, *words],
        env={**pocket_environment(domain), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate()


def is_seen(node, name="talker"):
    return name in node.get_node_names()


@pytest.mark.parametrize("how", ["spin", "executor", "thread", "forgetful"])
@pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, "interrupted\n"), (signal.SIGTERM, "shut down\n")])
def test_a_signal_ends_a_node_and_leaves_no_ghost(node, domain, how, number, said):
    with talker(domain, how) as process:
        spin_until(node, lambda: is_seen(node))
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
        # SIGTERM may also come where spinning just returns, and in a thread the exception is the thread's.
        assert process.returncode == 0 and (out == said or (number == signal.SIGTERM and not out)), err
        assert how == "thread" or not err
        # A ghost would stay for the 10 s of its lease.
        spin_until(node, lambda: not is_seen(node), timeout=5)


def test_no_ghost_after_a_normal_exit_or_an_exception(node, domain):
    program = 'import rclpy; rclpy.init(); n = rclpy.create_node("short"); {}'
    for end in ("pass", "raise SystemExit(0)", "rclpy.shutdown()"):
        run = subprocess.run([sys.executable, "-c", program.format(end)], env=pocket_environment(domain), timeout=30)
        assert run.returncode == 0
        spin_until(node, lambda: not is_seen(node, "short"), timeout=5)


def test_a_process_is_heard_and_remapped(node, domain):
    got = []
    node.create_subscription(String, "/far/said", lambda m: got.append(m.data), 10)
    words = [
        "--ros-args",
        "-r",
        "words:=said",
        "-r",
        "__ns:=/far",
        "-r",
        "__node:=speaker",
        "-p",
        "gain:=0.25",
        "-r",
        "talker:nothing:=x",
        "--log-level",
        "error",
    ]
    with talker(domain, *words):
        spin_until(node, lambda: got)
        assert got[0] == "tick"
        assert ("speaker", "/far") in node.get_node_names_and_namespaces()
        assert ("/far/speaker/switch", ["std_srvs/srv/SetBool"]) in node.get_service_names_and_types()


def test_simulated_time_from_the_command_line(node, domain):
    """The timer of talker.py waits for `/clock`."""
    from rosgraph_msgs.msg import Clock

    got, clock = [], node.create_publisher(Clock, "/clock", 10)
    node.create_subscription(String, "/ns/words", got.append, 10)
    with talker(domain, "--ros-args", "-p", "use_sim_time:=true"):
        spin_until(node, lambda: is_seen(node) and clock.get_subscription_count())
        for _ in range(5):
            rclpy.spin_once(node, timeout_sec=0.05)
        assert not got
        message = Clock()
        message.clock.sec = 5
        clock.publish(message)
        spin_until(node, lambda: got)


def test_domains_do_not_mix(node, domain):
    with talker(domain + 1):
        for _ in range(10):
            rclpy.spin_once(node, timeout_sec=0.05)
        assert not is_seen(node)


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({"ROS_DOMAIN_ID": "many"}, "ROS_DOMAIN_ID is 'many'; it must be an integer from 0 to 232"),
        ({"ROS_DOMAIN_ID": "300"}, "ROS_DOMAIN_ID is '300'; it must be an integer from 0 to 232"),
        ({"ROS_LOCALHOST_ONLY": "yes"}, "ROS_LOCALHOST_ONLY is 'yes'; it must be 1 or unset (loopback only) or 0"),
        ({"CYCLONEDDS_URI": "<nonsense/>"}, "CYCLONEDDS_URI is '<nonsense/>'; Cyclone DDS does not accept it"),
    ],
)
def test_a_bad_environment_is_refused_by_name(domain, environment, complaint):
    run = subprocess.run(
        [sys.executable, "-c", "import rclpy; rclpy.init()"],
        capture_output=True,
        text=True,
        timeout=30,
        env={**pocket_environment(domain), **environment},
    )
    assert run.returncode == 1 and complaint in run.stderr


LOOPBACK_NAMED = "<CycloneDDS><Domain><General>{}</General></Domain></CycloneDDS>"


@pytest.mark.parametrize(
    "interface",
    [
        '<Interfaces><NetworkInterface name="lo"/></Interfaces>',
        '<Interfaces><NetworkInterface address="127.0.0.1" priority="1"/></Interfaces>',
        "<NetworkInterfaceAddress>127.0.0.1</NetworkInterfaceAddress>",
    ],
)
@pytest.mark.parametrize("in_file", [False, True])
def test_an_own_setting_may_name_the_loopback_interface_beside_localhost_only(domain, tmp_path, interface, in_file):
    """Cyclone DDS refuses an interface that is given twice: each process ended with an error that did not say so."""
    text = LOOPBACK_NAMED.format(interface)
    if in_file:
        (tmp_path / "cyclone.xml").write_text(text)
        text = f"file://{tmp_path}/cyclone.xml"
    run = subprocess.run(
        [sys.executable, "-c", 'import rclpy; rclpy.init(); print(rclpy.create_node("n").get_name())'],
        capture_output=True,
        text=True,
        timeout=30,
        env={**pocket_environment(domain), "CYCLONEDDS_URI": text, "ROS_LOCALHOST_ONLY": "1"},
    )
    assert run.returncode == 0 and run.stdout == "n\n", run.stderr


def test_the_log_goes_to_the_console_a_file_and_rosout(ros, domain, capfd, tmp_path):
    from rcl_interfaces.msg import Log

    node, got = ros.create_node("logging", namespace="/deep"), []
    node.create_subscription(Log, "/rosout", got.append, 10)
    logger = node.get_logger()
    for _ in range(3):
        logger.warning("often", throttle_duration_sec=60.0)
        logger.error("once", once=True)
        logger.info("not first", skip_first=True)
    logger.debug("too low")
    logger.get_child("inner").fatal("of a child")
    spin_until(node, lambda: len(got) == 5)
    expected = [(30, "often"), (40, "once"), (20, "not first"), (20, "not first"), (50, "of a child")]
    assert sorted((m.level, m.msg) for m in got) == sorted(expected)
    warning = next(m for m in got if m.msg == "often")
    assert warning.name == "deep.logging" and warning.file == __file__ and warning.function.startswith("test_the_log")
    console = capfd.readouterr().err.splitlines()
    assert len(console) == 5
    stamp = f"{warning.stamp.sec}.{warning.stamp.nanosec:09d}"
    assert f"[WARN] [{stamp}] [deep.logging]: often" in console
    node.destroy_node()
