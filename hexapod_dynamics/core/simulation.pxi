# The simulated robot: contacts, servos, steps.

cdef extern from "world.h" nogil:
    struct hd_law:
        pass
    struct hd_slid:
        pass
    struct hd_plane:
        pass
    struct hd_rise:
        pass
    struct hd_drive:
        pass
    struct hd_servo:
        double setpoint, rate, target, speed, torque, saturated, loaded, driven, lower, upper, stopped
        double holds, held, damping, viscous, dry, sliding, friction
    struct hd_world:
        double *position
        double *rotation
        double *q
        double *nu
        double *acceleration
        double *foot_forces
        double *ground_force
        const double *box
        const hd_plane *plane
        const hd_rise *rises
        const hd_law *law
        const hd_drive *drive
        hd_servo *servos
        hd_slid *slid
        int64_t *contact_count
        int64_t rise_count
cdef hd_servo a_servo
SERVO = np.asarray(<hd_servo[:1]>&a_servo).dtype


cdef class World:
    """The arrays of a simulation; it keeps them alive."""
    cdef hd_world w
    cdef object kept, count
    def __cinit__(self, world, state, int joints, int legs):
        cdef hd_world *w = &self.w
        self.kept = world, state
        w.position, w.rotation = must(state.position, 3), must(state.rotation, 9)
        w.q, w.nu = must(state.q, joints), must(state.nu, 6 + joints)
        w.acceleration, w.foot_forces = must(world.acceleration, 6 + joints), must(world.foot_forces, 3 * legs)
        w.ground_force, w.box = must(world.ground_force, 3), must(world.box, 3)
        w.plane, w.rises = <hd_plane *>must(world.ground[:8], 8), <hd_rise *>(must(world.ground, world.ground.size) + 8)
        w.rise_count = (world.ground.size - 8) // 3
        w.law, w.drive = <hd_law *>must(world.contact, <Py_ssize_t>sizeof(hd_law) // 8), <hd_drive *>must(world.servo, <Py_ssize_t>sizeof(hd_drive) // 8)
        w.servos = <hd_servo *>must(world.servos, joints * <Py_ssize_t>sizeof(hd_servo) // 8)
        w.slid = <hd_slid *>must(world.friction_memory, (joints + 8) * <Py_ssize_t>sizeof(hd_slid) // 8)
        w.contact_count = <int64_t *>cnp.PyArray_DATA(world.contact_count)

def take_steps(Model model, World world, double h, int64_t steps, morphology):
    cdef Selection known = model.choose(morphology)
    known.m.run.steps(&known.m, &world.w, h, steps)
