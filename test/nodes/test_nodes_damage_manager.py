"""damage_manager in its own process: one truth in parameters, service and topic; refusals change nothing, storms of
requests are answered.
"""

import math
import os
import sys
import time

import pytest
from support.bent_joint import BENT
from support.programs import python
from support.ros_session import Process, parameters_of, wait_until

from hexapod_dynamics.damage import KINDS, list_losses
from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.nodes.damage_manager import DamageManager
from hexapod_dynamics.onboard.declarations import MOST_CHANGES, WINDOW
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.tools import set_morphology
from hexapod_dynamics.tools.set_morphology import parse_changes
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue, SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

WHOLE = Morphology.whole(Robot.jethexa()).parameters()


@pytest.fixture(scope="module")
def manager(probe):
    process = Process.node("damage_manager")
    yield process
    took, code = process.interrupt()
    assert code == 0 and took < 3.0 and "Traceback" not in process.output, process.output
    process.end()


@pytest.fixture
def last(manager, probe):
    """Give the last morphology published, starting from a whole robot."""
    last = probe.morphology()
    wait_until(last, 30, lambda: f"a morphology is published\n{manager.output}")
    if last() != WHOLE:
        assert probe.set("set_morphology", parse_changes(restore=Robot.jethexa().leg_names, known=WHOLE)) == (True, "")
        wait_until(lambda: last() == WHOLE, 10, "the robot is whole again")
    return last


def parameters(probe):
    request = GetParameters.Request(names=list(WHOLE))
    values = probe.call(GetParameters, "damage_manager/get_parameters", request).values
    return dict(zip(WHOLE, map(parameter_value_to_python, values), strict=True))


def agrees(probe, last, expected):
    wait_until(lambda: last() == expected, 10, lambda: f"the topic says so: {list_losses(last())}")
    assert parameters(probe) == expected


def after(*names, **changed):
    return Morphology.whole(Robot.jethexa()).without(*names).parameters() | changed


def test_a_joint_locks_where_present_joint_states_have_it_unless_the_request_gives_the_angle(probe, last):
    publisher, stamp = probe.publisher(JointState, "joint_states", 1), probe.node.get_clock().now

    def lock(part, ago=None, joint=None):
        """Publish an angle of long ago [s], without a stamp by default; lock the joint; return why that is refused."""
        message = JointState(name=[joint or f"{part[3:]}_joint_{part[:2]}"], position=[-0.321])
        if ago is not None:
            message.header.stamp = stamp().to_msg()
            message.header.stamp.sec -= ago
        publisher.publish(message)
        time.sleep(0.3)  # more than a tick of the node
        return probe.set("set_morphology", {f"locked.{part}": True})[1]

    assert "give locked_at.LM.tibia" in lock("LM.tibia", 3600, "gripper")  # whatever the clock of other devices
    assert "give locked_at.LM.tibia" in lock("LM.tibia", 3600)
    probe.statuses.says("damage_manager", "joint_states is refused: it is 3.6e+03 s old")
    assert probe.statuses.value("damage_manager", "faults of joint_states") == "1"
    assert (lock("LM.tibia", 0), lock("RF.tibia")) == ("", "")
    wait_until(lambda: last()["locked_at.LM.tibia"] == last()["locked_at.RF.tibia"] == -0.321, 10, last)
    assert "give locked_at.LF.tibia" in probe.set("set_morphology", {"locked.LF.tibia": True})[1]
    assert probe.set("set_morphology", {"locked_at.RF.tibia": 0.25, "locked.LM.tibia": False}) == (True, "")
    agrees(probe, last, WHOLE | {"locked.RF.tibia": True, "locked_at.RF.tibia": 0.25})
    probe.node.destroy_publisher(publisher)


def test_a_parameter_set_by_hand_does_the_same_as_the_service(probe, last):
    def by_hand(name, value):
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        return probe.call(SetParameters, "damage_manager/set_parameters", request).results[0]

    assert by_hand("links.LM.femur", False).successful
    agrees(probe, last, after("LM.femur"))
    refused = by_hand("links.LM.tibia", True)
    assert not refused.successful and "LM.femur" in refused.reason
    agrees(probe, last, after("LM.femur"))
    assert by_hand("legs.RM", False).successful and by_hand("legs.RM", True).successful
    agrees(probe, last, after("LM.femur"))


IMPOSSIBLE = (
    ({"links.LM.tibia": True}, "restore LM.femur first"),
    ({"legs.RM": 0.0}, "true or false"),
    ({"legs.RM": "gone"}, "bool"),
    ({"legs.RM": False, "remaining.LF.tibia": math.nan}, "remaining.LF.tibia"),
    ({"legs.LF": True, "links.LF.coxa": False}, "contradicts"),
    ({}, "legs.RM"),
)


def test_what_cannot_be_is_refused_with_its_reason_and_nothing_changes(probe, last):
    assert probe.set("set_morphology", {"links.LM.femur": False})[0]
    agrees(probe, last, after("LM.femur"))
    assert probe.last("morphology").node == "/damage_manager"
    for values, reason in IMPOSSIBLE:
        accepted, why = probe.set("set_morphology", values)
        assert not accepted and reason in why
        agrees(probe, last, after("LM.femur"))


def test_an_entry_without_a_value_or_named_twice_or_of_no_type_of_ros_is_refused(probe, manager, last):
    twice = [Parameter("legs.RM", value=value).to_parameter_msg() for value in (True, False)]
    unknown = [[ParameterMessage(name="legs.RM", value=ParameterValue(type=kind))] for kind in (77, 255)]
    reasons = ("bool", "twice", "type 77", "type 255")
    for entries, reason in zip(([ParameterMessage(name="legs.RM")], twice, *unknown), reasons, strict=True):
        request = SetParametersAtomically.Request(parameters=entries)
        result = probe.call(SetParametersAtomically, "set_morphology", request).result
        assert not result.successful and reason in result.reason
    agrees(probe, last, WHOLE)
    assert manager.running(), manager.output


def tool(*words):
    return python("-m", "hexapod_dynamics.tools.set_morphology", *words)


def test_the_short_form_accepts_restores_and_refuses(probe, last):
    words = "--missing RM LM.femur --locked RF.tibia=0.4 --remaining LF.tibia=0.5 --limp LR.femur"
    done = tool(*words.split())
    assert done.returncode == 0, done.stderr
    changed = {"locked.RF.tibia": True, "locked_at.RF.tibia": 0.4, "remaining.LF.tibia": 0.5, "limp.LR.femur": True}
    agrees(probe, last, after("RM", "LM.femur") | changed)
    done = tool("--restore", "RM", "LF", "LM", "RF", "LR")
    assert done.returncode == 0 and "morphology: RM is intact, LF is intact, LM is intact" in done.stdout, done
    agrees(probe, last, WHOLE)
    done = tool("--missing", "QQ")
    assert done.returncode == 1 and "the legs are" in done.stderr and "Traceback" not in done.stderr
    done = tool("--missing", "RM", "--service", "nobody/there", "--timeout", "1")
    assert done.returncode == 2 and "walk.launch.py" in done.stderr
    with pytest.raises(SystemExit, match="2"):
        set_morphology.main(["set_morphology"])
    agrees(probe, last, WHOLE)


def test_the_short_form_reaches_the_robot_of_its_namespace_and_no_other(probe, last):
    told = []

    def answer(request, response):
        told.extend(parameter.name for parameter in request.parameters)
        response.result.successful = True
        return response

    probe.node.create_service(SetParametersAtomically, "/left/set_morphology", answer)
    done = tool("--namespace", "left", "--missing", "RM")
    assert done.returncode == 0, done.stderr
    assert told == ["legs.RM"]
    agrees(probe, last, WHOLE)
    done = tool("--namespace", "left robot", "--missing", "RM")
    assert "--namespace left robot" in done.stderr and "Traceback" not in done.stderr


SLOW_DISK = """
import os, time
from hexapod_dynamics.ros import start
real = os.fsync
os.fsync = lambda fd: (time.sleep(0.3), real(fd))
start.damage_manager()
"""


def test_a_crash_forgets_nothing_that_was_answered_and_a_clean_end_forgets(probe, last):
    arguments = ("-r", "__ns:=/other", "-p", f"session:=test{os.getpid()}")
    other = probe.morphology("/other/morphology")
    hurt = after("RM") | {"locked.RF.tibia": True, "locked_at.RF.tibia": 0.4}
    for ending, known in ((Process.kill, hurt), (Process.interrupt, WHOLE)):
        with Process(sys.executable, "-c", SLOW_DISK, "--ros-args", *arguments) as process:
            wait_until(other, 30, lambda process=process: process.output)
            values = {"legs.RM": False, "locked.RF.tibia": True, "locked_at.RF.tibia": 0.4}
            assert probe.set("/other/set_morphology", values) == (True, "")
            ending(process)
        probe.messages["/other/morphology"].clear()
        with Process.node("damage_manager", *arguments) as process:
            wait_until(lambda known=known: other() == known, 30, lambda: list_losses(other() or {}))
            assert process.interrupt()[1] == 0
        probe.messages["/other/morphology"].clear()
    assert last() == WHOLE  # the namespace kept them apart


def test_each_of_a_hundred_calls_a_second_of_three_clients_is_answered_or_refused(probe, last):
    # Replies of all clients pass through each one's reader: its usual ten overflow while this process waits for CPU.
    clients = [
        probe.node.create_client(SetParametersAtomically, "set_morphology", qos_profile=QoSProfile(depth=2000))
        for _ in range(3)
    ]
    assert all(client.wait_for_service(30) for client in clients)
    time.sleep(WINDOW)  # changes of other tests count, too
    values = ({"legs.RM": False}, {"legs.RM": True})
    requests = [SetParametersAtomically.Request(parameters=parameters_of(each)) for each in values]
    futures, begin = [], time.monotonic()
    for k in range(300):
        futures += [client.call_async(requests[k % 2]) for client in clients]
        time.sleep(max(0.0, begin + (k + 1) / 100.0 - time.monotonic()))
    took = time.monotonic() - begin
    wait_until(lambda: all(future.done() for future in futures), 20, lambda: sum(f.done() for f in futures))
    results = [future.result().result for future in futures]
    accepted = sum(result.successful for result in results)
    assert MOST_CHANGES <= accepted <= MOST_CHANGES * (took / WINDOW + 3)
    assert all(f"{MOST_CHANGES} changes" in result.reason for result in results if not result.successful)
    assert accepted < len(results)
    # Nothing is left behind: after the window the next request is accepted, on the topic, too.
    time.sleep(WINDOW)
    assert probe.set("set_morphology", {"legs.RM": False}) == (True, "")
    wait_until(lambda: last()["legs.RM"] is False, 10, "the change is published")
    assert probe.set("set_morphology", {"legs.RM": True}) == (True, "")


def test_a_change_that_the_parameters_do_not_follow_is_refused_and_the_next_one_is_adopted(probe):
    node = DamageManager()
    try:

        def refuse(parameters):
            late = any(parameter.name == "links.RM.femur" for parameter in parameters)
            return SetParametersResult(successful=not late, reason="not now" if late else "")

        node.add_on_set_parameters_callback(refuse)
        result = node.set_parameters_atomically([Parameter("legs.RM", value=False)])
        assert not result.successful and "not now" in result.reason
        assert {name: node.get_parameter(name).value for name in WHOLE} == WHOLE
        node.remove_on_set_parameters_callback(refuse)
        # An impossible set was accepted and ignored from then on.
        refused = node.set_parameters_atomically([Parameter("locked_at.LF.tibia", value=0.4)])
        assert not refused.successful and "give locked.LF.tibia" in refused.reason
        assert node.set_parameters_atomically([Parameter("legs.RM", value=False)]).successful
        assert not node.get_parameter("links.RM.femur").value
        assert node.set_parameters_atomically([Parameter("legs.RM", value=True)]).successful
        assert {name: node.get_parameter(name).value for name in WHOLE} == WHOLE
    finally:
        node.destroy_node()


def test_a_new_kind_of_damage_is_a_parameter_of_the_node_and_an_option_of_the_command(probe):
    """What refuses and names it: test/damage/test_new_kind.py."""
    with KINDS.include(BENT):
        assert parse_changes(bent=["RF.tibia=0.35"]) == {"bent.RF.tibia": 0.35}
        node = DamageManager()
        try:
            assert node.set_parameters_atomically([Parameter("bent.RF.tibia", value=0.35)]).successful
            assert node.get_parameter("bent.RF.tibia").value == 0.35
            refused = node.set_parameters_atomically([Parameter("limp.RF.tibia", value=True)])
            assert not refused.successful and "the joint is bent, so it does not move" in refused.reason
        finally:
            node.destroy_node()


@pytest.mark.parametrize(
    "words, values",
    [
        (
            {"locked": ["RF.tibia"], "remaining": ["LF.tibia=0.25"]},
            {"locked.RF.tibia": True, "remaining.LF.tibia": 0.25},
        ),
        (
            {"restore": ["LF.tibia"], "known": WHOLE},
            {
                "links.LF.tibia": True,
                "locked.LF.tibia": False,
                "locked_at.LF.tibia": 0.0,
                "limp.LF.tibia": False,
                "remaining.LF.tibia": 1.0,
            },
        ),
    ],
)
def test_words_become_named_values(words, values):
    assert parse_changes(**words) == values


def test_words_that_contradict_each_other_are_refused():
    with pytest.raises(MorphologyError, match="conflicting values"):
        parse_changes(missing=["LF.tibia"], restore=["LF"], known=WHOLE)
    with pytest.raises(MorphologyError, match="LF.tibia=0.5"):
        parse_changes(remaining=["LF.tibia"])
    with pytest.raises(MorphologyError, match="RF.tibia=0.4"):
        parse_changes(locked=["RF.tibia=bent"])
