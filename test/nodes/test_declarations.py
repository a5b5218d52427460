"""Decisions that `set_morphology` does not answer are declared again, in the order and as often as is right."""

from unittest.mock import Mock

import pytest

from hexapod_dynamics.detection.decisions import Decision
from hexapod_dynamics.nodes.declarations import ANSWER_TIMEOUT, MAX_CALLS, DeclarationClient
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.task import Future

RM = Decision("declare", "RM missing", {"legs.RM": False}, 0.99, "RM missing: no answer", 0.0)
LATE = ANSWER_TIMEOUT + 0.01


class Node:
    """What DeclarationClient uses of a node: a client that is ready and answers nothing by itself, and a log."""

    def __init__(self):
        self.futures, self.log, self.ready, self.waited_for = [], Mock(), True, []
        self.create_client = lambda kind, name: self
        self.get_logger = lambda: self.log
        self.service_is_ready = lambda: self.ready

    def call_async(self, request):
        self.futures.append(Future())
        self.waited_for.append(self.futures[-1])
        return self.futures[-1]

    def remove_pending_request(self, future):
        self.waited_for.remove(future)

    def answer(self, future, **result):
        future.set_result(SetParametersAtomically.Response(result=SetParametersResult(**result)))


@pytest.fixture
def node():
    return Node()


@pytest.fixture
def declarations(node):
    declarations = DeclarationClient(node)
    declarations.declare(RM, 0.0)
    return declarations


def test_a_lost_request_is_repeated_and_either_answer_ends_it(node, declarations):
    declarations.update(LATE)
    assert len(node.futures) == 2 and "RM missing is declared again" in node.log.warning.call_args.args[0]
    node.answer(node.futures[0], successful=True)
    declarations.update(9 * LATE)
    assert len(node.futures) == 2 and not node.waited_for and len(node.log.method_calls) == 1


def test_a_lost_answer_is_made_up_for_by_the_topic(node, declarations):
    declarations.follow({"legs.RM": True, "legs.LF": False})
    declarations.update(LATE)
    assert len(node.futures) == 2
    declarations.follow({"legs.RM": False})
    declarations.update(9 * LATE)
    assert len(node.futures) == 2 and not node.waited_for and not node.log.error.called


def test_a_service_that_never_answers_is_an_error(node, declarations):
    for k in range(1, 2 * MAX_CALLS):
        declarations.update(k * LATE)
    assert len(node.futures) == MAX_CALLS and not node.waited_for
    node.log.error.assert_called_once()
    assert "RM missing is not declared: set_morphology does not answer" in node.log.error.call_args.args[0]


def test_the_same_decision_made_anew_replaces_the_old_one(node, declarations):
    declarations.declare(RM, LATE)
    declarations.update(1.5 * LATE)
    assert len(node.futures) == 2 and node.waited_for == node.futures[1:]


def test_a_lock_whose_reading_flips_is_one_decision(node):
    declarations = DeclarationClient(node)
    for k in range(4):
        values = {"locked.RF.femur": True, "locked_at.RF.femur": 0.3 + 0.004 * (k % 2)}
        declarations.declare(Decision("declare", "RF.femur locked", values, 0.99, "", 0.0), 0.1 * k)
    assert node.waited_for == node.futures[-1:]
    declarations.follow({"locked.RF.femur": True, "locked_at.RF.femur": 0.31})
    assert not node.waited_for


def test_what_the_service_says_beside_its_consent_is_a_warning(node, declarations):
    node.answer(node.futures[0], successful=True, reason="a restart of this node would lose the declared damage")
    assert "would lose the declared damage" in node.log.warning.call_args.args[0]
    assert not node.log.error.called and not node.waited_for


def test_a_refusal_and_a_missing_service_are_errors(node, declarations):
    node.answer(node.futures[0], successful=False, reason="restore LM first")
    assert "RM missing is refused: restore LM first" in node.log.error.call_args.args[0]
    node.ready = False
    declarations.declare(RM, 1.0)
    declarations.update(9 * LATE)
    assert len(node.futures) == 1 and "no service set_morphology" in node.log.error.call_args.args[0]
