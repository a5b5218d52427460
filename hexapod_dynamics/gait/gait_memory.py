"""The data of the compiled gaits, as named fields of the arrays' memory."""

import cython

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.gait import adaptive_state, leg_table, plan_numbers, tripod_state


def legs_of(table):
    """Return the legs of a leg table (n, COLUMNS)."""
    return cython.cast("Leg *", kernel_memory.structs(table, leg_table.LEG, len(table)))


def plan_of(array):
    """Return the numbers (NUMBERS,) of a plan."""
    return cython.cast("Plan *", kernel_memory.struct(array, plan_numbers.PLAN))


class WalkMemory:
    """The memory of an `adaptive_state.Walk`; it keeps the arrays alive."""

    def __init__(self, walk):
        n = len(walk.legs)
        self.arrays, self.legs_count = walk, n
        self.plan, self.legs = plan_of(walk.plan), legs_of(walk.legs)
        settings = kernel_memory.struct(walk.settings, adaptive_state.SETTINGS_LAYOUT)
        command = kernel_memory.struct(walk.command, adaptive_state.COMMAND_LAYOUT)
        state = kernel_memory.struct(walk.state, adaptive_state.STATE_LAYOUT)
        feet = kernel_memory.structs(walk.feet, adaptive_state.FOOT_LAYOUT, n)
        self.settings = cython.cast("adaptive_state.Settings *", settings)
        self.command = cython.cast("adaptive_state.Command *", command)
        self.state, self.feet = cython.cast("adaptive_state.State *", state), cython.cast("adaptive_state.Foot *", feet)
        self.start = kernel_memory.numbers(walk.start, 3 * n)
        self.position = kernel_memory.numbers(walk.position, 3 * n)
        self.velocity = kernel_memory.numbers(walk.velocity, 3 * n)

    def __reduce__(self):
        return type(self), (self.arrays,)


class TripodMemory:
    """The memory of a `tripod_state.Tripod`; it keeps the arrays alive."""

    def __init__(self, gait):
        n = len(gait.legs)
        self.arrays, self.legs_count, self.legs = gait, n, legs_of(gait.legs)
        parameters = kernel_memory.struct(gait.parameters, tripod_state.PARAMETERS_LAYOUT)
        state = kernel_memory.struct(gait.state, tripod_state.STATE_LAYOUT)
        feet = kernel_memory.structs(gait.feet, tripod_state.FOOT_LAYOUT, n)
        self.parameters = cython.cast("tripod_state.Parameters *", parameters)
        self.state, self.feet = cython.cast("tripod_state.State *", state), cython.cast("tripod_state.Foot *", feet)
        self.command, self.start = kernel_memory.numbers(gait.command, 4), kernel_memory.numbers(gait.start, 3 * n)
        self.position = kernel_memory.numbers(gait.position, 3 * n)
        self.velocity = kernel_memory.numbers(gait.velocity, 3 * n)

    def __reduce__(self):
        return type(self), (self.arrays,)
