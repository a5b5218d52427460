"""Figures 1 to 5 of Mueller & Kumar: third-order inverse dynamics of the Franka arm, and the computing time of
each order.
"""

import numpy as np

from hexapod_dynamics.papers.arms import franka, franka_trajectory
from hexapod_dynamics.papers.figures.output import COLOURS, make_panels, measure_time, plot_curves
from hexapod_dynamics.papers.nth_order import closed_form, recursive

TITLE = "Mueller & Kumar: n-th order time derivatives of inverse dynamics"
ORDER, DURATION = 3, 10.0
UNITS = ("Q [N m]", "dQ/dt [N m/s]", "d2Q/dt2 [N m/s^2]", "d3Q/dt3 [N m/s^3]")


def reproduce(page, progress):
    """Write the five figures, the agreement of the forms and the cost of each order."""
    page.add_text(
        "The Franka Emika Panda with the parameters of Gaz et al. 2019 (see `papers/arms.py`), the source "
        "the paper names; all seven joints, where the paper says six. The paper gives its trajectory as a "
        "picture: here two sines a joint within the arm's ranges and speeds."
    )
    chain = franka()
    t = np.linspace(0, DURATION, 401)
    motion = np.array([franka_trajectory(s, ORDER + 2) for s in t])
    names = [f"joint {i + 1}" for i in range(7)]

    figure, axes = make_panels(3, 1, height=2.4, sharex=True)
    for k, (axis, label) in enumerate(zip(axes[:, 0], ("q [rad]", "qdot [rad/s]", "qddot [rad/s^2]"), strict=True)):
        plot_curves(
            axis,
            t,
            motion[:, k].T,
            names,
            "time [s]" if k == 2 else "",
            label,
            "Figure 1: the trajectory" if k == 0 else None,
        )
        if k:
            axis.get_legend().remove()
    page.add_figure("figure1", figure, "Figure 1: the trajectory of the seven joints")
    header = ["t [s]", *(f"{what}{i + 1}" for what in ("q", "qdot", "qddot") for i in range(7))]
    page.save("trajectory", header, t, *(motion[:, k] for k in range(3)))

    forces, apart = [], np.zeros(ORDER + 1)
    for k, sample in enumerate(motion):
        if k % 40 == 0:
            progress(0.8 * k / len(t), f"third-order inverse dynamics, {t[k]:.0f} of {DURATION:.0f} s")
        ours, other = recursive(chain, sample, ORDER).forces, closed_form(chain, sample, ORDER).forces
        apart = np.maximum(apart, np.abs(ours - other).max(axis=1))
        forces.append(ours)
    forces = np.array(forces)
    for k in range(ORDER + 1):
        figure, ((axis,),) = make_panels(height=3.6)
        plot_curves(axis, t, forces[:, k].T, names, "time [s]", UNITS[k], f"Figure {k + 2}: {_ordinal(k)}")
        if k:
            numeric = np.gradient(forces[:, k - 1], t, axis=0)
            for i in range(7):
                axis.plot(t[::20], numeric[::20, i], "o", color=COLOURS[i], ms=3.5, mfc="none")
            axis.set_title(
                f"Figure {k + 2}: {_ordinal(k)}. Circles: differences of the figure before.", fontsize=10, loc="left"
            )
        page.add_figure(f"figure{k + 2}", figure, f"Figure {k + 2}: {_ordinal(k)} of the joint torques")
        page.save(f"figure{k + 2}", ["t [s]", *names], t, forces[:, k])
    page.add_heading("Recursive and closed form")
    page.add_table(
        "agreement",
        ["order", "largest value", "largest difference of the two forms"],
        [[k, float(np.abs(forces[:, k]).max()), float(apart[k])] for k in range(ORDER + 1)],
    )

    progress(0.85, "cost of each order")
    rows = []
    for order in range(7):
        sample = franka_trajectory(0.7, order + 2)
        rows.append([order, *(1e3 * measure_time(form, chain, sample, order) for form in (recursive, closed_form))])
    page.add_heading("Cost")
    page.add_table("cost", ["order", "recursive [ms]", "closed form [ms]"], rows)
    page.add_text(
        "The paper finds its recursive form slightly ahead of its closed form (MATLAB). Here the recursion wins "
        "at low orders and for long chains; at seven joints and high orders the "
        "closed form's few large products cost numpy about as much as the recursion's many small ones."
    )


def _ordinal(k):
    return ("inverse dynamics", "first derivative", "second derivative", "third derivative")[k]
