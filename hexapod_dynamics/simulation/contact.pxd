cimport cython
from libc cimport math
from libc.stdint cimport int64_t

from hexapod_dynamics.dynamics cimport c_model
from hexapod_dynamics.simulation cimport ground_kernel

# Numbers of a contact law.
cdef struct Law:
    double stiffness
    double damping
    double viscous
    double coulomb
    double stiction

# What a step leaves for the next one of a point's friction.
cdef struct Slid:
    double slides
    double force

# A point that touches the ground.
cdef struct Contact:
    int leg             # -1: a corner of the body
    int link
    int place           # its row of the friction memory
    int first           # the first joint of its leg
    int joints          # up to its link; none of a corner
    bint pushes         # its spring is in use
    double *lane        # row 0 of its leg in the model
    double *jacobian    # of the point by the leg's joints, 3 numbers a joint
    double point[3]     # in the body frame, like the normal of the ground and the point's velocity
    double normal[3]
    double velocity[3]
    double distance     # negative
    double force        # normal force at the end of the step
    double grip         # friction by the velocity [N s/m]
    double glide        # friction besides [N]
    double sliding[3]   # direction in which it slides; zero where it sticks

cdef int ALL_CORNERS
cdef double CONE_SHARE, CONE_FORCE

cdef (double, double, double) corner_point(double *box, int corner) nogil
cdef bint _touch(ground_kernel.Plane *plane, ground_kernel.Rise *rises, int count, double *rotation, double *position,
                 Contact *contact, double px, double py, double pz) nogil
cdef int _list_points(c_model.hd_model *m, double *up, double height, Contact *contacts) nogil
cdef void _find_jacobian(c_model.hd_model *m, Contact *contact) nogil
@cython.locals(level=cython.bint)
cdef int find_contacts(c_model.hd_model *m, double *rotation, double *position, double *box, ground_kernel.Plane *plane,
                       ground_kernel.Rise *rises, int rise_count, Contact *contacts) nogil
cdef void move_contacts(Contact *contacts, int count, double *nu) nogil
cdef (double, double, double, double) _slip(Contact *contact) nogil
cdef void _stick(Contact *contact, double grip) nogil
cdef void _linearise(Contact *contact, Law *law, bint secant) nogil
cdef void begin_friction(Contact *contacts, int count, Law *law, Slid *memory) nogil
cdef bint _is_wrong(Contact *contact, Law *law) nogil
@cython.locals(wrong=cython.bint, turned=cython.bint)
cdef bint settle_friction(Contact *contacts, int count, Law *law, bint again, bint last) nogil
cdef void remember_friction(Contact *contacts, int count, Law *law, Slid *memory, int places) nogil
@cython.locals(wrong=cython.bint, pushes=cython.bint)
cdef bint settle_contacts(Contact *contacts, int count, Law *law, double h) nogil
cdef void _add_contact(c_model.hd_model *m, Contact *contact, Law *law, double h) nogil
cdef void add_contacts(c_model.hd_model *m, Contact *contacts, int count, Law *law, double h) nogil
@cython.locals(at_the_end=cython.bint)
cdef void record_forces(c_model.hd_model *m, Contact *contacts, int count, double *rotation, double *forces,
                        double *total) nogil
