"""Whether calling something again and again keeps memory."""

import tracemalloc

import numpy as np


def least_growth(tick, ticks=250, stretches=6):
    """Call tick() through some stretches; return by how much [bytes] what the package holds grew in the best of them.

    What was made before the tracing is counted when it is replaced, and Python's own pools fill and empty: single
    stretches grow by some kB. What stays from each tick lets every stretch grow, by 24 bytes a tick and more.
    """

    def held():
        for _ in range(ticks):
            tick()
        return sum(
            trace.size
            for trace in tracemalloc.take_snapshot().traces
            if "hexapod_dynamics" in trace.traceback[0].filename
        )

    tracemalloc.start()
    try:
        held()
        return min(np.diff([held() for _ in range(stretches + 1)]))
    finally:
        tracemalloc.stop()
