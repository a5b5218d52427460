"""Keeps numpy's matrix library from starting threads.

The threads of OpenBLAS poll for work for 0.1 s after each larger product or inverse; one inverse of 20 x 20 per second
costs a tenth of a core. On matrices of this size more threads are no faster.
"""

import os

# Variables of the environment that OpenBLAS, MKL and those built with OpenMP read when numpy is imported.
THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def compute_in_one_thread() -> None:
    """Let this process and its children compute in one thread, unless the environment sets the number of threads. To
    be called before numpy is imported.
    """
    for name in THREAD_COUNTS:
        os.environ.setdefault(name, "1")
