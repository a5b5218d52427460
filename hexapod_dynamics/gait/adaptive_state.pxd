cdef enum:
    STAND, START, WALK, SETTLE, LOWER, MOVE, SAT, RISE, PRESS

cdef struct Settings:
    double acceleration
    double turning
    double speed
    double yaw_gain
    double yaw_limit
    double tilt
    double belly
    double body
    double asked_period
    double folding

cdef struct Command:
    double twist[3]
    double offset[6]

cdef struct State:
    double mode
    double phase
    double time
    double span
    double weight
    double twist[3]
    double going[3]
    double yaw
    double yaw_reference
    double sensed
    double tilted
    double height
    double height_rate
    double height_from
    double from_sway[2]
    double body_offset[6]
    double blend
    double blend_time
    double stay
    double reflexes
    double level_for
    double fast
    double tilted_for
    double easy
    double easy_for
    double pressed

cdef struct Foot:
    double place[3]
    double rate[3]
    double lift_off[2]
    double touch_down[2]
    double in_air
    double start[3]
    double back
