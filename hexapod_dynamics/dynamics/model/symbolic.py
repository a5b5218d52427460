"""The model as CasADi functions, for Opti problems, C code or other programs.

The leg kernels' programs are run on CasADi's symbols instead of vectors of numbers, so the functions perform the
same operations as the compiled model. The morphology is built in: its masses and lengths are constants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from hexapod_dynamics.dynamics.leg_kernels import (
    trace_forward,
    trace_inverse,
    trace_solve_head,
    trace_substitute,
)
from hexapod_dynamics.dynamics.leg_matrices import trace_frames
from hexapod_dynamics.dynamics.leg_program import LegType
from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.dynamics.tracing import Trace
from hexapod_dynamics.dynamics.workspace import BASE_ACCELERATION, BODY, HEAD, HEAD_ACC, HEAD_FORCE, TWIST
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology


def casadi_function(kernels: RobotKernels, name: str, morphology: Morphology) -> ca.Function:
    """Return a casadi.Function of a quantity for one morphology; see WholeBodyModel.casadi_function."""
    known = {"forward_dynamics": _forward, "inverse_dynamics": _inverse, "tip_positions": _tips}
    if name not in known:
        raise DynamicsError(f"casadi_function: {name!r} given, one of {', '.join(known)} needed")
    return known[name](_Memory(kernels, morphology))


class _Memory:
    """The kernels' memory for a morphology, with symbols for the state."""

    def __init__(self, kernels: RobotKernels, morphology: Morphology) -> None:
        robot = self.robot = kernels.robot
        ws, self.rows, self.legs = kernels.workspace(morphology), kernels.rows, robot.legs
        self.n, self.driven = int(morphology.moving_mask.sum()), morphology.driven_mask
        self.shared = ws.shared.tolist()
        self.body = ca.DM(robot.body.spatial_inertia)
        self.lanes = [ws.lanes[block, :, lane].tolist() for block, lane in ws.legs[:, :2]]
        self.last = ws.legs[:, 4].tolist()
        self.R, self.q = ca.SX.sym("R", 3, 3), ca.SX.sym("q", robot.joint_count)
        self.nu = ca.SX.sym("nu", 6 + self.n)
        # for each moving joint: its leg, its index in the leg, its index among all joints
        self.moving = [
            (leg, k, start + k)
            for leg, start in enumerate(robot.leg_joints(name)[0] for name in robot.leg_names)
            for k in range(len(robot.legs[leg].joints))
            if morphology.moving_mask[start + k]
        ]

    def set_state(self) -> None:
        """Write rotation, positions and velocities."""
        for i in range(6):
            self.shared[TWIST + i] = self.nu[i]
        for i in range(3):
            self.shared[BASE_ACCELERATION + i] = self.R[2, i] * self.robot.gravity
        self.put("q", [self.q[j] for _, _, j in self.moving])
        self.put("rate", [self.nu[6 + i] for i in range(self.n)])

    def put(self, section: str, values: Any) -> None:
        """Write a section of the moving joints."""
        for (leg, k, _), value in zip(self.moving, values, strict=True):
            self.lanes[leg][getattr(self.rows, section) + k] = value

    def get(self, section: str) -> list:
        """Read a section of the moving joints."""
        return [self.lanes[leg][getattr(self.rows, section) + k] for leg, k, _ in self.moving]

    def each_leg(self, make: Callable[..., Trace]) -> None:
        """Run the kernel `make(leg type, rows)` of every leg."""
        for leg, lane in zip(self.legs, self.lanes, strict=True):
            run(make(LegType.of(leg), self.rows), lane, self.shared)

    def body_terms(self, linear: Any, angular: Any) -> tuple[Any, Any]:
        """Return force and moment for this acceleration of the main body; gravity is treated as an acceleration."""
        s = self.shared
        v, w = ca.vertcat(*s[TWIST : TWIST + 3]), ca.vertcat(*s[TWIST + 3 : TWIST + 6])
        mass, h, inertia = s[BODY], ca.SX(ca.DM(s[BODY + 1 : BODY + 4])), self.body[3:, 3:]
        linear = linear + ca.cross(w, v)
        force = mass * linear + ca.cross(angular, h) + ca.cross(w, ca.cross(w, h))
        return force, ca.cross(h, linear) + inertia @ angular + ca.cross(w, inertia @ w)


def run(trace: Trace, lane: list, shared: list) -> None:
    """Run a kernel's program on lists of numbers or symbols: one leg's memory, and the memory that legs share."""
    values: dict[int, object] = {}
    for node in trace.program():
        arguments = [values[argument.index] for argument in node.arguments]
        values[node.index] = _operate(node, arguments, lane, shared)
    for section, row, node in trace.outputs:
        if section == "lane":
            lane[row] = values[node.index]
        elif section == "sum":
            shared[row] = shared[row] + values[node.index]
        else:
            shared[row] = values[node.index]


def _operate(node: Any, arguments: Any, lane: Any, shared: Any) -> Any:
    if node.operation == "constant":
        return node.value
    if node.operation == "read":
        section, row = node.value
        return lane[row] if section == "lane" else shared[row]
    if node.operation in ("sin", "cos"):
        return (ca.sin if node.operation == "sin" else ca.cos)(arguments[0])
    if node.operation == "neg":
        return -arguments[0]
    a, b = arguments
    if node.operation == "add":
        return a + b
    if node.operation == "sub":
        return a - b
    return a * b if node.operation == "mul" else a / b


def _forward(memory: _Memory) -> ca.Function:
    tau, s = ca.SX.sym("tau", memory.n), memory.shared
    memory.set_state()
    memory.put("torque", [tau[i] * float(memory.driven[j]) for i, (_, _, j) in enumerate(memory.moving)])
    for r in range(6):
        for c in range(r + 1):
            s[HEAD + r * (r + 1) // 2 + c] = float(memory.body[r, c])
    force, moment = memory.body_terms(ca.vertcat(*s[BASE_ACCELERATION : BASE_ACCELERATION + 3]), ca.SX.zeros(3))
    s[HEAD_FORCE : HEAD_FORCE + 6] = [-value for value in ca.vertsplit(ca.vertcat(force, moment))]
    memory.each_leg(trace_forward)
    run(trace_solve_head(), [], s)
    memory.each_leg(lambda leg_type, rows: trace_substitute(len(leg_type.joints), rows))
    out = ca.vertcat(*s[HEAD_ACC : HEAD_ACC + 6], *memory.get("acc"))
    return ca.Function(
        "forward_dynamics", [memory.R, memory.q, memory.nu, tau], [out], ["R", "q", "nu", "tau"], ["nudot"]
    )


def _inverse(memory: _Memory) -> ca.Function:
    nudot, s = ca.SX.sym("nudot", 6 + memory.n), memory.shared
    memory.set_state()
    for i in range(6):
        s[BASE_ACCELERATION + i] = s[BASE_ACCELERATION + i] + nudot[i]
    memory.put("qdd", [nudot[6 + i] for i in range(memory.n)])
    linear, angular = (ca.vertcat(*s[BASE_ACCELERATION + i : BASE_ACCELERATION + i + 3]) for i in (0, 3))
    s[HEAD_FORCE : HEAD_FORCE + 6] = ca.vertsplit(ca.vertcat(*memory.body_terms(linear, angular)))
    memory.each_leg(trace_inverse)
    out = ca.vertcat(*s[HEAD_FORCE : HEAD_FORCE + 6], *memory.get("out"))
    return ca.Function(
        "inverse_dynamics", [memory.R, memory.q, memory.nu, nudot], [out], ["R", "q", "nu", "nudot"], ["tau"]
    )


def _tips(memory: _Memory) -> ca.Function:
    p = ca.SX.sym("p", 3)
    memory.set_state()
    memory.each_leg(trace_frames)
    tips = []
    for lane, last in zip(memory.lanes, memory.last, strict=True):
        if last >= 0:
            first = memory.rows.point + 3 * last
            tips.append(p + memory.R @ ca.vertcat(*lane[first : first + 3]))
    out = ca.horzcat(*tips) if tips else ca.SX(3, 0)
    return ca.Function("tip_positions", [memory.R, p, memory.q], [out], ["R", "p", "q"], ["tips"])
