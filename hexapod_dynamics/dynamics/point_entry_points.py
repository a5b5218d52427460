"""Compiled entry points for links and points on them: poses, Jacobians, acceleration bias; see entry_points.py.

A link is given as an int64 array (3,): its leg's index, its place in the leg, its joint's index. Screws, ends and
rotations of link frames come from the kernel `frames`, in the body frame.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.compiled import entry, inline_kernel
from hexapod_dynamics.dynamics.entry_points import is_finite, is_rotation, open_call, set_q
from hexapod_dynamics.dynamics.kernels import run_kernels
from hexapod_dynamics.dynamics.matrix_entry_points import clear
from hexapod_dynamics.dynamics.native import (
    answer,
    integers,
    integers_at,
    matrix,
    new_dict,
    new_matrix,
    new_vector,
    peek,
    put_pair,
    refusal,
    vector,
    view,
)
from hexapod_dynamics.dynamics.workspace import BASE_POSE, FRAMES, LINK_SIZE, POSES


@inline_kernel
def has_link(ws, leg, k):
    """Whether a leg has its k-th link still."""
    return ws.legs[leg, 4] >= k


@inline_kernel
def set_frames(ws, flat, free, q):
    """Compute screws, ends and frames at q; whether q is good."""
    if q.shape[0] != ws.joints.shape[0] or not set_q(ws, flat, free, q):
        return False
    run_kernels(ws, FRAMES)
    return True


@inline_kernel
def axes_in_body(ws, leg, k):
    """Axes of a link, three vectors in the body frame."""
    block, lane, f, axes, lanes = (
        ws.legs[leg, 0],
        ws.legs[leg, 1],
        ws.rows.frame + 9 * k,
        ws.rows.axes + 9 * k,
        ws.lanes,
    )
    a, b, c = peek(lanes, block, f, lane), peek(lanes, block, f + 1, lane), peek(lanes, block, f + 2, lane)
    d, e, g = peek(lanes, block, f + 3, lane), peek(lanes, block, f + 4, lane), peek(lanes, block, f + 5, lane)
    h, i, j = peek(lanes, block, f + 6, lane), peek(lanes, block, f + 7, lane), peek(lanes, block, f + 8, lane)
    x, y, z = peek(lanes, block, axes, lane), peek(lanes, block, axes + 3, lane), peek(lanes, block, axes + 6, lane)
    u, v, w = peek(lanes, block, axes + 1, lane), peek(lanes, block, axes + 4, lane), peek(lanes, block, axes + 7, lane)
    p, q, r = peek(lanes, block, axes + 2, lane), peek(lanes, block, axes + 5, lane), peek(lanes, block, axes + 8, lane)
    return (
        (a * x + b * y + c * z, d * x + e * y + g * z, h * x + i * y + j * z),
        (a * u + b * v + c * w, d * u + e * v + g * w, h * u + i * v + j * w),
        (a * p + b * q + c * r, d * p + e * q + g * r, h * p + i * q + j * r),
    )


@inline_kernel
def link_start(ws, leg, k):
    """Where a link begins, in the body frame: its end less what its frame turns the end into."""
    block, lane, lanes = ws.legs[leg, 0], ws.legs[leg, 1], ws.lanes
    f, p, link = ws.rows.frame + 9 * k, ws.rows.point + 3 * k, ws.rows.links + LINK_SIZE * k + 3
    x, y, z = peek(lanes, block, link, lane), peek(lanes, block, link + 1, lane), peek(lanes, block, link + 2, lane)
    return (
        peek(lanes, block, p, lane)
        - (peek(lanes, block, f, lane) * x + peek(lanes, block, f + 1, lane) * y + peek(lanes, block, f + 2, lane) * z),
        peek(lanes, block, p + 1, lane)
        - (
            peek(lanes, block, f + 3, lane) * x
            + peek(lanes, block, f + 4, lane) * y
            + peek(lanes, block, f + 5, lane) * z
        ),
        peek(lanes, block, p + 2, lane)
        - (
            peek(lanes, block, f + 6, lane) * x
            + peek(lanes, block, f + 7, lane) * y
            + peek(lanes, block, f + 8, lane) * z
        ),
    )


@inline_kernel
def point_place(ws, leg, k, point):
    """Place in the body frame of a point (3,) given in a link's axes."""
    x, y, z = link_start(ws, leg, k)
    a, b, c = axes_in_body(ws, leg, k)
    return (
        x + a[0] * point[0] + b[0] * point[1] + c[0] * point[2],
        y + a[1] * point[0] + b[1] * point[1] + c[1] * point[2],
        z + a[2] * point[0] + b[2] * point[1] + c[2] * point[2],
    )


@inline_kernel
def first_column(ws, free, leg):
    """Column of the leg's first moving joint."""
    column, first = 6, ws.legs[leg, 2]
    while column - 6 < free.shape[0] and free[column - 6, 0] < first:
        column += 1
    return column


@inline_kernel
def point_velocity(ws, block, lane, k, x, y, z):
    """Velocity of the body-frame point (x, y, z) at unit rate of joint k."""
    lanes, s = ws.lanes, ws.rows.screw + 6 * k
    wx, wy, wz = peek(lanes, block, s + 3, lane), peek(lanes, block, s + 4, lane), peek(lanes, block, s + 5, lane)
    return (
        peek(lanes, block, s, lane) + wy * z - wz * y,
        peek(lanes, block, s + 1, lane) + wz * x - wx * z,
        peek(lanes, block, s + 2, lane) + wx * y - wy * x,
    )


@inline_kernel
def write_point_jacobian(ws, free, leg, k, x, y, z, J):
    """Jacobian (3, 6 + n) of the velocity of the body-frame point (x, y, z) of a link."""
    clear(J)
    J[0, 0] = J[1, 1] = J[2, 2] = 1.0
    J[0, 4], J[0, 5] = z, -y
    J[1, 3], J[1, 5] = -z, x
    J[2, 3], J[2, 4] = y, -x
    column = first_column(ws, free, leg)
    for inner in range(k + 1):
        if ws.moving[ws.legs[leg, 2] + inner] != 0.0:
            column_of = point_velocity(ws, ws.legs[leg, 0], ws.legs[leg, 1], inner, x, y, z)
            J[0, column], J[1, column], J[2, column] = column_of
            column += 1


@entry
def point_jacobian(runtime, arguments, count):
    """(memory, q, point, link): Jacobian (3, 6 + n) of a link's point (3,), in its axes; velocity in body axes."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    q, point, link = vector(words, objects[1]), vector(words, objects[2]), integers_at(integers(objects[3]), (3,))
    if point.shape[0] != 3 or not has_link(ws, link[0], link[1]) or not set_frames(ws, flat, free, q):
        return refusal(words)
    x, y, z = point_place(ws, link[0], link[1], point)
    made, J = new_matrix(words, 3, 6 + free.shape[0])
    if made != 0:
        write_point_jacobian(ws, free, link[0], link[1], x, y, z, J)
    total = x + y + z
    return answer(words, made, total - total == 0.0)


@inline_kernel
def bias_at(ws, free, leg, k, x, y, z, nu):
    """Jdot nu (3,) of the body-frame point (x, y, z) of a link, and its velocity as the body sees it.

    Needs the frames. With the joints further in moving at the twist (b, c), joint's screw (v, w), point r, slide u:
    d/dt (v + w x r) = c x v + b x w + (c x w) x r + w x u, and c is made up joint by joint; the body turns with w_0.
    """
    block, lane, lanes = ws.legs[leg, 0], ws.legs[leg, 1], ws.lanes
    start = column = first_column(ws, free, leg)
    ux = uy = uz = 0.0  # of the point, seen from the body
    for inner in range(k + 1):
        if ws.moving[ws.legs[leg, 2] + inner] != 0.0:
            dx, dy, dz = point_velocity(ws, block, lane, inner, x, y, z)
            ux, uy, uz = ux + dx * nu[column], uy + dy * nu[column], uz + dz * nu[column]
            column += 1
    ox, oy, oz = nu[3], nu[4], nu[5]
    ax, ay, az = oy * uz - oz * uy, oz * ux - ox * uz, ox * uy - oy * ux
    bx = by = bz = cx = cy = cz = 0.0  # twist of the joints further in, seen from the body
    column = start
    for inner in range(k + 1):
        if ws.moving[ws.legs[leg, 2] + inner] == 0.0:
            continue
        s, rate = ws.rows.screw + 6 * inner, nu[column]
        column += 1
        vx, vy, vz = peek(lanes, block, s, lane), peek(lanes, block, s + 1, lane), peek(lanes, block, s + 2, lane)
        wx, wy, wz = peek(lanes, block, s + 3, lane), peek(lanes, block, s + 4, lane), peek(lanes, block, s + 5, lane)
        ex, ey, ez = cy * wz - cz * wy, cz * wx - cx * wz, cx * wy - cy * wx  # rate of the axis
        ax += rate * ((cy * vz - cz * vy) + (by * wz - bz * wy) + (ey * z - ez * y) + (wy * uz - wz * uy))
        ay += rate * ((cz * vx - cx * vz) + (bz * wx - bx * wz) + (ez * x - ex * z) + (wz * ux - wx * uz))
        az += rate * ((cx * vy - cy * vx) + (bx * wy - by * wx) + (ex * y - ey * x) + (wx * uy - wy * ux))
        bx, by, bz = bx + rate * vx, by + rate * vy, bz + rate * vz
        cx, cy, cz = cx + rate * wx, cy + rate * wy, cz + rate * wz
    return ax, ay, az, ux, uy, uz


@entry
def point_bias(runtime, arguments, count):
    """(memory, q, nu, point, link): Jdot nu (3,) of a link's point, in body axes."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    q, nu, point = vector(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    link = integers_at(integers(objects[4]), (3,))
    if nu.shape[0] != 6 + free.shape[0] or point.shape[0] != 3 or not has_link(ws, link[0], link[1]):
        return refusal(words)
    if not set_frames(ws, flat, free, q):
        return refusal(words)
    x, y, z = point_place(ws, link[0], link[1], point)
    made, out = new_vector(words, 3)
    if made == 0:
        return made
    out[0], out[1], out[2], _, _, _ = bias_at(ws, free, link[0], link[1], x, y, z, nu)
    return answer(words, made, is_finite(out) and is_finite(nu))


@entry
def tip(runtime, arguments, count):
    """(memory, q, link): Jacobian (6, 6 + n) of the tip of the leg of that link, in the axes of its last link."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    q, link = vector(words, objects[1]), integers_at(integers(objects[2]), (3,))
    if not has_link(ws, link[0], 0) or not set_frames(ws, flat, free, q):
        return refusal(words)
    made, out = new_matrix(words, 6, 6 + free.shape[0])
    if made != 0:
        _write_tip(ws, free, link[0], out)
    return made


@inline_kernel
def _write_tip(ws, free, leg, out):
    clear(out)
    lanes, rows = ws.lanes, ws.rows
    block, lane, first_joint, last = ws.legs[leg, 0], ws.legs[leg, 1], ws.legs[leg, 2], ws.legs[leg, 4]
    point, at = rows.point + 3 * last, first_column(ws, free, leg)
    px, py, pz = (
        peek(lanes, block, point, lane),
        peek(lanes, block, point + 1, lane),
        peek(lanes, block, point + 2, lane),
    )
    # rows of the inverse rotation: the tip frame's axes a, b, c in the body frame
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = axes_in_body(ws, leg, last)
    # row . (v + w x p) = row . v + (p x row) . w
    dx, dy, dz = py * az - pz * ay, pz * ax - px * az, px * ay - py * ax
    ex, ey, ez = py * bz - pz * by, pz * bx - px * bz, px * by - py * bx
    fx, fy, fz = py * cz - pz * cy, pz * cx - px * cz, px * cy - py * cx
    out[0, 0], out[0, 1], out[0, 2], out[0, 3], out[0, 4], out[0, 5] = ax, ay, az, dx, dy, dz
    out[1, 0], out[1, 1], out[1, 2], out[1, 3], out[1, 4], out[1, 5] = bx, by, bz, ex, ey, ez
    out[2, 0], out[2, 1], out[2, 2], out[2, 3], out[2, 4], out[2, 5] = cx, cy, cz, fx, fy, fz
    out[3, 3], out[3, 4], out[3, 5] = ax, ay, az
    out[4, 3], out[4, 4], out[4, 5] = bx, by, bz
    out[5, 3], out[5, 4], out[5, 5] = cx, cy, cz
    for k in range(last + 1):
        if ws.moving[first_joint + k] == 0.0:
            continue
        s = rows.screw + 6 * k
        vx, vy, vz = peek(lanes, block, s, lane), peek(lanes, block, s + 1, lane), peek(lanes, block, s + 2, lane)
        wx, wy, wz = peek(lanes, block, s + 3, lane), peek(lanes, block, s + 4, lane), peek(lanes, block, s + 5, lane)
        out[0, at] = (ax * vx + ay * vy + az * vz) + (dx * wx + dy * wy + dz * wz)
        out[1, at] = (bx * vx + by * vy + bz * vz) + (ex * wx + ey * wy + ez * wz)
        out[2, at] = (cx * vx + cy * vy + cz * vz) + (fx * wx + fy * wy + fz * wz)
        out[3, at] = ax * wx + ay * wy + az * wz
        out[4, at] = bx * wx + by * wy + bz * wz
        out[5, at] = cx * wx + cy * wy + cz * wz
        at += 1


@entry
def poses(runtime, arguments, count):
    """(memory, R, p, q, names): dict of rotation (3, 3) and start (3,) in the world of each existing link, by name."""
    words, objects, ws, flat, free = open_call(runtime, arguments, count)
    rotation, position, q = matrix(words, objects[1]), vector(words, objects[2]), vector(words, objects[3])
    good = is_rotation(rotation) and position.shape[0] == 3 and is_finite(position)
    if not (good and q.shape[0] == ws.joints.shape[0] and set_q(ws, flat, free, q)):
        return refusal(words)
    for r in range(3):
        for c in range(3):
            ws.shared[BASE_POSE + 3 * r + c] = rotation[r, c]
        ws.shared[BASE_POSE + 9 + r] = position[r]
    run_kernels(ws, POSES)
    links = 0
    for leg in range(ws.legs.shape[0]):
        links += ws.legs[leg, 4] + 1
    base, numbers = new_matrix(words, links, 12)
    if base == 0:
        return base
    index = 0
    for leg in range(ws.legs.shape[0]):
        block, lane = ws.legs[leg, 0], ws.legs[leg, 1]
        for k in range(ws.legs[leg, 4] + 1):
            for i in range(12):
                numbers[index, i] = peek(ws.lanes, block, ws.rows.pose + 12 * k + i, lane)
            index += 1
    # From here on a collection of garbage may call the model: its memory is not used any more.
    result = new_dict(words)
    good = result != 0
    for index in range(links):
        if good:
            turned, start = view(words, base, (3, 3), 12 * index), view(words, base, (3,), 12 * index + 9)
            good = put_pair(words, result, objects[4], index, turned, start)
    answer(words, base, False)  # the views keep it
    if not good:
        answer(words, result, False)
        return np.int64(0)
    return result
