"""The jobs of background processes: their requests and answers, as JSON values.

In the separate process (`serve`), one line of JSON on standard input is the request, and the answer goes to
standard output. Only the classes TYPES and the jobs JOBS exist here; every object that is read is checked by its
own class.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.planning.library import plan_of
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.checked_yaml import Section
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.parts import Body, Contact, Imu, Joint, Link, Servo

if TYPE_CHECKING:
    from hexapod_dynamics.gait.swing_planning import Swing, SwingPlan

TYPES: dict[str, type] = {one.__name__: one for one in (Robot, Body, Leg, Link, Joint, Servo, Contact, Imu)}
_TYPE, _ARRAY, _TUPLE = "type", "array", "tuple"


def encode(value: Any) -> object:
    """Return a value as JSON values: numbers, text, lists, tuples, arrays of numbers and the dataclasses of TYPES."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, np.ndarray):
        return {_ARRAY: value.tolist()}
    if isinstance(value, tuple):
        return {_TUPLE: [encode(one) for one in value]}
    if isinstance(value, list):
        return [encode(one) for one in value]
    if type(value).__name__ in TYPES:
        fields = {one.name: encode(getattr(value, one.name)) for one in dataclasses.fields(value)}
        return {_TYPE: type(value).__name__, **fields}
    raise HexapodError(f"{type(value).__name__}: allowed are {', '.join(TYPES)}, numbers, text, lists and arrays")


def decode(value: object) -> Any:
    """Return the value that `encode` was called with; HexapodError if `encode` cannot have made the argument."""
    if isinstance(value, list):
        return [decode(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_ARRAY}:
        return np.array(value[_ARRAY], float)
    if value.keys() == {_TUPLE}:
        return tuple(decode(one) for one in value[_TUPLE])
    kind = TYPES.get(str(value.get(_TYPE)))
    if kind is None:
        raise HexapodError(f"an object of the type {value.get(_TYPE)!r}: allowed are {', '.join(TYPES)}")
    names, fields = {one.name for one in dataclasses.fields(kind)}, {k: v for k, v in value.items() if k != _TYPE}
    if fields.keys() != names:
        raise HexapodError(f"{kind.__name__} with {sorted(fields)}: needed are {sorted(names)}")
    return kind(**{name: decode(one) for name, one in fields.items()})


# ---- a plan ----------------------------------------------------------------------------------------------------------


def encode_plan_request(robot: Robot, lost: Sequence[str], morphology: Morphology) -> dict[str, object]:
    """Return the request for the plan of a robot without the legs `lost` (names)."""
    return {"robot": encode(robot), "lost": list(lost), "morphology": morphology.parameters()}


def decode_plan(answer: object, robot: Robot, lost: Sequence[str], morphology: Morphology) -> GaitPlan | str:
    """Return the GaitPlan that was asked for, or the reason why there is none; HexapodError for anything else."""
    if isinstance(answer, dict) and answer.keys() == {"reason"} and isinstance(answer["reason"], str):
        return answer["reason"]
    if not (isinstance(answer, dict) and answer.keys() == {"plan"}):
        raise HexapodError(f"the job plan answered {_start(answer)}: a plan or a reason is needed")
    plan = plan_of(robot, Section(answer["plan"], "the plan that was made"))
    if set(plan.legs) & set(lost):
        raise HexapodError(f"the plan that was made walks on {', '.join(plan.legs)}, without {', '.join(lost)} asked")
    return plan


def _make_plan(request: Mapping[str, Any]) -> dict[str, object]:
    from hexapod_dynamics.gait.planning.search import plan_or_reason

    robot = decode(request["robot"])
    left = [name for name in robot.leg_names if name not in request["lost"]]
    if len(left) < 2:
        return {"reason": f"legs left: {', '.join(left) or 'none'}; at least 2 are needed to row"}
    found = plan_or_reason(robot, request["lost"], Morphology.from_parameters(robot, request["morphology"]))
    if isinstance(found, str):
        return {"reason": found}
    fields = dataclasses.asdict(found)
    return {"plan": {name: _plain(value) for name, value in fields.items()}}


def _plain(value: Any) -> object:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value if isinstance(value, str) else float(value)


# ---- swings ----------------------------------------------------------------------------------------------------------


def encode_swings_request(
    robot: Robot, morphology: Morphology, swings: Sequence[Swing] | Callable[[], Sequence[Swing]]
) -> dict[str, object]:
    """Return the request for the plans of swings, or of those that a function makes."""
    asked = swings() if callable(swings) else swings
    rows = [encode([one.leg, one.joints, one.start_rate, one.end_rate, one.duration]) for one in asked]
    return {"robot": encode(robot), "morphology": morphology.parameters(), "swings": rows}


def decode_swings(
    answer: object, robot: Robot, morphology: Morphology, swings: object
) -> tuple[list[SwingPlan], list[str]]:
    """Return the plans of the swings of a robot's moving joints, and why others have none; HexapodError for anything
    else.
    """
    from hexapod_dynamics.gait.swing_planning import SwingPlan

    if not (isinstance(answer, dict) and answer.keys() == {"plans", "refused"}):
        raise HexapodError(f"the job swings answered {_start(answer)}: plans and refused are needed")
    plans = []
    for row in answer["plans"]:
        leg, points, duration, torque, effort = decode(row)
        good = leg in robot.leg_names and isinstance(points, np.ndarray) and points.ndim == 2
        good = good and points.shape[1] == morphology.moving_mask[list(robot.leg_joints(leg))].sum()
        good = good and bool(np.isfinite(points).all() and np.isfinite([duration, torque, effort]).all())
        if not (good and duration > 0.0):
            raise HexapodError(f"the job swings answered {_start(row)}, which is no swing of this robot")
        plans.append(SwingPlan(leg, points, duration, torque, effort))
    return plans, [str(one) for one in answer["refused"]]


def _plan_swings(request: Mapping[str, Any]) -> dict[str, object]:
    from hexapod_dynamics.gait.swing_planning import Swing, plan_all

    robot = decode(request["robot"])
    swings = [Swing(*decode(row)) for row in request["swings"]]
    plans, refused = plan_all(robot, Morphology.from_parameters(robot, request["morphology"]), swings)
    return {"plans": [encode(list(plan)) for plan in plans], "refused": list(refused)}


def _start(value: object) -> str:
    return repr(value)[:80]


# ---- the process -----------------------------------------------------------------------------------------------------

JOBS: dict[str, Callable[[Mapping[str, Any]], dict[str, object]]] = {"plan": _make_plan, "swings": _plan_swings}


def serve(job: str) -> None:
    """Execute the job that is requested on standard input; end at once when standard input is closed."""
    os.nice(10)
    answers = os.dup(1)
    os.dup2(2, 1)  # all printed text goes to the log
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    answer = json.dumps(JOBS[job](request)).encode()
    with os.fdopen(answers, "wb") as out:
        out.write(answer)


def _end_with_the_caller() -> None:
    # os.read: at its end the interpreter would wait for the lock of a buffered reader.
    while os.read(0, 4096):
        pass
    os._exit(1)
