"""Ground contact of link ends and body corners, treated implicitly: its forces are those at the end of the step.

At a point at the depth -d below the surface (d < 0), with n the ground's normal, v the point's velocity and v_t
its tangential part:

    f_n = max(0, -K d - B v_n)
    f_t = -v_t min(b, mu f_n / |v_t|)     Coulomb's cone, regularised: a contact at rest creeps at |f_t| / b
    f_t = -b_viscous v_t                  the paper's viscous law, at every point that is in the ground

Over a step of length h the forces are taken at v' and d' = d + h v_n'. If the contact sticks (or is viscous), they
are linear in v' and add h J^T (c (1 - n n^T) + (B + h K) n n^T) J to the mass matrix. If it slides along s, the
force is linearised about the last iterate: -mu f_n (s + (1 - n n^T - s s^T) v' / |v_t|), a Newton step, symmetric
too. All terms are in the arrow's head and one leg's arm and block. The active springs and the sliding contacts are
predicted from the previous step and checked against the new velocity; the last correction uses the secant -mu f_n
v' / |v_t|, which dissipates energy for every v'.
"""

import math

from hexapod_dynamics.dynamics import c_model
from hexapod_dynamics.kernel_layout import struct
from hexapod_dynamics.simulation import ground_kernel

# Numbers of a contact law: K, B, viscous b, mu (negative: the viscous law), b of a contact that sticks.
LAW_LAYOUT = struct(stiffness=1, damping=1, viscous=1, coulomb=1, stiction=1)
# For the prediction in the next step: 1 if a point slides, and its normal force [N].
SLID = struct(slides=1, force=1)
CORNERS = 8  # of the body's box
ALL_CORNERS = CORNERS
# A contact at rest under 1 N creeps 0.3 mm in a minute.
STICTION_VISCOSITY = 2e5
# Friction is accepted if it deviates from the cone by at most this share and this force [N].
CONE_SHARE, CONE_FORCE = 0.05, 0.02


def corner_point(box, corner):
    """Return a corner (x, y, z) [m] of the body's box in base_link, by its number 0 to 7."""
    return (
        0.5 * box[0] if corner & 1 else -0.5 * box[0],
        0.5 * box[1] if corner & 2 else -0.5 * box[1],
        0.5 * box[2] if corner & 4 else -0.5 * box[2],
    )


def _touch(plane, rises, count, rotation, position, contact, px, py, pz):
    """Fill a contact's point, normal and distance for the body-frame point (px, py, pz); return whether it touches."""
    x = position[0] + rotation[0] * px + rotation[1] * py + rotation[2] * pz
    y = position[1] + rotation[3] * px + rotation[4] * py + rotation[5] * pz
    z = position[2] + rotation[6] * px + rotation[7] * py + rotation[8] * pz
    if z > ground_kernel.highest_at(plane, x, y):
        return False
    height, nx, ny, nz = ground_kernel.surface_at(plane, rises, count, x, y)
    contact.point[0], contact.point[1], contact.point[2] = px, py, pz
    for k in range(3):
        contact.normal[k] = rotation[k] * nx + rotation[3 + k] * ny + rotation[6 + k] * nz
    contact.distance = (z - height) * nz
    return z < height


def _list_points(m, up, height, contacts):
    """List, by leg and link, the link ends lower than -height along `up` (3,); return their number."""
    count, width = 0, m.width
    for i in range(m.leg_count):
        lane = c_model.hd_lane(m, m.legs[i].block, m.legs[i].lane)
        for j in range(m.legs[i].last + 1):
            row = (m.rows.point + 3 * j) * width
            z = up[0] * lane[row] + up[1] * lane[row + width] + up[2] * lane[row + 2 * width]
            if z < -height:
                contacts[count].leg, contacts[count].link = i, j
                count += 1
    return count


def _find_jacobian(m, contact):
    """Write the Jacobian of a contact's point by the joints of its leg."""
    width, lane, jacobian = m.width, contact.lane, contact.jacobian
    px, py, pz = contact.point[0], contact.point[1], contact.point[2]
    for k in range(contact.joints):
        s = (m.rows.screw + 6 * k) * width
        wx, wy, wz = lane[s + 3 * width], lane[s + 4 * width], lane[s + 5 * width]
        moves = m.moving[contact.first + k]
        jacobian[3 * k] = moves * (lane[s] + wy * pz - wz * py)
        jacobian[3 * k + 1] = moves * (lane[s + width] + wz * px - wx * pz)
        jacobian[3 * k + 2] = moves * (lane[s + 2 * width] + wx * py - wy * px)


def find_contacts(m, rotation, position, box, plane, rises, rise_count, contacts):
    """List the link ends and body corners that are below the ground; return their number.

    Needs the `point` and `screw` rows of the leg terms.
    """
    level = ground_kernel.is_flat(plane, rise_count)
    # If the ground is not level, all points are checked.
    height = position[2] if level else -1e9
    listed = _list_points(m, rotation + 6, height, contacts)
    count, width = 0, m.width
    for candidate in range(listed):
        i, j = contacts[candidate].leg, contacts[candidate].link
        lane = c_model.hd_lane(m, m.legs[i].block, m.legs[i].lane)
        row = (m.rows.point + 3 * j) * width
        px, py, pz = lane[row], lane[row + width], lane[row + 2 * width]
        contact = contacts + count
        if not _touch(plane, rises, rise_count, rotation, position, contact, px, py, pz):
            continue
        contact.leg, contact.link, contact.lane = i, j, lane
        contact.first, contact.joints = m.legs[i].first, j + 1
        contact.place = contact.first + j
        _find_jacobian(m, contact)
        count += 1
    if level and 2.0 * height > math.sqrt(box[0] * box[0] + box[1] * box[1] + box[2] * box[2]):
        return count
    for corner in range(ALL_CORNERS):
        px, py, pz = corner_point(box, corner)
        contact = contacts + count
        if _touch(plane, rises, rise_count, rotation, position, contact, px, py, pz):
            contact.leg, contact.link, contact.first, contact.joints = -1, -1, 0, 0
            contact.place = m.joint_count + corner
            count += 1
    return count


def move_contacts(contacts, count, nu):
    """Set the velocities of the contact points at the generalised velocity nu."""
    for c in range(count):
        contact = contacts + c
        px, py, pz = contact.point[0], contact.point[1], contact.point[2]
        x = nu[0] + nu[4] * pz - nu[5] * py
        y = nu[1] + nu[5] * px - nu[3] * pz
        z = nu[2] + nu[3] * py - nu[4] * px
        for k in range(contact.joints):
            rate = nu[6 + contact.first + k]
            x += contact.jacobian[3 * k] * rate
            y += contact.jacobian[3 * k + 1] * rate
            z += contact.jacobian[3 * k + 2] * rate
        contact.velocity[0], contact.velocity[1], contact.velocity[2] = x, y, z


def _slip(contact):
    """Return the tangential velocity (three numbers, body frame) of a contact point and its size [m/s]."""
    nx, ny, nz = contact.normal[0], contact.normal[1], contact.normal[2]
    x, y, z = contact.velocity[0], contact.velocity[1], contact.velocity[2]
    vn = nx * x + ny * y + nz * z
    x, y, z = x - vn * nx, y - vn * ny, z - vn * nz
    return x, y, z, math.sqrt(x * x + y * y + z * z)


def _stick(contact, grip):
    """Let a contact stick: its friction is only `grip` [N s/m] times the velocity."""
    contact.grip, contact.glide = grip, 0.0
    contact.sliding[0], contact.sliding[1], contact.sliding[2] = 0.0, 0.0, 0.0


def _linearise(contact, law, secant):
    """Linearise a contact's friction about its velocity and normal force; secant: use the secant, which always
    dissipates.
    """
    if law.coulomb < 0.0:
        _stick(contact, law.viscous)
        return
    if not contact.pushes:
        _stick(contact, 0.0)
        return
    x, y, z, speed = _slip(contact)
    limit = law.coulomb * contact.force
    if law.stiction * speed <= limit:
        _stick(contact, law.stiction)
        return
    _stick(contact, limit / speed)
    if not secant:
        contact.glide = limit
        contact.sliding[0], contact.sliding[1], contact.sliding[2] = x / speed, y / speed, z / speed


def begin_friction(contacts, count, law, memory):
    """Predict the friction of each contact: it slides if it slid in the previous step, else it sticks."""
    for c in range(count):
        contact = contacts + c
        if memory[contact.place].slides != 0.0:
            contact.force = memory[contact.place].force
            _linearise(contact, law, False)
        elif law.coulomb < 0.0:
            _linearise(contact, law, False)
        else:
            _stick(contact, law.stiction if contact.pushes else 0.0)


def _is_wrong(contact, law):
    """Return whether a contact's friction differs from that for its new velocity and normal force."""
    if not contact.pushes:
        return contact.grip != 0.0
    x, y, z, speed = _slip(contact)
    limit = law.coulomb * contact.force
    slack = CONE_SHARE * limit + CONE_FORCE
    if contact.glide > 0.0:
        along = x * contact.sliding[0] + y * contact.sliding[1] + z * contact.sliding[2]
        return along <= 0.0 or math.fabs(limit - contact.glide) > slack or along < 0.9 * speed
    return contact.grip * speed > limit + slack or contact.grip == 0.0


def settle_friction(contacts, count, law, again, last):
    """Check each contact's friction at the new velocity and normal force; return whether one was wrong and was
    corrected.

    again: linearise all contacts, because the step is computed again anyway; last: use their secants.
    """
    if law.coulomb < 0.0:
        return False
    wrong = False
    for c in range(count):
        if _is_wrong(contacts + c, law):
            wrong = True
    if not wrong and not again:
        return False
    for c in range(count):
        contact = contacts + c
        turned = False
        if contact.glide > 0.0 and not last:
            x, y, z, _ = _slip(contact)
            turned = x * contact.sliding[0] + y * contact.sliding[1] + z * contact.sliding[2] <= 0.0
        _linearise(contact, law, last)
        if turned and contact.pushes:
            _stick(contact, law.stiction)  # the contact came to rest within the step
    return wrong


def remember_friction(contacts, count, law, memory, places):
    """Store which contacts slide, and their normal forces, for the prediction at the next step."""
    for place in range(places):
        memory[place].slides, memory[place].force = 0.0, 0.0
    for c in range(count):
        contact = contacts + c
        if 0.0 < contact.grip and contact.grip < law.stiction:
            memory[contact.place].slides = 1.0
            memory[contact.place].force = contact.force


def settle_contacts(contacts, count, law, h):
    """Set the normal forces for the contact points' velocities, after h seconds; return whether a predicted
    contact state was wrong and was corrected.
    """
    wrong = False
    for c in range(count):
        contact = contacts + c
        normal, velocity = contact.normal, contact.velocity
        vn = normal[0] * velocity[0] + normal[1] * velocity[1] + normal[2] * velocity[2]
        force = -law.stiffness * (contact.distance + h * vn) - law.damping * vn
        pushes = force > 0.0
        if pushes != contact.pushes:
            wrong = True
        contact.pushes = pushes
        contact.force = max(0.0, force)
    return wrong


def _add_contact(m, contact, law, h):
    """Add a contact's force to the right-hand side and its implicit part to the arrow."""
    px, py, pz = contact.point[0], contact.point[1], contact.point[2]
    nx, ny, nz = contact.normal[0], contact.normal[1], contact.normal[2]
    vx, vy, vz = contact.velocity[0], contact.velocity[1], contact.velocity[2]
    sx, sy, sz = contact.sliding[0], contact.sliding[1], contact.sliding[2]
    vn, vs = nx * vx + ny * vy + nz * vz, sx * vx + sy * vy + sz * vz
    friction, glide = contact.grip, contact.glide - contact.grip * vs
    along, push = -friction, 0.0
    if contact.pushes:
        along += law.damping + h * law.stiffness
        push = -law.stiffness * contact.distance
    push -= along * vn
    fx = push * nx - friction * vx - glide * sx
    fy = push * ny - friction * vy - glide * sy
    fz = push * nz - friction * vz - glide * sz
    head, force = m.shared + c_model.HD_HEAD, m.shared + c_model.HD_HEAD_FORCE
    force[0] += fx
    force[1] += fy
    force[2] += fz
    force[3] += py * fz - pz * fy
    force[4] += pz * fx - px * fz
    force[5] += px * fy - py * fx
    # The head: h [1, [p]]^T D [1, [p]]-like terms of the symmetric 3x3 D = friction (1 - s s^T) + along n n^T.
    f, a = h * friction, h * along
    dxx, dyy, dzz = f + a * nx * nx - f * sx * sx, f + a * ny * ny - f * sy * sy, f + a * nz * nz - f * sz * sz
    dxy, dxz, dyz = a * nx * ny - f * sx * sy, a * nx * nz - f * sx * sz, a * ny * nz - f * sy * sz
    # X = [p] D, its rows.
    xxx, xxy, xxz = py * dxz - pz * dxy, py * dyz - pz * dyy, py * dzz - pz * dyz
    xyx, xyy, xyz = pz * dxx - px * dxz, pz * dxy - px * dyz, pz * dxz - px * dzz
    xzx, xzy, xzz = px * dxy - py * dxx, px * dyy - py * dxy, px * dyz - py * dxz
    head[0] += dxx
    head[1] += dxy
    head[2] += dyy
    head[3] += dxz
    head[4] += dyz
    head[5] += dzz
    head[6] += xxx
    head[7] += xxy
    head[8] += xxz
    head[9] += py * xxz - pz * xxy
    head[10] += xyx
    head[11] += xyy
    head[12] += xyz
    head[13] += py * xyz - pz * xyy
    head[14] += pz * xyx - px * xyz
    head[15] += xzx
    head[16] += xzy
    head[17] += xzz
    head[18] += py * xzz - pz * xzy
    head[19] += pz * xzx - px * xzz
    head[20] += px * xzy - py * xzx
    width, lane, jacobian = m.width, contact.lane, contact.jacobian
    for k in range(contact.joints):
        jx, jy, jz = jacobian[3 * k], jacobian[3 * k + 1], jacobian[3 * k + 2]
        yx = dxx * jx + dxy * jy + dxz * jz
        yy = dxy * jx + dyy * jy + dyz * jz
        yz = dxz * jx + dyz * jy + dzz * jz
        arm = lane + (m.rows.arm + 6 * k) * width
        arm[0] += yx
        arm[width] += yy
        arm[2 * width] += yz
        arm[3 * width] += py * yz - pz * yy
        arm[4 * width] += pz * yx - px * yz
        arm[5 * width] += px * yy - py * yx
        lane[(m.rows.force + k) * width] += jx * fx + jy * fy + jz * fz
        block = lane + (m.rows.block + k * (k + 1) // 2) * width
        for l in range(k + 1):
            block[l * width] += jacobian[3 * l] * yx + jacobian[3 * l + 1] * yy + jacobian[3 * l + 2] * yz


def add_contacts(m, contacts, count, law, h):
    """Add the contacts' forces to the right-hand side and their implicit parts to the arrow; see above."""
    for c in range(count):
        _add_contact(m, contacts + c, law, h)


def record_forces(m, contacts, count, rotation, forces, total):
    """Write the contact force [N, world axes] at the end of each leg's last link (legs, 3), and that of all (3,)."""
    for r in range(3 * m.leg_count):
        forces[r] = 0.0
    for r in range(3):
        total[r] = 0.0
    for c in range(count):
        contact = contacts + c
        vx, vy, vz = contact.velocity[0], contact.velocity[1], contact.velocity[2]
        nx, ny, nz = contact.normal[0], contact.normal[1], contact.normal[2]
        sx, sy, sz = contact.sliding[0], contact.sliding[1], contact.sliding[2]
        friction = contact.grip
        glide = contact.glide - friction * (sx * vx + sy * vy + sz * vz)
        push = contact.force + friction * (nx * vx + ny * vy + nz * vz)
        fx = push * nx - friction * vx - glide * sx
        fy = push * ny - friction * vy - glide * sy
        fz = push * nz - friction * vz - glide * sz
        leg = contact.leg
        at_the_end = leg >= 0 and contact.link == m.legs[leg].last
        for r in range(3):
            force = rotation[3 * r] * fx + rotation[3 * r + 1] * fy + rotation[3 * r + 2] * fz
            total[r] += force
            if at_the_end:
                forces[3 * leg + r] = force
