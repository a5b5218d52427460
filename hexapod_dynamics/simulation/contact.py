"""Ground contact of link ends and body corners, treated implicitly: its forces are those at the end of the step.

At a point that is deeper than the ground's surface by -d (d < 0), with n the ground's normal and v the point's
velocity:

    f_n = max(0, -K d - B v_n),    f_t = -mu v_t

Over a step of length h the force is taken at v' and d' = d + h v_n', which is linear in the new velocity, so it adds
h J^T (mu (1 - n n^T) + (B + h K) n n^T) J to the mass matrix: symmetric, on the arrow's head and one leg's arm and
block only. Whether a spring pushes (f_n > 0) is guessed from the old velocity and checked against the new one.
"""

from hexapod_dynamics.dynamics.kernel_cache import kernel
from hexapod_dynamics.dynamics.kernels import HEAD, HEAD_FORCE
from hexapod_dynamics.simulation.ground import surface

# Columns of a row of `contacts`: leg (-1: body corner), link, point and normal in the body frame, distance d
# (negative), whether the spring pushes, normal force at the end of the step; then the point's Jacobian by the leg's
# joints, 3 a joint.
LEG, LINK, POINT, NORMAL, DISTANCE, PUSHES, FORCE, JACOBIAN = 0, 1, 2, 5, 8, 9, 10, 11
CORNERS = 8


@kernel
def _touch(ground, rotation, position, px, py, pz, contact):
    """Fill a contact's geometry if the body-frame point (px, py, pz) is below the ground; tell whether it is."""
    x = position[0] + rotation[0, 0] * px + rotation[0, 1] * py + rotation[0, 2] * pz
    y = position[1] + rotation[1, 0] * px + rotation[1, 1] * py + rotation[1, 2] * pz
    z = position[2] + rotation[2, 0] * px + rotation[2, 1] * py + rotation[2, 2] * pz
    height, nx, ny, nz = surface(ground, x, y)
    if z >= height:
        return False
    contact[POINT], contact[POINT + 1], contact[POINT + 2] = px, py, pz
    for c in range(3):
        contact[NORMAL + c] = rotation[0, c] * nx + rotation[1, c] * ny + rotation[2, c] * nz
    contact[DISTANCE] = (z - height) * nz
    return True


@kernel
def find_contacts(ws, rotation, position, box, ground, contacts):
    """List the link ends and body corners that are below the ground; return their number.

    Needs the `point` and `screw` rows of the leg terms.
    """
    count = 0
    rows = ws.rows
    for i in range(ws.legs.shape[0]):
        block, lane, first = ws.legs[i, 0], ws.legs[i, 1], ws.legs[i, 2]
        for j in range(ws.legs[i, 4] + 1):
            row = rows.point + 3 * j
            px, py, pz = ws.lanes[block, row, lane], ws.lanes[block, row + 1, lane], ws.lanes[block, row + 2, lane]
            contact = contacts[count]
            if not _touch(ground, rotation, position, px, py, pz, contact):
                continue
            contact[LEG], contact[LINK] = i, j
            for k in range(j + 1):
                s = rows.screw + 6 * k
                wx, wy, wz = ws.lanes[block, s + 3, lane], ws.lanes[block, s + 4, lane], ws.lanes[block, s + 5, lane]
                moves = ws.moving[first + k]
                contact[JACOBIAN + 3 * k] = moves * (ws.lanes[block, s, lane] + wy * pz - wz * py)
                contact[JACOBIAN + 3 * k + 1] = moves * (ws.lanes[block, s + 1, lane] + wz * px - wx * pz)
                contact[JACOBIAN + 3 * k + 2] = moves * (ws.lanes[block, s + 2, lane] + wx * py - wy * px)
            count += 1
    for corner in range(CORNERS):
        px = 0.5 * box[0] if corner & 1 else -0.5 * box[0]
        py = 0.5 * box[1] if corner & 2 else -0.5 * box[1]
        pz = 0.5 * box[2] if corner & 4 else -0.5 * box[2]
        if _touch(ground, rotation, position, px, py, pz, contacts[count]):
            contacts[count, LEG], contacts[count, LINK] = -1.0, -1.0
            count += 1
    return count


@kernel
def point_velocity(ws, contact, nu):
    """Return the contact point's velocity in the body frame (three numbers) [m/s]."""
    px, py, pz = contact[POINT], contact[POINT + 1], contact[POINT + 2]
    x = nu[0] + nu[4] * pz - nu[5] * py
    y = nu[1] + nu[5] * px - nu[3] * pz
    z = nu[2] + nu[3] * py - nu[4] * px
    if contact[LEG] >= 0.0:
        first = 6 + ws.legs[int(contact[LEG]), 2]
        for k in range(int(contact[LINK]) + 1):
            rate = nu[first + k]
            x += contact[JACOBIAN + 3 * k] * rate
            y += contact[JACOBIAN + 3 * k + 1] * rate
            z += contact[JACOBIAN + 3 * k + 2] * rate
    return x, y, z


@kernel
def normal_speed(ws, contact, nu):
    """Return the contact point's velocity along the ground's normal [m/s]."""
    x, y, z = point_velocity(ws, contact, nu)
    return contact[NORMAL] * x + contact[NORMAL + 1] * y + contact[NORMAL + 2] * z


@kernel
def add_contact(ws, contact, nu, stiffness, damping, friction, h):
    """Add a contact's force at the old velocity to the right-hand side and its implicit part to the arrow."""
    px, py, pz = contact[POINT], contact[POINT + 1], contact[POINT + 2]
    nx, ny, nz = contact[NORMAL], contact[NORMAL + 1], contact[NORMAL + 2]
    vx, vy, vz = point_velocity(ws, contact, nu)
    vn = nx * vx + ny * vy + nz * vz
    along, push = -friction, 0.0
    if contact[PUSHES] != 0.0:
        along += damping + h * stiffness
        push = -stiffness * contact[DISTANCE]
    push -= along * vn
    fx, fy, fz = push * nx - friction * vx, push * ny - friction * vy, push * nz - friction * vz
    shared = ws.shared
    shared[HEAD_FORCE] += fx
    shared[HEAD_FORCE + 1] += fy
    shared[HEAD_FORCE + 2] += fz
    shared[HEAD_FORCE + 3] += py * fz - pz * fy
    shared[HEAD_FORCE + 4] += pz * fx - px * fz
    shared[HEAD_FORCE + 5] += px * fy - py * fx
    # The head: h [1, [p]]^T D [1, [p]]-like terms of the symmetric 3x3 D = friction 1 + along n n^T.
    f, a = h * friction, h * along
    dxx, dyy, dzz = f + a * nx * nx, f + a * ny * ny, f + a * nz * nz
    dxy, dxz, dyz = a * nx * ny, a * nx * nz, a * ny * nz
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
    if contact[LEG] < 0.0:
        return
    leg = int(contact[LEG])
    block, lane = ws.legs[leg, 0], ws.legs[leg, 1]
    rows = ws.rows
    for k in range(int(contact[LINK]) + 1):
        jx, jy, jz = contact[JACOBIAN + 3 * k], contact[JACOBIAN + 3 * k + 1], contact[JACOBIAN + 3 * k + 2]
        yx = dxx * jx + dxy * jy + dxz * jz
        yy = dxy * jx + dyy * jy + dyz * jz
        yz = dxz * jx + dyz * jy + dzz * jz
        arm = rows.arm + 6 * k
        ws.lanes[block, arm, lane] += yx
        ws.lanes[block, arm + 1, lane] += yy
        ws.lanes[block, arm + 2, lane] += yz
        ws.lanes[block, arm + 3, lane] += py * yz - pz * yy
        ws.lanes[block, arm + 4, lane] += pz * yx - px * yz
        ws.lanes[block, arm + 5, lane] += px * yy - py * yx
        ws.lanes[block, rows.force + k, lane] += jx * fx + jy * fy + jz * fz
        for l in range(k + 1):
            ws.lanes[block, rows.block + k * (k + 1) // 2 + l, lane] += (
                contact[JACOBIAN + 3 * l] * yx + contact[JACOBIAN + 3 * l + 1] * yy + contact[JACOBIAN + 3 * l + 2] * yz
            )


@kernel
def settle_contact(ws, contact, nu, stiffness, damping, h):
    """Set the normal force at the new velocity nu; tell whether the spring's guess was wrong, and correct it."""
    vn = normal_speed(ws, contact, nu)
    force = -stiffness * (contact[DISTANCE] + h * vn) - damping * vn
    pushes = 1.0 if force > 0.0 else 0.0
    contact[FORCE] = force if force > 0.0 else 0.0
    wrong = pushes != contact[PUSHES]
    contact[PUSHES] = pushes
    return wrong
