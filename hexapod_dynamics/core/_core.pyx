# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
# cython: auto_pickle=False, emit_code_comments=False, optimize.unpack_method_calls=False
"""The compiled core: whole-body model, simulation, gaits and control in C, and the classes that Python calls.

One module. Each subject has a file of its own, which is included here: what it declares is known to those after it.
headers.pxi declares what stands in the C headers; build_core.py writes it.
"""
cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy
from posix.stdlib cimport posix_memalign

from collections.abc import Mapping

import numpy as np

from hexapod_dynamics.errors import DynamicsError, HexapodError
from hexapod_dynamics.se3 import inertia_elements

cnp.import_array()

cdef extern from "scalar.h":
    pass

include "headers.pxi"
include "model.pxi"
include "model_calls.pxi"
include "simulation.pxi"
include "control.pxi"
include "gait.pxi"
