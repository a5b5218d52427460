"""The dynamics of one leg, written once for traced scalars: what the compiled leg kernels compute.

A leg is a serial chain mounted on the body (Farghdani & Chhabra 2025, section V). Kinematics and momenta run outward
and composite inertias inward in link axes, where most entries are zero, and only the leg's share of the arrow is turned
into the body frame. Attachment, lengths and masses are read at run time; joint kinds and axes, and which of the
parameters are zero, are folded into the program. Link frame j sits on joint j with axes that are parallel to the mount
frame's at zero. Inertias are (m, h = m com, I about the frame's origin: xx, yy, zz, xy, xz, yz).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.dynamics.tracing import Trace, add, cross, dot, matmul, matvec, scale, transpose
from hexapod_dynamics.robot import Leg

LINK_SIZE = 16  # offset 3 (from the inner joint, in its axes), end 3, mass 1, h 3, inertia 6

# What all legs share: first places in Workspace.shared.
TWIST = 0  # body twist V
BASE_ACCELERATION = 6  # acceleration given to the body, gravity taken as an upward acceleration
COMPOSITE = 12  # OUT of terms: sum over the legs of (m, h, I) in the body frame
HEAD = 22  # 6x6 head of the arrow, lower triangle, row r column c at r (r + 1) / 2 + c
HEAD_FORCE = 43  # right-hand side of the body's rows
HEAD_ACC = 49  # accelerations of the body
EXTERNAL = 55  # wrench on the body, body frame
GRAVITY = 61  # gravity acceleration, a positive number
BODY = 62  # (m, h, I) of the main body
SHARED_SIZE = 72


class Rows(NamedTuple):
    """First row of each section of a block's memory, for legs of up to `count` joints."""

    count: int
    mount: int  # rotation 9 row by row, position 3
    links: int  # LINK_SIZE for each link
    mask: int  # 1 moves, 0 locked or missing
    q: int
    rate: int
    torque: int
    qdd: int  # IN of inverse
    arm: int
    block: int
    force: int
    screw: int
    point: int
    factor: int  # L below the diagonal
    scaled: int  # T = D^-1 L^-1 A^T, 6 for each joint
    reduced: int  # D^-1 L^-1 force
    acc: int
    out: int  # OUT of inverse: joint torques
    size: int

    @classmethod
    def of(cls, count: int) -> Rows:
        """Layout for legs of up to `count` joints."""
        triangle = count * (count + 1) // 2
        sizes = (12, LINK_SIZE * count, count, count, count, count, count)
        sizes += (6 * count, triangle, count, 6 * count, 3 * count, triangle - count, 6 * count, count, count, count)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(count, *(int(start) for start in starts))


@dataclass(frozen=True)
class LegType:
    """What of a leg is folded into its program: legs of one type share it ("unique leg morphology")."""

    joints: tuple  # (kind, axis, pitch)
    level_mount: bool  # the mount's z is the body's z
    nonzero: tuple  # of each link's LINK_SIZE parameters

    @classmethod
    def of(cls, leg: Leg) -> LegType:
        """Type of a leg."""
        rotation = leg.mount_rotation
        level = bool(np.array_equal(rotation[2], [0, 0, 1]) and np.array_equal(rotation[:, 2], [0, 0, 1]))
        joints = tuple((joint.kind, tuple(joint.axis.tolist()), joint.pitch) for joint in leg.joints)
        return cls(joints, level, tuple(tuple((row != 0).tolist()) for row in link_parameters(leg)))


def link_parameters(leg: Leg) -> np.ndarray:
    """Parameters (n_i, LINK_SIZE) of a whole leg's links."""
    rows = np.zeros((len(leg.links), LINK_SIZE))
    inner = np.zeros(3)
    for row, joint, link in zip(rows, leg.joints, leg.links, strict=True):
        com = link.com_in_leg
        row[0:3] = joint.origin - inner
        row[3:6] = link.tip
        row[6], row[7:10] = link.mass, link.mass * com
        inertia = link.inertia_in_leg + link.mass * (com @ com * np.eye(3) - np.outer(com, com))
        row[10:16] = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        inner = joint.origin
    for group in (slice(0, 3), slice(3, 6), slice(7, 10), slice(10, 16)):
        part = rows[:, group]
        part[np.abs(part) < 1e-15 * np.abs(part).max(axis=1, keepdims=True)] = 0.0  # rotation leaves dust in place of 0
    return rows


class LegProgram:
    """Traced quantities of a leg; the functions below write kernels from them."""

    def __init__(self, leg_type: LegType, rows: Rows):
        self.trace, self.rows, self.type = Trace(), rows, leg_type
        self.n = len(leg_type.joints)
        read, zero, one = self.read, self.trace.zero, self.trace.one
        if leg_type.level_mount:
            c, s = read("mount", 0), read("mount", 3)
            self.mount_rotation = ((c, -s, zero), (s, c, zero), (zero, zero, one))
        else:
            self.mount_rotation = tuple(tuple(read("mount", 3 * i + j) for j in range(3)) for i in range(3))
        self.mount_position = tuple(read("mount", 9 + i) for i in range(3))
        links = []
        for index, nonzero in enumerate(leg_type.nonzero):
            links.append([read("links", LINK_SIZE * index + i) if keep else zero for i, keep in enumerate(nonzero)])
        self.offset = [tuple(link[0:3]) for link in links]
        self.end = [tuple(link[3:6]) for link in links]
        self.inertia = [(link[6], tuple(link[7:10]), tuple(link[10:16])) for link in links]
        self.mask = [read("mask", k) for k in range(self.n)]
        self._place_joints()

    def read(self, section: str, row: int):
        """One lane's number in a section."""
        return self.trace.read("lane", getattr(self.rows, section) + row)

    def shared(self, start: int, count: int):
        """Numbers that all legs share."""
        return tuple(self.trace.read("shared", start + i) for i in range(count))

    def write(self, section: str, row: int, value):
        """Result of one lane."""
        self.trace.write("lane", getattr(self.rows, section) + row, value)

    def _place_joints(self):
        """Rotation and position of every link frame in the next inner one, and the joint's screw in its own frame."""
        trace = self.trace
        self.rotation, self.position, self.axis_v, self.axis_w = [], [], [], []
        for k, (kind, axis, pitch) in enumerate(self.type.joints):
            q = self.read("q", k)
            axis = tuple(trace.constant(component) for component in axis)
            nothing = (trace.zero,) * 3
            position = self.offset[k]
            if kind == "prismatic":
                rotation = ((trace.one, trace.zero, trace.zero), (trace.zero, trace.one, trace.zero))
                self.rotation.append((*rotation, (trace.zero, trace.zero, trace.one)))
                self.position.append(add(position, scale(q, axis)))
                self.axis_v.append(axis)
                self.axis_w.append(nothing)
                continue
            self.rotation.append(rodrigues(axis, *q.sincos()))
            along = scale(trace.constant(pitch), axis)
            self.position.append(add(position, scale(q, along)))
            self.axis_v.append(along)
            self.axis_w.append(axis)

    # ---- outward -------------------------------------------------------------------------------------------------

    def base_twist(self, start: int):
        """A shared twist in the mount frame: Ad^-1 of the mount."""
        v, w = self.shared(start, 3), self.shared(start + 3, 3)
        back = transpose(self.mount_rotation)
        return matvec(back, add(v, cross(w, self.mount_position))), matvec(back, w)

    def link_wrenches(self, with_accelerations: bool):
        """Wrench (f, m) that moves each link, in its frame: G a - ad_V^T G V, gravity and body motion included.

        Joint accelerations are read where wanted, else zero (then these are the bias wrenches).
        """
        v, w = self.base_twist(TWIST)
        a, b = self.base_twist(BASE_ACCELERATION)  # linear, angular
        wrenches = []
        for k in range(self.n):
            back, p, s_v, s_w = transpose(self.rotation[k]), self.position[k], self.axis_v[k], self.axis_w[k]
            rate = self.read("rate", k)
            v, w = matvec(back, add(v, cross(w, p))), matvec(back, w)
            a, b = matvec(back, add(a, cross(b, p))), matvec(back, b)
            # ad_V (S qdot), the same with V before or after the joint's own rate is added
            a = add(a, scale(rate, add(cross(w, s_v), cross(v, s_w))))
            b = add(b, scale(rate, cross(w, s_w)))
            v, w = add(v, scale(rate, s_v)), add(w, scale(rate, s_w))
            if with_accelerations:
                qdd = self.read("qdd", k)
                a, b = add(a, scale(qdd, s_v)), add(b, scale(qdd, s_w))
            momentum, spin = inertia_times(self.inertia[k], v, w)
            force, moment = inertia_times(self.inertia[k], a, b)
            force = add(force, cross(w, momentum))
            moment = add(moment, add(cross(v, momentum), cross(w, spin)))
            wrenches.append((force, moment))
        return wrenches

    # ---- inward --------------------------------------------------------------------------------------------------

    def collect_wrenches(self, wrenches):
        """Joint forces S^T F and the leg's wrench on the body, in the body frame."""
        joint_forces = [None] * self.n
        force, moment = wrenches[-1]
        for k in reversed(range(self.n)):
            joint_forces[k] = dot(self.axis_v[k] + self.axis_w[k], force + moment)
            force, moment = self.wrench_inward(k, force, moment)
            if k:
                force, moment = add(wrenches[k - 1][0], force), add(wrenches[k - 1][1], moment)
        return joint_forces, self.wrench_to_body(force, moment)

    def wrench_inward(self, k: int, force, moment):
        """Wrench in frame k as seen in the next inner frame."""
        force, moment = matvec(self.rotation[k], force), matvec(self.rotation[k], moment)
        return force, add(moment, cross(self.position[k], force))

    def wrench_to_body(self, force, moment):
        """Wrench in the mount frame as seen in the body frame, (6,)."""
        force, moment = matvec(self.mount_rotation, force), matvec(self.mount_rotation, moment)
        return force + add(moment, cross(self.mount_position, force))

    def arrow(self):
        """Composite inertia on the body (body frame), arm columns and lower triangle of the block, masked.

        Composite rigid bodies, as the sums over j >= k of (31) and (32) demand; a locked or missing joint has a zero
        row and column, and one on the diagonal.
        """
        n, one = self.n, self.trace.one
        composite = self.inertia[-1]
        arms, block = [None] * n, {}
        for k in reversed(range(n)):
            if k < n - 1:
                composite = add_inertia(self.inertia[k], composite)
            force, moment = inertia_times(composite, self.axis_v[k], self.axis_w[k])
            force, moment = scale(self.mask[k], force), scale(self.mask[k], moment)
            block[k, k] = dot(self.axis_v[k] + self.axis_w[k], force + moment) + (one - self.mask[k])
            for inner in reversed(range(k)):
                force, moment = self.wrench_inward(inner + 1, force, moment)
                screw = self.axis_v[inner] + self.axis_w[inner]
                block[k, inner] = self.mask[inner] * dot(screw, force + moment)
            force, moment = self.wrench_inward(0, force, moment)
            arms[k] = self.wrench_to_body(force, moment)
            composite = move_inertia(composite, self.rotation[k], self.position[k])
        composite = move_inertia(composite, self.mount_rotation, self.mount_position)
        return composite, arms, block

    def geometry(self):
        """Joint screws J^k (6,) and the links' ends (3,) now, in the body frame."""
        rotation, origin = self.mount_rotation, self.mount_position
        screws, ends = [], []
        for k in range(self.n):
            origin = add(origin, matvec(rotation, self.position[k]))
            s_w = matvec(rotation, self.axis_w[k])  # the joint turns about its own axis: inner axes will do
            s_v = matvec(rotation, self.axis_v[k])
            screws.append(add(s_v, cross(origin, s_w)) + s_w)
            rotation = matmul(rotation, self.rotation[k])
            ends.append(add(origin, matvec(rotation, self.end[k])))
        return screws, ends


# ---- kernels -------------------------------------------------------------------------------------------------------


def trace_terms(leg_type: LegType, rows: Rows) -> Trace:
    """Arrow, right-hand side and geometry, open for further terms."""
    leg = LegProgram(leg_type, rows)
    composite, arms, block = leg.arrow()
    joint_bias, head_bias = leg.collect_wrenches(leg.link_wrenches(with_accelerations=False))
    screws, ends = leg.geometry()
    mass, h, inertia = composite
    for i, value in enumerate((mass, *h, *inertia)):
        leg.trace.write("sum", COMPOSITE + i, value)
    for i, value in enumerate(head_bias):
        leg.trace.write("sum", HEAD_FORCE + i, -value)
    for k in range(leg.n):
        for i in range(6):
            leg.write("arm", 6 * k + i, arms[k][i])
            leg.write("screw", 6 * k + i, screws[k][i])
        for i in range(3):
            leg.write("point", 3 * k + i, ends[k][i])
        leg.write("force", k, leg.mask[k] * (leg.read("torque", k) - joint_bias[k]))
        for inner in range(k + 1):
            leg.write("block", k * (k + 1) // 2 + inner, block[k, inner])
    return leg.trace


def trace_eliminate(count: int, rows: Rows) -> Trace:
    """Schur complement of a leg's block onto the head, from the memory that `terms` wrote."""
    leg = _Memory(rows)
    arms = [[leg.read("arm", 6 * k + i) for i in range(6)] for k in range(count)]
    block = {(k, i): leg.read("block", k * (k + 1) // 2 + i) for k in range(count) for i in range(k + 1)}
    force = [leg.read("force", k) for k in range(count)]
    head, head_force = eliminate(leg, count, arms, block, force)
    for i, value in enumerate(head):
        leg.trace.write("sum", HEAD + i, -value)
    for i, value in enumerate(head_force):
        leg.trace.write("sum", HEAD_FORCE + i, -value)
    return leg.trace


def trace_forward(leg_type: LegType, rows: Rows) -> Trace:
    """`terms` without geometry and `eliminate` in one."""
    leg = LegProgram(leg_type, rows)
    composite, arms, block = leg.arrow()
    joint_bias, head_bias = leg.collect_wrenches(leg.link_wrenches(with_accelerations=False))
    force = [leg.mask[k] * (leg.read("torque", k) - joint_bias[k]) for k in range(leg.n)]
    head, head_force = eliminate(leg, leg.n, arms, block, force)
    for i, (own, lost) in enumerate(zip(spatial_lower(composite, leg.trace.zero), head, strict=True)):
        leg.trace.write("sum", HEAD + i, own - lost)
    for i, (own, lost) in enumerate(zip(head_bias, head_force, strict=True)):
        leg.trace.write("sum", HEAD_FORCE + i, -(own + lost))
    return leg.trace


def trace_substitute(count: int, rows: Rows) -> Trace:
    """Joint accelerations of a leg from the body's: x = L^-T (D^-1 L^-1 force - T a)."""
    leg = _Memory(rows)
    head = [leg.trace.read("shared", HEAD_ACC + i) for i in range(6)]
    acc = [None] * count
    for k in reversed(range(count)):
        value = leg.read("reduced", k)
        for i in range(6):
            value = value - leg.read("scaled", 6 * k + i) * head[i]
        for outer in range(k + 1, count):
            value = value - leg.read("factor", outer * (outer - 1) // 2 + k) * acc[outer]
        acc[k] = value
    for k in range(count):
        leg.write("acc", k, acc[k])
    return leg.trace


def trace_inverse(leg_type: LegType, rows: Rows) -> Trace:
    """Joint torques and the leg's wrench on the body for given accelerations."""
    leg = LegProgram(leg_type, rows)
    joint_forces, wrench = leg.collect_wrenches(leg.link_wrenches(with_accelerations=True))
    for k in range(leg.n):
        leg.write("out", k, joint_forces[k])
    for i, value in enumerate(wrench):
        leg.trace.write("sum", HEAD_FORCE + i, value)
    return leg.trace


def trace_solve_head() -> Trace:
    """HEAD_ACC = HEAD^-1 HEAD_FORCE by L D L^T of the 6x6 head."""
    trace = Trace()
    head = {(r, c): trace.read("shared", HEAD + r * (r + 1) // 2 + c) for r in range(6) for c in range(r + 1)}
    force = [trace.read("shared", HEAD_FORCE + i) for i in range(6)]
    lower, pivots = ldl(head, 6)
    y = forward_substitute(lower, force)
    x = [None] * 6
    for k in reversed(range(6)):
        value = y[k] * pivots[k]
        for outer in range(k + 1, 6):
            value = value - lower[outer, k] * x[outer]
        x[k] = value
    for i in range(6):
        trace.write("shared", HEAD_ACC + i, x[i])
    return trace


class _Memory:
    """Read and write a block's memory without the leg's formulas."""

    def __init__(self, rows: Rows):
        self.trace, self.rows = Trace(), rows

    read, write = LegProgram.read, LegProgram.write


def eliminate(leg, count: int, arms, block, force):
    """A D^-1 A^T (lower triangle, 21) and A D^-1 force (6); writes L, T and the reduced force for `substitute`."""
    lower, pivots = ldl(block, count)
    columns = [forward_substitute(lower, [arms[k][i] for k in range(count)]) for i in range(6)]
    reduced = forward_substitute(lower, force)
    head = [leg.trace.zero] * 21
    head_force = [leg.trace.zero] * 6
    for k in range(count):
        scaled = [columns[i][k] * pivots[k] for i in range(6)]
        for r in range(6):
            leg.write("scaled", 6 * k + r, scaled[r])
            head_force[r] = head_force[r] + scaled[r] * reduced[k]
            for c in range(r + 1):
                head[r * (r + 1) // 2 + c] = head[r * (r + 1) // 2 + c] + scaled[r] * columns[c][k]
        leg.write("reduced", k, reduced[k] * pivots[k])
        for inner in range(k):
            leg.write("factor", k * (k - 1) // 2 + inner, lower[k, inner])
    return head, head_force


def ldl(matrix: dict, count: int):
    """Unit lower triangle L and inverse pivots of matrix = L D L^T, from its lower triangle."""
    lower, pivots = {}, []
    for r in range(count):
        scaled = {}
        for c in range(r):
            value = matrix[r, c]
            for k in range(c):
                value = value - scaled[k] * lower[c, k]
            scaled[c] = value  # L_rc D_c
            lower[r, c] = value * pivots[c]
        pivot = matrix[r, r]
        for c in range(r):
            pivot = pivot - scaled[c] * lower[r, c]
        pivots.append(1.0 / pivot)
    return lower, pivots


def forward_substitute(lower: dict, vector):
    """L^-1 vector."""
    result = []
    for r, value in enumerate(vector):
        for c in range(r):
            value = value - lower[r, c] * result[c]
        result.append(value)
    return result


# ---- rigid bodies --------------------------------------------------------------------------------------------------


def rodrigues(axis, sine, cosine):
    """Rotation about a unit axis: cos I + sin [a] + (1 - cos) a a^T."""
    x, y, z = axis
    rest = 1.0 - cosine
    return (
        (cosine + rest * (x * x), rest * (x * y) - sine * z, rest * (x * z) + sine * y),
        (rest * (x * y) + sine * z, cosine + rest * (y * y), rest * (y * z) - sine * x),
        (rest * (x * z) - sine * y, rest * (y * z) + sine * x, cosine + rest * (z * z)),
    )


def symmetric_times(inertia, a):
    """Symmetric matrix (xx, yy, zz, xy, xz, yz) times a vector."""
    xx, yy, zz, xy, xz, yz = inertia
    return (dot((xx, xy, xz), a), dot((xy, yy, yz), a), dot((xz, yz, zz), a))


def inertia_times(body, v, w):
    """Momentum (p, L) of a body with twist (v, w): p = m v + w x h, L = h x v + I w."""
    mass, h, inertia = body
    return add(scale(mass, v), cross(w, h)), add(cross(h, v), symmetric_times(inertia, w))


def add_inertia(a, b):
    """Two bodies as one, in the same frame."""
    return a[0] + b[0], add(a[1], b[1]), add(a[2], b[2])


def move_inertia(body, rotation, position):
    """A body's inertia as seen in the frame in which its own frame has this rotation and position."""
    mass, h, (xx, yy, zz, xy, xz, yz) = body
    turned = matmul(matmul(rotation, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))), transpose(rotation))
    h = matvec(rotation, h)
    # about the new origin: I + (2 p.h + m p.p) 1 - (p h^T + h p^T + m p p^T)
    (x, y, z), moved = position, add(h, scale(mass, position))
    gx, gy, gz = (component * both for component, both in zip(position, add(h, moved), strict=True))
    return (
        mass,
        moved,
        (
            turned[0][0] + (gy + gz),
            turned[1][1] + (gx + gz),
            turned[2][2] + (gx + gy),
            turned[0][1] - (x * moved[1] + y * h[0]),
            turned[0][2] - (x * moved[2] + z * h[0]),
            turned[1][2] - (y * moved[2] + z * h[1]),
        ),
    )


def spatial_lower(body, zero):
    """Lower triangle (21) of the generalised mass matrix [[m, -[h]], [[h], I]] of (m, h, I)."""
    mass, (hx, hy, hz), (xx, yy, zz, xy, xz, yz) = body
    return (
        (mass,)
        + (zero, mass)
        + (zero, zero, mass)
        + (zero, -hz, hy, xx)
        + (hz, zero, -hx, xy, yy)
        + (-hy, hx, zero, xz, yz, zz)
    )
