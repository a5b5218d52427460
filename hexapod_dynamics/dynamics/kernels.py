"""The whole-body model on vectors of full size, compiled: forward and inverse dynamics of a Workspace.

Arrays always have the size for the whole robot: a change of the morphology changes numbers, never shapes. Other
kernels take the model of a Workspace by `model_of`, and call the functions of the C model (c_model.pxd) on it.
"""

import cython

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.dynamics import c_model


def model_of(workspace):
    """Return the C model of a Workspace; the caller must keep the Workspace alive."""
    memory = workspace.memory
    return cython.cast("c_model.hd_model *", kernel_memory.integers(memory, memory.size))


def forward(workspace, rotation, q, nu, torque, out):
    """Write forward dynamics to out (6 + joints,): accelerations under joint torques.

    rotation: (3, 3) world <- base_link; q, torque: (joints,); nu: (6 + joints,). Entries of missing and locked joints
    are ignored, and 0 in the result. All are contiguous float64 arrays; HexapodError names an array that is not.
    """
    m, n = model_of(workspace), len(q)
    c_model.hd_forward(
        m,
        kernel_memory.values(rotation, 9),
        kernel_memory.values(q, n),
        kernel_memory.values(nu, 6 + n),
        kernel_memory.values(torque, n),
        kernel_memory.numbers(out, 6 + n),
    )


def inverse(workspace, rotation, q, nu, nudot, out):
    """Write inverse dynamics to out (6 + joints,): the wrench on the base and joint torques for accelerations nudot.

    Arguments as for `forward`. The external wrench is not subtracted; torques of missing and locked joints are 0.
    """
    m, n = model_of(workspace), len(q)
    c_model.hd_inverse(
        m,
        kernel_memory.values(rotation, 9),
        kernel_memory.values(q, n),
        kernel_memory.values(nu, 6 + n),
        kernel_memory.values(nudot, 6 + n),
        kernel_memory.numbers(out, 6 + n),
    )
