"""Time several ways of doing the same, turn by turn in one process, so that the machine's moods hit all alike."""

import statistics
import time

ROUNDS, SLICE = 150, 0.002  # turns of each, seconds a turn: short ones, some of which nothing interrupts


class Timing:
    """Seconds a call: the best of the turns (a busy machine only adds), the median, the middle half's spread."""

    def __init__(self, name: str, calls: int):
        self.name, self.calls, self.samples = name, calls, []

    @property
    def best(self) -> float:
        return min(self.samples)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        low, _, high = statistics.quantiles(self.samples, n=4)
        return (high - low) / self.median


def compare(functions: dict, *, per_call=1, rounds=ROUNDS, time_slice=SLICE) -> dict[str, Timing]:
    """Timings of functions without arguments by name; per_call: how many evaluations one call makes."""
    timings = {}
    for name, function in functions.items():
        function()
        start = time.perf_counter()
        function()
        once = time.perf_counter() - start
        timings[name] = Timing(name, max(1, int(time_slice / max(once, 1e-9))))
    for _ in range(rounds):
        for name, function in functions.items():
            repeat = range(timings[name].calls)
            start = time.perf_counter()
            for _ in repeat:
                function()
            timings[name].samples.append((time.perf_counter() - start) / (len(repeat) * per_call))
    return timings


def table(title: str, timings: dict[str, Timing], base: str | None = None, targets: dict | None = None) -> None:
    """Print timings; with a base, how many times the base's time each one takes, and whether a target is met."""
    print(f"\n{title}")
    for name, timing in timings.items():
        line = f"  {name:<58} {timing.best * 1e6:10.3f} us +-{50 * timing.spread:3.0f} %"
        if base and name != base:
            ratio = timing.best / timings[base].best
            line += f"   {ratio:7.2f} x ours"
            wanted = (targets or {}).get(name)
            if wanted:
                line += f"   (wanted {wanted:g}: {'met' if ratio >= wanted else 'MISSED'})"
        print(line)
