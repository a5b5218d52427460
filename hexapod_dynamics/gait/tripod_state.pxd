cdef struct Parameters:
    double period
    double step_height
    double step_depth
    double response_time
    double smooth
    double speed_limit

cdef struct State:
    double phase
    double twist[4]
    double rate[4]
    double walking
    double blend
    double blend_time

cdef struct Foot:
    double place[2]
    double lift_off[2]
    double touch_down[2]
