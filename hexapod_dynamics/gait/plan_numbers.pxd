cdef struct Plan:
    double period
    double duty
    double height
    double lift
    double rows
    double rise
    double sway[32]
