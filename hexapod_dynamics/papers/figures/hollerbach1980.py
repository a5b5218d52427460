"""Tables I and II of Hollerbach 1980, by counting operations, and the time of each formulation against the number
of joints.
"""

import numpy as np

from hexapod_dynamics.papers.chain.chain import Chain
from hexapod_dynamics.papers.figures.output import COLOURS, make_panels, measure_time, set_log_scale
from hexapod_dynamics.papers.hollerbach import TERMS, link_terms
from hexapod_dynamics.papers.hollerbach_operations import (
    TABLE_I,
    TABLE_II,
    count_operations,
    explain_difference,
    polynomial,
    printed_counts,
)

TITLE = "Hollerbach 1980: operations of six formulations of dynamics"
NAMES = {
    "uicker_kahn": "Uicker/Kahn",
    "waters": "Waters",
    "recursive_4x4": "Hollerbach (4x4)",
    "recursive_3x3": "Hollerbach (3x3)",
    "newton_euler": "Newton-Euler",
    "configuration_space": "Horn, Raibert",
}


def reproduce(page, progress):
    """Write tables I, II, their differences by name, and two figures."""
    page.add_text(
        "Counted: `papers/hollerbach.py` run on numbers that tally each product and sum. Printed: the "
        "paper's polynomials. All six give the same torques (1e-10 of each other and of Pinocchio)."
    )
    progress(0.0, "counting operations")
    page.add_heading("Table I: polynomials in the number of joints")
    rows = []
    for method, name in NAMES.items():
        counts = {n: count_operations(method, n) for n in range(1, 8)}
        for which, what in enumerate(("multiplications", "additions")):
            ours = polynomial({n: counts[n][which] for n in counts})
            rows.append([name, what, _format_polynomial(TABLE_I[method][which]), _format_polynomial(ours)])
    page.add_table("table1", ["method", "operation", "printed", "counted"], rows)
    page.add_heading("Table II: six joints")
    page.add_table(
        "table2",
        ["method", "printed x", "counted x", "printed +", "counted +"],
        [
            [name, TABLE_II[m][0], count_operations(m, 6)[0], TABLE_II[m][1], count_operations(m, 6)[1]]
            for m, name in NAMES.items()
        ],
    )
    products, sums = (float(value) for value in printed_counts("uicker_kahn", 6))
    page.add_text(
        f"Table I at n = 6 gives Table II but for two rows: Uicker/Kahn, {products:.0f} multiplications and "
        f"{sums:.0f} additions by its own polynomials, and "
        "Waters, whose 7051 belongs to 621 1/2 n. With 66 1/3 n^3 and 42 1/3 n, where the scan has 1/2, Uicker/Kahn's "
        "additions are Table II's 51548, and 13 of them have no name below. Its 53 multiplications without a name are "
        "those of Table I's 67153; of Table II's 66271 they are 935."
    )
    progress(0.3, "naming the differences")
    page.add_heading("What the print charges beyond the implementation, six joints")
    differences = []
    for method, name in NAMES.items():
        items, rest = explain_difference(method, 6)
        differences += [
            [name, item.name, float(item.multiplications), float(item.additions)]
            for item in (*items, rest)
            if item.multiplications or item.additions
        ]
    page.add_table("differences", ["method", "what", "x", "+"], differences)

    figure, ((axis,),) = make_panels(height=4.2)
    n = np.arange(1, 13)
    for colour, (method, name) in zip(COLOURS, NAMES.items(), strict=False):
        axis.plot(n, [sum(count_operations(method, int(k))) for k in n], color=colour, lw=1.6, label=name)
        axis.plot(n, [float(sum(printed_counts(method, int(k)))) for k in n], "o", color=colour, ms=3.5, mfc="none")
    set_log_scale(axis, (1, 2, 3, 4, 6, 8, 12), "multiplications and additions")
    axis.set_title("Lines: counted. Circles: the printed polynomials.")
    page.add_figure("operations", figure, "Operations against the number of joints")

    times, slopes = {}, []
    sizes = {"uicker_kahn": (2, 4, 8, 16, 24), "waters": (2, 4, 8, 16, 32, 64, 128)}
    for k, method in enumerate(TERMS):
        progress(0.4 + 0.12 * k, f"timing {NAMES[method]}")
        chosen = sizes.get(method, (2, 4, 8, 16, 32, 64))
        times[method] = (chosen, [_seconds(TERMS[method], joints) for joints in chosen])
        counts = [sum(count_operations(method, joints)) for joints in chosen[-2:]]
        orders = (np.polyfit(np.log(chosen[-2:]), np.log(each), 1)[0] for each in (times[method][1][-2:], counts))
        slopes.append([NAMES[method], *map(float, orders)])
    page.add_heading("Time")
    page.add_table("orders", ["method", "order of the measured time", "order of the count"], slopes)
    page.add_table(
        "times",
        ["method", "joints", "seconds"],
        [[NAMES[m], j, s] for m, (chosen, values) in times.items() for j, s in zip(chosen, values, strict=True)],
        show=False,
    )
    figure, ((axis,),) = make_panels(height=4.2)
    for colour, (method, (chosen, values)) in zip(COLOURS, times.items(), strict=False):
        axis.plot(chosen, 1e3 * np.array(values), "o-", color=colour, lw=1.6, ms=4, label=NAMES[method])
    set_log_scale(axis, (2, 4, 8, 16, 32, 64, 128), "time of one call [ms]")
    page.add_figure("times", figure, "Measured time against the number of joints (last two points: the orders above)")
    page.add_text("Timed is what the table counts: A_j and its derivatives are given.")


def _format_polynomial(coefficients):
    terms = [
        f"{c if not power or abs(c) != 1 else ('-' if c < 0 else '')}{('', 'n')[power > 0]}"
        f"{f'^{power}' if power > 1 else ''}"
        for power, c in enumerate(coefficients)
        if c
    ]
    return " + ".join(reversed(terms)).replace("+ -", "- ")


def _seconds(formulation, n):
    rows = [(0, 0.1, 0.3, np.pi / 2 * (i % 2)) for i in range(n)]
    chain = Chain.from_denavit_hartenberg(rows, [1] * n, [[-0.15, 0, 0]] * n, [np.diag([0.002, 0.01, 0.01])] * n)
    q, qdot, qddot = np.random.default_rng(n).normal(size=(3, n))
    return measure_time(formulation, link_terms(chain, q), qdot, qddot)  # the terms are given, as in Table I
