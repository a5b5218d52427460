"""Cost against links, whole against partial, one thread against two: python benchmark/partial_lagrangian.py."""

import subprocess
import sys
import time

import casadi as ca
import numpy as np

from hexapod_dynamics.papers.partial_lagrangian import PartialLagrangian, revolute_link, whole_forces


def seconds(function, *arguments, budget=0.2):
    laps, until = [], time.perf_counter() + budget
    while time.perf_counter() < until or len(laps) < 3:
        start = time.perf_counter()
        function(*arguments)
        laps.append(time.perf_counter() - start)
    return float(np.median(laps))


def buffered(function, arguments):
    """A CasADi function bound to its memory: nothing is converted or allocated in a call."""
    buffer, call = function.buffer()
    arrays = [np.array(argument) for argument in arguments]
    result = np.zeros(function.size1_out(0))
    for i, array in enumerate(arrays):
        buffer.set_arg(i, memoryview(array))
    buffer.set_res(0, memoryview(result))
    return call, (buffer, arrays, result)


def measure(sizes=(1, 2, 3, 4, 6, 8, 10)):
    """Rows: links, seconds to derive whole, partial and one more link, operations whole and partial, seconds a call."""
    rows = []
    link = revolute_link(1.0, 1.0, damping=1.0)
    for n in sizes:
        chain = PartialLagrangian([link] * n)
        shorter = PartialLagrangian([link] * (n - 1))
        state = np.random.default_rng(n).normal(size=(3, n))
        function = chain.dynamics().torque_function
        whole = whole_forces(chain)
        usual = ca.Function("usual", ca.symvar(whole), [whole]).n_instructions()
        call, alive = buffered(function, state)
        rows.append(
            {
                "links": n,
                "whole": seconds(whole_forces, chain),
                "partial": seconds(lambda n=n: PartialLagrangian([link] * n)),
                "one more": seconds(shorter.extended, link),
                "operations": function.n_instructions(),
                "operations whole": usual,
                "call": seconds(call),
            }
        )
        del alive
    return rows


def threads(n=10, samples=20000):
    """Seconds for a batch of all columns by one thread and by two."""
    chain = PartialLagrangian([revolute_link(1.0, 1.0, damping=1.0)] * n)
    states = np.random.default_rng(0).normal(size=(3, n, samples))
    function = chain.dynamics().torque_function
    times = {}
    for count in (1, 2):
        mapped = function.map(samples, "thread", count) if count > 1 else function.map(samples, "serial")
        times[count] = seconds(mapped, *(ca.DM(state) for state in states), budget=1.0)
    derive = {count: seconds(chain.column_functions, count, budget=1.0) for count in (1, 2)}
    return times, derive


def import_seconds(module):
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return f"{float(outcome.stdout):.2f} s" if outcome.returncode == 0 else "not installed"


def main():
    print("import:", ", ".join(f"{name} {import_seconds(name)}" for name in ("casadi", "jax")))
    for row in measure():
        print(
            f"  {row['links']:2d} links: derive whole {1e3 * row['whole']:6.2f} ms, "
            f"partial {1e3 * row['partial']:6.2f} ms, one more link {1e3 * row['one more']:5.2f} ms; operations "
            f"{row['operations whole']} whole, {row['operations']} partial; a call {1e6 * row['call']:.1f} us"
        )
    calls, derive = threads()
    print(
        f"  10 links, 20000 states: one thread {calls[1]:.3f} s, two {calls[2]:.3f} s, "
        f"{calls[1] / calls[2]:.2f} times; functions of the columns: {1e3 * derive[1]:.1f} ms, "
        f"{1e3 * derive[2]:.1f} ms"
    )


if __name__ == "__main__":
    main()
