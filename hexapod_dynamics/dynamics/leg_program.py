"""The dynamics of one leg, written once for traced scalars: what the compiled leg kernels compute.

A leg is a serial chain mounted on the body (Farghdani & Chhabra 2025, section V). Kinematics and momenta run outward
and composite inertias inward in link axes, where most entries are zero, and only the leg's share of the arrow is turned
into the body frame. Attachment, lengths and masses are read at run time; the program is specialised for joint
kinds, axes, and for parameters that are zero. Link frame j is at joint j; with all joints at zero its axes are
parallel to the mount frame's. Inertias are (m, h = m com, I about the frame's origin: xx, yy, zz, xy, xz, yz).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_dynamics.dynamics.rigid_body import add_inertia, inertia_times, move_inertia, rodrigues
from hexapod_dynamics.dynamics.tracing import Scalar, Trace, add, cross, dot, matmul, matvec, scale, transpose
from hexapod_dynamics.dynamics.workspace import BASE_ACCELERATION, LINK_SIZE, ROTOR, TWIST, Rows
from hexapod_dynamics.robot import Leg


@dataclass(frozen=True)
class LegType:
    """Properties of a leg that are constants of its program; legs with equal properties share the program.

    Such legs have one "unique leg morphology" in the paper. level_mount: the mount's z axis is the body's. nonzero:
    which of each link's LINK_SIZE parameters are not zero.
    """

    joints: tuple  # (kind, axis, pitch)
    level_mount: bool
    nonzero: tuple

    @classmethod
    def of(cls, leg: Leg) -> LegType:
        """Type of a leg."""
        rotation = leg.mount_rotation
        level = bool(np.array_equal(rotation[2], [0, 0, 1]) and np.array_equal(rotation[:, 2], [0, 0, 1]))
        joints = tuple((joint.kind, tuple(joint.axis.tolist()), joint.pitch) for joint in leg.joints)
        return cls(joints, level, tuple(tuple((row != 0).tolist()) for row in link_parameters(leg)))


def symmetric(matrix: Any) -> Any:
    """Return xx, yy, zz, xy, xz, yz of a symmetric (3, 3) matrix."""
    return np.asarray(matrix)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def link_parameters(leg: Leg) -> Any:
    """Parameters (n_i, LINK_SIZE) of a whole leg's links."""
    rows = np.zeros((len(leg.links), LINK_SIZE))
    inner = np.zeros(3)
    for row, joint, link in zip(rows, leg.joints, leg.links, strict=True):
        com = link.com_in_leg
        row[0:3] = joint.origin - inner
        row[3:6] = link.tip
        row[6], row[7:10] = link.mass, link.mass * com
        inertia = link.inertia_in_leg + link.mass * (com @ com * np.eye(3) - np.outer(com, com))
        row[10:16] = symmetric(inertia)
        row[ROTOR] = joint.rotor_inertia
        inner = joint.origin
    for group in (slice(0, 3), slice(3, 6), slice(7, 10), slice(10, 16)):
        part = rows[:, group]
        # rotation leaves rounding errors in place of 0
        part[np.abs(part) < 1e-15 * np.abs(part).max(axis=1, keepdims=True)] = 0.0
    return rows


class LegProgram:
    """Traced quantities of a leg; the functions below write kernels from them."""

    def __init__(self, leg_type: LegType, rows: Rows) -> None:
        self.trace, self.rows, self.type = Trace(), rows, leg_type
        self.n = len(leg_type.joints)
        read, zero, one = self.read, self.trace.zero, self.trace.one
        if leg_type.level_mount:
            c, s = read("mount", 0), read("mount", 3)
            self.mount_rotation: tuple[tuple[Scalar, ...], ...] = ((c, -s, zero), (s, c, zero), (zero, zero, one))
        else:
            self.mount_rotation = tuple(tuple(read("mount", 3 * i + j) for j in range(3)) for i in range(3))
        self.mount_position = tuple(read("mount", 9 + i) for i in range(3))
        links = []
        for index, nonzero in enumerate(leg_type.nonzero):
            links.append([read("links", LINK_SIZE * index + i) if keep else zero for i, keep in enumerate(nonzero)])
        self.offset = [tuple(link[0:3]) for link in links]
        self.end = [tuple(link[3:6]) for link in links]
        self.inertia = [(link[6], tuple(link[7:10]), tuple(link[10:16])) for link in links]
        self.rotor = [link[ROTOR] for link in links]
        self.mask = [read("mask", k) for k in range(self.n)]
        self._place_joints()

    def read(self, section: str, row: int) -> Any:
        """A lane's number in a section."""
        return self.trace.read("lane", getattr(self.rows, section) + row)

    def shared(self, start: int, count: int) -> tuple[Any, ...]:
        """Read numbers that all legs share."""
        return tuple(self.trace.read("shared", start + i) for i in range(count))

    def write(self, section: str, row: int, value: Any) -> None:
        """Write a result of a lane."""
        self.trace.write("lane", getattr(self.rows, section) + row, value)

    def _place_joints(self) -> None:
        """Rotation and position of every link frame in the next inner frame, and the joint's screw in its own
        frame.
        """
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

    def base_twist(self, start: int) -> tuple[Any, Any]:
        """A shared twist in the mount frame: Ad^-1 of the mount."""
        v, w = self.shared(start, 3), self.shared(start + 3, 3)
        back = transpose(self.mount_rotation)
        return matvec(back, add(v, cross(w, self.mount_position))), matvec(back, w)

    def link_wrenches(self, with_accelerations: bool) -> Any:
        """Wrench (f, m) that moves each link, in its frame: G a - ad_V^T G V, gravity and body motion included.

        Joint accelerations are read if wanted, else they are zero (the result then is the bias wrench).
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

    def collect_wrenches(self, wrenches: Any) -> tuple[Any, Any]:
        """Joint forces S^T F and the leg's wrench on the body, in the body frame."""
        joint_forces = [None] * self.n
        force, moment = wrenches[-1]
        for k in reversed(range(self.n)):
            joint_forces[k] = dot(self.axis_v[k] + self.axis_w[k], force + moment)
            force, moment = self.wrench_inward(k, force, moment)
            if k:
                force, moment = add(wrenches[k - 1][0], force), add(wrenches[k - 1][1], moment)
        return joint_forces, self.wrench_to_body(force, moment)

    def wrench_inward(self, k: int, force: Any, moment: Any) -> tuple[Any, Any]:
        """Wrench in frame k as seen in the next inner frame."""
        force, moment = matvec(self.rotation[k], force), matvec(self.rotation[k], moment)
        return force, add(moment, cross(self.position[k], force))

    def wrench_to_body(self, force: Any, moment: Any) -> Any:
        """Wrench in the mount frame as seen in the body frame, (6,)."""
        force, moment = matvec(self.mount_rotation, force), matvec(self.mount_rotation, moment)
        return force + add(moment, cross(self.mount_position, force))

    def arrow(self) -> tuple[Any, Any, Any]:
        """Composite inertia on the body (body frame), arm columns and lower triangle of the block, masked.

        Composite rigid bodies, as the sums over j >= k of (31) and (32) demand; a locked or missing joint has
        zeros in its row and column, and 1 on the diagonal.
        """
        n, one = self.n, self.trace.one
        composite = self.inertia[-1]
        arms, block = [None] * n, {}
        for k in reversed(range(n)):
            if k < n - 1:
                composite = add_inertia(self.inertia[k], composite)
            force, moment = inertia_times(composite, self.axis_v[k], self.axis_w[k])
            force, moment = scale(self.mask[k], force), scale(self.mask[k], moment)
            rotor = self.mask[k] * self.rotor[k]
            block[k, k] = dot(self.axis_v[k] + self.axis_w[k], force + moment) + rotor + (one - self.mask[k])
            for inner in reversed(range(k)):
                force, moment = self.wrench_inward(inner + 1, force, moment)
                screw = self.axis_v[inner] + self.axis_w[inner]
                block[k, inner] = self.mask[inner] * dot(screw, force + moment)
            force, moment = self.wrench_inward(0, force, moment)
            arms[k] = self.wrench_to_body(force, moment)
            composite = move_inertia(composite, self.rotation[k], self.position[k])
        composite = move_inertia(composite, self.mount_rotation, self.mount_position)
        return composite, arms, block

    def geometry(self) -> tuple[Any, Any]:
        """Joint screws J^k (6,) and the links' ends (3,) now, in the body frame."""
        rotation, origin = self.mount_rotation, self.mount_position
        screws, ends = [], []
        for k in range(self.n):
            origin = add(origin, matvec(rotation, self.position[k]))
            # the joint turns about its own axis, so the axis is the same in inner axes
            s_w = matvec(rotation, self.axis_w[k])
            s_v = matvec(rotation, self.axis_v[k])
            screws.append(add(s_v, cross(origin, s_w)) + s_w)
            rotation = matmul(rotation, self.rotation[k])
            ends.append(add(origin, matvec(rotation, self.end[k])))
        return screws, ends
