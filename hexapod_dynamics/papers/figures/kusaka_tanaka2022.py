"""Figures 1 to 5 of Kusaka & Tanaka 2022: free and controlled pendulums, the slider, ten links and their computing
time.
"""

import numpy as np

from hexapod_dynamics.papers.figures.output import COLOURS, make_panels, measure_time, plot_curves, set_log_scale
from hexapod_dynamics.papers.partial_lagrangian import PartialLagrangian, revolute_link, usual_lagrangian_forces
from hexapod_dynamics.papers.partial_lagrangian_examples import (
    LINKS,
    controlled_pendulum,
    free_pendulum,
    simulate,
    slider,
)

TITLE = "Kusaka & Tanaka 2022: partial Lagrangian by differentiation"
EXAMPLES = (
    ("figure1a", "Figure 1a: one link, damped oscillation", free_pendulum(1)),
    ("figure1b", "Figure 1b: one link, PD control to 110 degrees", controlled_pendulum(1)),
    ("figure2a", "Figure 2a: two links, damped oscillation", free_pendulum(2)),
    ("figure2b", "Figure 2b: two links, PD control to 80 and 30 degrees", controlled_pendulum(2)),
    ("figure3a", "Figure 3a: three links, damped oscillation", free_pendulum(3)),
    ("figure3b", "Figure 3b: three links, PD control to 125, 30 and 30 degrees", controlled_pendulum(3)),
    ("figure4", "Figure 4: the second link a slider, PID from 1 to 0.1 m", slider()),
    ("figure5a", "Figure 5a: ten links, damped oscillation", free_pendulum(10, 5.0)),
)


def reproduce(page, progress):
    """Write the pendulums' motions and the cost against the number of links."""
    page.add_text(
        "Masses, lengths, friction, gains and targets as printed. The start (all links level, at rest), the "
        "third link's parameters (as the second's) and the slider's PID gains are not printed and chosen "
        "here; signs of targets that the text may have lost are taken as printed. Each motion equals an "
        "independent integration of Newton's equations to 1e-6 (`test_partial_lagrangian.py`)."
    )
    for k, (name, title, example) in enumerate(EXAMPLES):
        progress(0.08 * k, title)
        _motion(page, name, title, example)
    progress(0.75, "cost against the number of links")
    _cost(page)


def _motion(page, name, title, example):
    times = np.linspace(0, example.duration, 301)
    q, _ = simulate(example.chain.dynamics(), example, times)
    n = q.shape[1]
    slides = name == "figure4"
    shown = q.copy()
    turning = [i for i in range(n) if not (slides and i == 1)]
    shown[:, turning] = np.rad2deg(q[:, turning])
    figure, ((left, right),) = make_panels(1, 2, width=9.5, height=3.8)
    labels = [f"q{i + 1}" for i in range(n)]
    if slides:
        plot_curves(left, times, shown[:, turning].T, ["q1", "q3"], "time [s]", "angle [degrees]", title)
        length = left.twinx()
        length.plot(times, q[:, 1], color=COLOURS[4], lw=1.8, label="q2 (slider)")
        length.set_ylabel("length [m]")
        length.legend(loc="center right")
    else:
        plot_curves(left, times, shown.T, labels, "time [s]", "angle [degrees]", title)
        for i in np.flatnonzero(example.control.proportional):
            left.axhline(np.rad2deg(example.control.target[i]), color=COLOURS[i % len(COLOURS)], lw=0.7, alpha=0.6)
    joints = np.array([_positions(sample, slides) for sample in q])
    for i in range(1, n + 1):
        right.plot(*joints[:, i].T, color=COLOURS[(i - 1) % len(COLOURS)], lw=0.9, alpha=0.7)
    for k, alpha in ((0, 0.35), (-1, 1.0)):
        right.plot(*joints[k].T, "o-", color="0.15", ms=3, lw=1.8, alpha=alpha)
    right.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    right.set_title("Paths of the masses; start pale, end dark")
    page.add_figure(name, figure, title)
    units = ("m" if slides and label == "q2" else "degrees" for label in labels)
    page.save(name, ["t [s]", *(f"{label} [{unit}]" for label, unit in zip(labels, units, strict=True))], times, shown)


def _positions(q, slides):
    angle, points = 0.0, [np.zeros(2)]
    for i, value in enumerate(q):
        length = LINKS[min(i, 2)][0]
        if slides and i == 1:
            length = value
        else:
            angle += value
        points.append(points[-1] + length * np.array([np.cos(angle), np.sin(angle)]))
    return points


def _cost(page):
    link = revolute_link(1.0, 1.0, damping=1.0)
    rows = []
    for n in (1, 2, 3, 4, 6, 8, 10):
        chain, shorter = PartialLagrangian([link] * n), PartialLagrangian([link] * (n - 1))
        rows.append(
            [
                n,
                1e3 * measure_time(usual_lagrangian_forces, chain),
                1e3 * measure_time(lambda n=n: PartialLagrangian([link] * n)),
                1e3 * measure_time(shorter.extend, link),
                chain.dynamics().torque_function.n_instructions(),
            ]
        )
    page.add_heading("Cost against the number of links (figure 5b)")
    page.add_table(
        "cost",
        ["links", "derive whole [ms]", "derive all columns [ms]", "derive one more column [ms]", "operations of tau"],
        rows,
    )
    ten = PartialLagrangian([link] * 10).dynamics().torque_function
    states = [np.random.default_rng(k).normal(size=(10, 5000)) for k in range(3)]
    rates = {
        count: measure_time(ten.map(5000, *(("serial",) if count == 1 else ("thread", count))), *states, least=0.5)
        for count in (1, 2)
    }
    page.add_table(
        "threads", ["threads", "time of 5000 evaluations, ten links [s]"], [[k, v] for k, v in rates.items()]
    )
    page.add_text(
        "The paper reaches n^3 by threads, one for each column. Two threads gain little here and can be slower than "
        "one: an evaluation takes microseconds, and CasADi starts its threads anew at each call and copies arguments "
        "and results on the calling thread (batches of 100 states are slower on two threads, batches of thousands up "
        "to 1.4 times faster where two cores are free). Deriving the columns on two threads gains nothing: CasADi's "
        "Python interface holds the interpreter's lock."
    )
    page.add_text(
        "The paper finds n^4 for the whole and n^3 for the divided Lagrangian, by the number of terms. Reverse "
        "automatic differentiation shares terms: the number of operations grows with n^2 either way, and what "
        "the division saves is the work that need not be done again, a column for a new link."
    )
    figure, ((axis, count),) = make_panels(1, 2, width=9.5, height=3.6)
    rows = np.array(rows)
    for k, name in enumerate(("whole", "all columns", "one more column")):
        axis.plot(rows[:, 0], rows[:, k + 1], "o-", color=COLOURS[k], ms=4, lw=1.6, label=name)
    count.plot(rows[:, 0], rows[:, 4], "o-", color=COLOURS[3], ms=4, lw=1.6, label="tau")
    square = rows[-1, 4] * (rows[:, 0] / rows[-1, 0]) ** 2
    count.plot(rows[:, 0], square, color="0.5", lw=1, linestyle="--", label="n^2")
    for each, what in ((axis, "time to derive [ms]"), (count, "operations")):
        set_log_scale(each, (1, 2, 3, 4, 6, 10), what, "links")
    page.add_figure("cost", figure, "Figure 5b: cost against the number of links")
