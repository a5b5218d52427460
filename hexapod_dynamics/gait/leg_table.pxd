cdef struct Leg:
    double to_leg[9]
    double mount[3]
    double lengths[3]
    double lower[3]
    double upper[3]
    double knee[2]
    double free[3]
    double held[3]
    double mass[3]
    double centre[3]
    double used
    double phase
    double foothold[2]
    double rest[3]
