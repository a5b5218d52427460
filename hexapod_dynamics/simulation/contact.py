"""Ground contact of link ends and body corners, treated implicitly: its forces are those at the end of the step.

At a point that is deeper than the ground's surface by -d (d < 0), with n the ground's normal, v the point's velocity
and v_t its tangential part:

    f_n = max(0, -K d - B v_n)
    f_t = -v_t min(b, mu f_n / |v_t|)     Coulomb's cone, regularised: a contact at rest creeps at |f_t| / b
    f_t = -b_viscous v_t                  the paper's viscous law, at every point that is in the ground

Over a step of length h the forces are taken at v' and d' = d + h v_n'. Where the contact sticks (or is viscous) they
are linear in v' and add h J^T (c (1 - n n^T) + (B + h K) n n^T) J to the mass matrix. Where it slides along s the
force is linearised about the last iterate: -mu f_n (s + (1 - n n^T - s s^T) v' / |v_t|), a Newton step, symmetric too.
All terms lie on the arrow's head and one leg's arm and block only. The active springs and the sliding contacts are
predicted from the previous step and checked against the new velocity; the last correction uses the secant
-mu f_n v' / |v_t|, which dissipates energy for every v'.
"""

from math import sqrt

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.dynamics.kernels import HEAD, HEAD_FORCE
from hexapod_dynamics.simulation.ground import highest, is_level, surface

# Columns of a row of `contacts`: leg (-1: body corner), link, the leg's block and lane, its first joint, joints up to
# the link; in the body frame the point, the ground's normal and the point's velocity; distance d (negative), whether
# the spring pushes, normal force at the end of the step; friction: its coefficient c by the velocity [N s/m], the
# force it has besides [N], the direction s in which the contact slides (zero where it sticks); its row of the memory;
# then the point's Jacobian by the leg's joints, 3 numbers a joint.
LEG, LINK, BLOCK, LANE, FIRST, JOINTS = range(6)
POINT, NORMAL, VELOCITY, DISTANCE, PUSHES, FORCE = 6, 9, 12, 15, 16, 17
GRIP, GLIDE, SLIDING, PLACE, JACOBIAN = 18, 19, 20, 23, 24
CORNERS = 8
# Numbers of a contact law: K, B, viscous b, mu (negative: the viscous law), b of a contact that sticks.
CONTACT_STIFFNESS, CONTACT_DAMPING, VISCOUS, COULOMB, STICTION, LAW = range(6)
# A contact at rest under 1 N creeps 0.3 mm in a minute.
STICTION_VISCOSITY = 2e5
# Friction is accepted if it deviates from the cone by at most this share and this force [N].
CONE_SHARE, CONE_FORCE = 0.05, 0.02

# The functions below take only the arrays that they need, because each array argument costs time in a compiled call.


@kernel
def corner_point(box, corner):
    """Return a corner (x, y, z) [m] of the body's box in base_link, by its number 0 to 7."""
    return (
        0.5 * box[0] if corner & 1 else -0.5 * box[0],
        0.5 * box[1] if corner & 2 else -0.5 * box[1],
        0.5 * box[2] if corner & 4 else -0.5 * box[2],
    )


@kernel
def _touch(ground, rotation, position, contacts, c, px, py, pz):
    """Fill a contact's point, normal and distance for the body-frame point (px, py, pz); return whether it touches."""
    x = position[0] + rotation[0, 0] * px + rotation[0, 1] * py + rotation[0, 2] * pz
    y = position[1] + rotation[1, 0] * px + rotation[1, 1] * py + rotation[1, 2] * pz
    z = position[2] + rotation[2, 0] * px + rotation[2, 1] * py + rotation[2, 2] * pz
    if z > highest(ground, x, y):
        return False
    height, nx, ny, nz = surface(ground, x, y)
    contacts[c, POINT], contacts[c, POINT + 1], contacts[c, POINT + 2] = px, py, pz
    for k in range(3):
        contacts[c, NORMAL + k] = rotation[0, k] * nx + rotation[1, k] * ny + rotation[2, k] * nz
    contacts[c, DISTANCE] = (z - height) * nz
    return z < height


@kernel
def _list_points(lanes, legs, points, ux, uy, uz, height, contacts):
    """List, by leg and link, the link ends lower than z = 0 where (ux, uy, uz) is up; return their number."""
    count = 0
    for i in range(legs.shape[0]):
        block, lane = legs[i, 0], legs[i, 1]
        for j in range(legs[i, 4] + 1):
            row = points + 3 * j
            z = ux * lanes[block, row, lane] + uy * lanes[block, row + 1, lane] + uz * lanes[block, row + 2, lane]
            if z < -height:
                contacts[count, LEG], contacts[count, LINK] = i, j
                count += 1
    return count


@kernel
def find_contacts(lanes, legs, moving, rows_point, rows_screw, rotation, position, box, ground, contacts):
    """List the link ends and body corners that are below the ground; return their number.

    Needs the `point` and `screw` rows of the leg terms.
    """
    level = is_level(ground)
    # If the ground is not level, every point is checked.
    height = position[2] if level else -1e9
    listed = _list_points(lanes, legs, rows_point, rotation[2, 0], rotation[2, 1], rotation[2, 2], height, contacts)
    count = 0
    for candidate in range(listed):
        i, j = int(contacts[candidate, LEG]), int(contacts[candidate, LINK])
        block, lane, first = legs[i, 0], legs[i, 1], legs[i, 2]
        row = rows_point + 3 * j
        px, py, pz = lanes[block, row, lane], lanes[block, row + 1, lane], lanes[block, row + 2, lane]
        if not _touch(ground, rotation, position, contacts, count, px, py, pz):
            continue
        contacts[count, LEG], contacts[count, LINK] = i, j
        contacts[count, BLOCK], contacts[count, LANE] = block, lane
        contacts[count, FIRST], contacts[count, JOINTS] = first, j + 1
        contacts[count, PLACE] = first + j
        for k in range(j + 1):
            s = rows_screw + 6 * k
            wx, wy, wz = lanes[block, s + 3, lane], lanes[block, s + 4, lane], lanes[block, s + 5, lane]
            moves = moving[first + k]
            at = JACOBIAN + 3 * k
            contacts[count, at] = moves * (lanes[block, s, lane] + wy * pz - wz * py)
            contacts[count, at + 1] = moves * (lanes[block, s + 1, lane] + wz * px - wx * pz)
            contacts[count, at + 2] = moves * (lanes[block, s + 2, lane] + wx * py - wy * px)
        count += 1
    if level and 2.0 * height > sqrt(box[0] * box[0] + box[1] * box[1] + box[2] * box[2]):
        return count
    for corner in range(CORNERS):
        px, py, pz = corner_point(box, corner)
        if _touch(ground, rotation, position, contacts, count, px, py, pz):
            contacts[count, LEG], contacts[count, LINK], contacts[count, JOINTS] = -1.0, -1.0, 0.0
            contacts[count, PLACE] = moving.size + corner
            count += 1
    return count


@kernel
def move_contacts(contacts, count, nu):
    """Set the velocities of the contact points at the generalised velocity nu."""
    for c in range(count):
        px, py, pz = contacts[c, POINT], contacts[c, POINT + 1], contacts[c, POINT + 2]
        x = nu[0] + nu[4] * pz - nu[5] * py
        y = nu[1] + nu[5] * px - nu[3] * pz
        z = nu[2] + nu[3] * py - nu[4] * px
        first = 6 + int(contacts[c, FIRST])
        for k in range(int(contacts[c, JOINTS])):
            rate, at = nu[first + k], JACOBIAN + 3 * k
            x += contacts[c, at] * rate
            y += contacts[c, at + 1] * rate
            z += contacts[c, at + 2] * rate
        contacts[c, VELOCITY], contacts[c, VELOCITY + 1], contacts[c, VELOCITY + 2] = x, y, z


@kernel
def _slip(contacts, c):
    """Return the tangential velocity (three numbers, body frame) of a contact point and its size [m/s]."""
    nx, ny, nz = contacts[c, NORMAL], contacts[c, NORMAL + 1], contacts[c, NORMAL + 2]
    x, y, z = contacts[c, VELOCITY], contacts[c, VELOCITY + 1], contacts[c, VELOCITY + 2]
    vn = nx * x + ny * y + nz * z
    x, y, z = x - vn * nx, y - vn * ny, z - vn * nz
    return x, y, z, sqrt(x * x + y * y + z * z)


@kernel
def _linearise(contacts, c, law, secant):
    """Linearise a contact's friction about its velocity and normal force; secant: by a force that only resists."""
    contacts[c, SLIDING], contacts[c, SLIDING + 1], contacts[c, SLIDING + 2] = 0.0, 0.0, 0.0
    contacts[c, GLIDE] = 0.0
    if law[COULOMB] < 0.0:
        contacts[c, GRIP] = law[VISCOUS]
        return
    if contacts[c, PUSHES] == 0.0:
        contacts[c, GRIP] = 0.0
        return
    x, y, z, speed = _slip(contacts, c)
    limit = law[COULOMB] * contacts[c, FORCE]
    if law[STICTION] * speed <= limit:
        contacts[c, GRIP] = law[STICTION]
        return
    contacts[c, GRIP] = limit / speed
    if not secant:
        contacts[c, GLIDE] = limit
        contacts[c, SLIDING], contacts[c, SLIDING + 1], contacts[c, SLIDING + 2] = x / speed, y / speed, z / speed


@kernel
def begin_friction(contacts, count, law, memory):
    """Predict the friction of each contact: it slides if it slid in the previous step, else it sticks."""
    for c in range(count):
        place = int(contacts[c, PLACE])
        if memory[place, 0] != 0.0:
            contacts[c, FORCE] = memory[place, 1]
            _linearise(contacts, c, law, False)
        elif law[COULOMB] < 0.0:
            _linearise(contacts, c, law, False)
        else:
            contacts[c, GLIDE] = 0.0
            contacts[c, SLIDING], contacts[c, SLIDING + 1], contacts[c, SLIDING + 2] = 0.0, 0.0, 0.0
            contacts[c, GRIP] = law[STICTION] if contacts[c, PUSHES] != 0.0 else 0.0


@kernel
def settle_friction(contacts, count, law, again, last):
    """Check each contact's friction at the new velocity and normal force; return whether one was wrong and was
    corrected.

    again: linearise all of them, because the step is computed again anyway; last: by their secants.
    """
    if law[COULOMB] < 0.0:
        return False
    wrong = False
    for c in range(count):
        if contacts[c, PUSHES] == 0.0:
            if contacts[c, GRIP] != 0.0:
                wrong = True
            continue
        x, y, z, speed = _slip(contacts, c)
        limit = law[COULOMB] * contacts[c, FORCE]
        slack = CONE_SHARE * limit + CONE_FORCE
        if contacts[c, GLIDE] > 0.0:
            along = x * contacts[c, SLIDING] + y * contacts[c, SLIDING + 1] + z * contacts[c, SLIDING + 2]
            if along <= 0.0 or abs(limit - contacts[c, GLIDE]) > slack or along < 0.9 * speed:
                wrong = True
        elif contacts[c, GRIP] * speed > limit + slack or contacts[c, GRIP] == 0.0:
            wrong = True
    if not wrong and not again:
        return False
    for c in range(count):
        turned = False
        if contacts[c, GLIDE] > 0.0 and not last:
            x, y, z, speed = _slip(contacts, c)
            turned = x * contacts[c, SLIDING] + y * contacts[c, SLIDING + 1] + z * contacts[c, SLIDING + 2] <= 0.0
        _linearise(contacts, c, law, last)
        if turned and contacts[c, PUSHES] != 0.0:
            # It came to rest within the step.
            contacts[c, GRIP], contacts[c, GLIDE] = law[STICTION], 0.0
            contacts[c, SLIDING], contacts[c, SLIDING + 1], contacts[c, SLIDING + 2] = 0.0, 0.0, 0.0
    return wrong


@kernel
def remember_friction(contacts, count, law, memory):
    """Store which contacts slide, and their normal forces, for the prediction at the next step."""
    memory[:] = 0.0
    for c in range(count):
        place = int(contacts[c, PLACE])
        if 0.0 < contacts[c, GRIP] < law[STICTION]:
            memory[place, 0] = 1.0
            memory[place, 1] = contacts[c, FORCE]


@kernel
def settle_contacts(contacts, count, stiffness, damping, h):
    """Set the normal forces at the contact points' velocities, h seconds on; return whether a predicted contact state
    was wrong and was corrected.
    """
    wrong = False
    for c in range(count):
        vn = (
            contacts[c, NORMAL] * contacts[c, VELOCITY]
            + contacts[c, NORMAL + 1] * contacts[c, VELOCITY + 1]
            + contacts[c, NORMAL + 2] * contacts[c, VELOCITY + 2]
        )
        force = -stiffness * (contacts[c, DISTANCE] + h * vn) - damping * vn
        pushes = 1.0 if force > 0.0 else 0.0
        if pushes != contacts[c, PUSHES]:
            wrong = True
        contacts[c, PUSHES] = pushes
        contacts[c, FORCE] = max(0.0, force)
    return wrong


@kernel
def _add_contact(lanes, shared, contacts, c, rows_arm, rows_block, rows_force, stiffness, damping, h):
    px, py, pz = contacts[c, POINT], contacts[c, POINT + 1], contacts[c, POINT + 2]
    nx, ny, nz = contacts[c, NORMAL], contacts[c, NORMAL + 1], contacts[c, NORMAL + 2]
    vx, vy, vz = contacts[c, VELOCITY], contacts[c, VELOCITY + 1], contacts[c, VELOCITY + 2]
    sx, sy, sz = contacts[c, SLIDING], contacts[c, SLIDING + 1], contacts[c, SLIDING + 2]
    vn, vs = nx * vx + ny * vy + nz * vz, sx * vx + sy * vy + sz * vz
    friction, glide = contacts[c, GRIP], contacts[c, GLIDE] - contacts[c, GRIP] * vs
    along, push = -friction, 0.0
    if contacts[c, PUSHES] != 0.0:
        along += damping + h * stiffness
        push = -stiffness * contacts[c, DISTANCE]
    push -= along * vn
    fx = push * nx - friction * vx - glide * sx
    fy = push * ny - friction * vy - glide * sy
    fz = push * nz - friction * vz - glide * sz
    shared[HEAD_FORCE] += fx
    shared[HEAD_FORCE + 1] += fy
    shared[HEAD_FORCE + 2] += fz
    shared[HEAD_FORCE + 3] += py * fz - pz * fy
    shared[HEAD_FORCE + 4] += pz * fx - px * fz
    shared[HEAD_FORCE + 5] += px * fy - py * fx
    # The head: h [1, [p]]^T D [1, [p]]-like terms of the symmetric 3x3 D = friction (1 - s s^T) + along n n^T.
    f, a = h * friction, h * along
    dxx, dyy, dzz = f + a * nx * nx - f * sx * sx, f + a * ny * ny - f * sy * sy, f + a * nz * nz - f * sz * sz
    dxy, dxz, dyz = a * nx * ny - f * sx * sy, a * nx * nz - f * sx * sz, a * ny * nz - f * sy * sz
    # X = [p] D, its rows.
    xxx, xxy, xxz = py * dxz - pz * dxy, py * dyz - pz * dyy, py * dzz - pz * dyz
    xyx, xyy, xyz = pz * dxx - px * dxz, pz * dxy - px * dyz, pz * dxz - px * dzz
    xzx, xzy, xzz = px * dxy - py * dxx, px * dyy - py * dxy, px * dyz - py * dxz
    shared[HEAD] += dxx
    shared[HEAD + 1] += dxy
    shared[HEAD + 2] += dyy
    shared[HEAD + 3] += dxz
    shared[HEAD + 4] += dyz
    shared[HEAD + 5] += dzz
    shared[HEAD + 6] += xxx
    shared[HEAD + 7] += xxy
    shared[HEAD + 8] += xxz
    shared[HEAD + 9] += py * xxz - pz * xxy
    shared[HEAD + 10] += xyx
    shared[HEAD + 11] += xyy
    shared[HEAD + 12] += xyz
    shared[HEAD + 13] += py * xyz - pz * xyy
    shared[HEAD + 14] += pz * xyx - px * xyz
    shared[HEAD + 15] += xzx
    shared[HEAD + 16] += xzy
    shared[HEAD + 17] += xzz
    shared[HEAD + 18] += py * xzz - pz * xzy
    shared[HEAD + 19] += pz * xzx - px * xzz
    shared[HEAD + 20] += px * xzy - py * xzx
    block, lane = int(contacts[c, BLOCK]), int(contacts[c, LANE])
    for k in range(int(contacts[c, JOINTS])):
        at = JACOBIAN + 3 * k
        jx, jy, jz = contacts[c, at], contacts[c, at + 1], contacts[c, at + 2]
        yx = dxx * jx + dxy * jy + dxz * jz
        yy = dxy * jx + dyy * jy + dyz * jz
        yz = dxz * jx + dyz * jy + dzz * jz
        arm = rows_arm + 6 * k
        lanes[block, arm, lane] += yx
        lanes[block, arm + 1, lane] += yy
        lanes[block, arm + 2, lane] += yz
        lanes[block, arm + 3, lane] += py * yz - pz * yy
        lanes[block, arm + 4, lane] += pz * yx - px * yz
        lanes[block, arm + 5, lane] += px * yy - py * yx
        lanes[block, rows_force + k, lane] += jx * fx + jy * fy + jz * fz
        for l in range(k + 1):
            at = JACOBIAN + 3 * l
            row = rows_block + k * (k + 1) // 2 + l
            lanes[block, row, lane] += contacts[c, at] * yx + contacts[c, at + 1] * yy + contacts[c, at + 2] * yz


@kernel
def add_contacts(lanes, shared, contacts, count, rows_arm, rows_block, rows_force, stiffness, damping, h):
    """Add the contacts' forces to the right-hand side and their implicit parts to the arrow; see above."""
    for c in range(count):
        _add_contact(lanes, shared, contacts, c, rows_arm, rows_block, rows_force, stiffness, damping, h)


@kernel
def record_forces(contacts, count, rotation, legs, forces, total):
    """Write the contact force [N, world axes] at the end of each leg's last link (legs, 3), and that of all (3,)."""
    forces[:] = 0.0
    total[:] = 0.0
    for c in range(count):
        vx, vy, vz = contacts[c, VELOCITY], contacts[c, VELOCITY + 1], contacts[c, VELOCITY + 2]
        nx, ny, nz = contacts[c, NORMAL], contacts[c, NORMAL + 1], contacts[c, NORMAL + 2]
        sx, sy, sz = contacts[c, SLIDING], contacts[c, SLIDING + 1], contacts[c, SLIDING + 2]
        friction = contacts[c, GRIP]
        glide = contacts[c, GLIDE] - friction * (sx * vx + sy * vy + sz * vz)
        push = contacts[c, FORCE] + friction * (nx * vx + ny * vy + nz * vz)
        fx = push * nx - friction * vx - glide * sx
        fy = push * ny - friction * vy - glide * sy
        fz = push * nz - friction * vz - glide * sz
        leg = int(contacts[c, LEG])
        at_the_end = leg >= 0 and contacts[c, LINK] == legs[leg, 4]
        for r in range(3):
            force = rotation[r, 0] * fx + rotation[r, 1] * fy + rotation[r, 2] * fz
            total[r] += force
            if at_the_end:
                forces[leg, r] = force
