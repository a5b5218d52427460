cimport cython

from hexapod_dynamics cimport kernel_memory
from hexapod_dynamics.dynamics cimport c_model
from hexapod_dynamics.gait cimport tripod_kernel
from hexapod_dynamics.gait.gait_memory cimport TripodMemory
from hexapod_dynamics.simulation cimport contact, ground_kernel, servo_kernel
from hexapod_dynamics.simulation cimport step as stepping

cdef void _write(stepping.StepMemory memory, double *row) nogil
cdef int _row_width(stepping.StepMemory memory) nogil
cdef long _walk(stepping.StepMemory memory, TripodMemory gait, double h, long steps, long since_command,
                long command_steps, double resolution, double *rows, long log_steps) nogil
cdef void _follow(stepping.StepMemory memory, double h, long steps, double *rows, long log_steps) nogil
cdef void _command(stepping.StepMemory memory, double *targets, double duration, double resolution) nogil
cdef void _copy(double *to, double *source, int count) nogil
cdef void _begin_at(stepping.StepMemory memory, stepping.StepMemory start) nogil
cdef void _roll_out(stepping.StepMemory memory, double *targets, int count, double period, double h, int steps,
                    double *positions, double *rotations, double *joints) nogil
cdef double _clearance(stepping.StepMemory memory, double px, double py, double pz) nogil
cdef double _resting_height(stepping.StepMemory memory) nogil
@cython.locals(since=cython.long)
cpdef object walk(stepping.StepMemory memory, TripodMemory gait, double h, long steps, long since_command,
                  long command_steps, double resolution, object log, long log_steps)
cpdef object follow(stepping.StepMemory memory, double h, long steps, object log, long log_steps)
cpdef object command_all(stepping.StepMemory memory, object targets, double duration, double resolution)
cpdef object take_steps(stepping.StepMemory memory, double h, int steps)
@cython.locals(count=cython.int, n=cython.int)
cpdef object roll_out(stepping.StepMemory memory, stepping.StepMemory start, object targets, double period, double h,
                      int steps, object positions, object rotations, object joints)
cpdef object settle_setpoints(stepping.StepMemory memory, object q)
cpdef object resting_height(stepping.StepMemory memory)
