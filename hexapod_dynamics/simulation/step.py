"""One step of the robot in time, compiled: model, contacts, servos, with all forces at the end of the step.

With M the mass matrix and D the derivative of contact and servo forces by the new velocity (implicit part):

    (M + h D) a = tau(old velocity) - C nu - N,    nu' = nu + h a,    g' = g exp(h V'),    q' = q + h qdot'

The scheme is of first order in h, and stable for any stiffness of contact and servos. M + h D is an arrow like M,
and is solved as one.
"""

import math

import cython
import numpy as np

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.dynamics import c_model, kernels
from hexapod_dynamics.simulation import contact, ground_kernel, servo_kernel, servo_torques

# Largest number of corrections, in each step, of the predicted contact, friction and saturation states.
CORRECTIONS = 4


class StepMemory:
    """Workspace, World and State of a robot as named fields of their memory; it keeps the arrays alive, and checks
    them once.
    """

    def __init__(self, workspace, world, state):
        self.workspace, self.world, self.state = workspace, world, state
        self.model = kernels.model_of(workspace)
        joints, legs = len(state.q), len(workspace.legs)
        self.joint_count, self.leg_count, self.places = joints, legs, joints + contact.ALL_CORNERS
        self.position = kernel_memory.numbers(state.position, 3)
        self.rotation = kernel_memory.numbers(state.rotation, 9)
        self.q, self.nu = kernel_memory.numbers(state.q, joints), kernel_memory.numbers(state.nu, 6 + joints)
        self.box = kernel_memory.numbers(world.box, 3)
        self.plane, self.rises = ground_kernel.plane_of(world.ground), ground_kernel.rises_of(world.ground)
        self.rise_count = ground_kernel.count_rises(world.ground)
        self.law = cython.cast("contact.Law *", kernel_memory.struct(world.contact, contact.LAW_LAYOUT))
        self.drive = servo_kernel.drive_of(world.servo)
        self.servos = servo_kernel.servos_of(world.servos)
        self.acceleration = kernel_memory.numbers(world.acceleration, 6 + joints)
        self.foot_forces = kernel_memory.numbers(world.foot_forces, 3 * legs)
        self.ground_force = kernel_memory.numbers(world.ground_force, 3)
        self.contact_count = kernel_memory.integers(world.contact_count, 1)
        slid = kernel_memory.structs(world.friction_memory, contact.SLID, self.places)
        self.slid = cython.cast("contact.Slid *", slid)
        self._make_room(workspace)

    def _make_room(self, workspace):
        """Make the memory of one step: torques of zero, the contacts and their Jacobians."""
        deepest = int(workspace.legs[:, 3].max())
        size = cython.sizeof(contact.Contact)  # type: ignore  # a struct of contact.pxd
        torques, jacobians = np.zeros(self.joint_count), np.zeros((self.places, 3 * deepest))
        contacts = np.zeros(self.places * size // 8)
        self.room = torques, jacobians, contacts
        self.no_torque = kernel_memory.numbers(torques, self.joint_count)
        self.contacts = cython.cast("contact.Contact *", kernel_memory.numbers(contacts, contacts.size))
        first = kernel_memory.numbers(jacobians, jacobians.size)
        for place in range(self.places):
            self.contacts[place].jacobian = first + 3 * deepest * place


def move_body(position, rotation, nu, h):
    """Advance the body by h seconds at its twist: g exp(h V), Rodrigues' formula; the result stays orthogonal."""
    x, y, z = h * nu[3], h * nu[4], h * nu[5]
    square = x * x + y * y + z * z
    if square > 1e-6:
        angle = math.sqrt(square)
        a, b = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
        c = (1.0 - a) / square
    else:
        a = 1.0 - square * (1.0 / 6.0 - square / 120.0)
        b = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        c = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    vx, vy, vz = h * nu[0], h * nu[1], h * nu[2]
    ux, uy, uz = y * vz - z * vy, z * vx - x * vz, x * vy - y * vx
    dx = vx + b * ux + c * (y * uz - z * uy)
    dy = vy + b * uy + c * (z * ux - x * uz)
    dz = vz + b * uz + c * (x * uy - y * ux)
    for r in range(3):
        row = rotation + 3 * r
        r0, r1, r2 = row[0], row[1], row[2]
        position[r] += r0 * dx + r1 * dy + r2 * dz
        # Row r of R times exp: r + a (r x w) + b ((r x w) x w).
        c0, c1, c2 = r1 * z - r2 * y, r2 * x - r0 * z, r0 * y - r1 * x
        r0, r1, r2 = (
            r0 + a * c0 + b * (c1 * z - c2 * y),
            r1 + a * c1 + b * (c2 * x - c0 * z),
            r2 + a * c2 + b * (c0 * y - c1 * x),
        )
        # Correct the rounding error of the row length to first order.
        scale = 1.5 - 0.5 * (r0 * r0 + r1 * r1 + r2 * r2)
        row[0], row[1], row[2] = r0 * scale, r1 * scale, r2 * scale


def _set_terms(memory):
    """Compute the arrow and the right-hand side at the present state, without torques."""
    c_model.hd_set_state(memory.model, memory.rotation, memory.q, memory.nu, memory.no_torque)
    c_model.hd_leg_terms(memory.model)


def step(memory, h):
    """Advance the state by h [s]; servos move to their targets. Nothing is allocated."""
    m, q, nu, acceleration = memory.model, memory.q, memory.nu, memory.acceleration
    contacts, servos, drive, law = memory.contacts, memory.servos, memory.drive, memory.law
    size = 6 + memory.joint_count
    servo_kernel.move(servos, memory.joint_count, h)
    _set_terms(memory)
    count = contact.find_contacts(
        m, memory.rotation, memory.position, memory.box, memory.plane, memory.rises, memory.rise_count, contacts
    )
    contact.move_contacts(contacts, count, nu)
    contact.settle_contacts(contacts, count, law, 0.0)
    contact.begin_friction(contacts, count, law, memory.slid)
    for correction in range(CORRECTIONS + 1):
        if correction > 0:
            # The solver overwrites the arrow; nu is reset.
            for i in range(size):
                nu[i] -= h * acceleration[i]
            _set_terms(memory)
            contact.move_contacts(contacts, count, nu)
        contact.add_contacts(m, contacts, count, law, h)
        servo_torques.add_servos(m, servos, drive, q, nu, h)
        c_model.hd_solve_arrow(m)
        c_model.hd_get_acceleration(m, acceleration)
        for i in range(size):
            nu[i] += h * acceleration[i]
        contact.move_contacts(contacts, count, nu)
        wrong = servo_torques.settle_servos(m, servos, drive, q, nu, h)
        if contact.settle_contacts(contacts, count, law, h):
            wrong = True
        if correction == CORRECTIONS:
            break
        if contact.settle_friction(contacts, count, law, wrong, correction == CORRECTIONS - 1):
            wrong = True
        if not wrong:
            break
    memory.contact_count[0] = count
    contact.remember_friction(contacts, count, law, memory.slid, memory.places)
    contact.record_forces(m, contacts, count, memory.rotation, memory.foot_forces, memory.ground_force)
    for joint in range(memory.joint_count):
        q[joint] += h * nu[6 + joint]
    move_body(memory.position, memory.rotation, nu, h)
