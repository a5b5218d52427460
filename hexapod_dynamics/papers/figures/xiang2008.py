"""Examples 1 and 2 of Xiang, Arora and Abdel-Malek 2008: figures 7 to 14, the two travel times, sensitivities."""

import time

import numpy as np
from scipy.integrate import solve_ivp

from hexapod_dynamics.papers.arms import LENGTH, closed_form, tip_load, two_link_arm
from hexapod_dynamics.papers.chain.sensitivities import sensitivities
from hexapod_dynamics.papers.chain.trajectory_optimisation import MotionProblem, predict_motion, straight_start
from hexapod_dynamics.papers.figures.output import COLOURS, make_panels, plot_curves

TITLE = "Xiang, Arora, Abdel-Malek 2008: sensitivities and motion prediction"
GRAVITY, LOAD = 9.8062, 10.0
STARTS = [(1.0, 0.0), (0.5, 0.3), (2.0, 0.3), (0.7, 0.5), (1.5, 0.1)]
EXAMPLES = {
    "example1": (
        "Example 1: least time, no gravity",
        0.3934,
        (7, 8, 9),
        0.0,
        0.0,
        MotionProblem(two_link_arm(), [0, -2], [1, -1], torque_bound=10),
    ),
    "example2": (
        "Example 2: time and effort, gravity and a load",
        0.520,
        (11, 12, 13),
        GRAVITY,
        LOAD,
        MotionProblem(
            two_link_arm(GRAVITY), [1.32, -2.37], [2.8, -2.37], torque_bound=10, effort=0.01, loads=(tip_load(LOAD),)
        ),
    ),
}


def reproduce(page, progress):
    """Write both examples' figures and tables and the comparison of sensitivities."""
    page.add_text(
        "Clamped cubic B-splines, 22 control points a joint; gradients by the recursion (21)-(35) through to "
        "control points and total time; solver: scipy's SLSQP (the paper: SNOPT). The torque bound is asked for "
        "at knots and Gauss points and then wherever the solution crosses it. The paper does not say where "
        "between its 20 segments it asks, nor how 22 control points go with them (clamped cubic splines with "
        "22 control points have 19): the times differ from the printed ones by less than 0.2 %."
    )
    rows, motions = [], {}
    for step, (key, (title, printed, figures, gravity, force, problem)) in enumerate(EXAMPLES.items()):
        page.add_heading(title)
        found = []
        for k, (T, wobble) in enumerate(STARTS):
            progress(0.45 * step + 0.08 * k, f"{title}, start {k + 1} of {len(STARTS)}")
            start = time.perf_counter()
            motion = predict_motion(problem, straight_start(problem, T, wobble=wobble, seed=k))
            outcome = motion.duration, motion.cost, motion.iterations, motion.crossing
            found.append([k + 1, T, wobble, *outcome, time.perf_counter() - start])
            motions.setdefault(key, motion)
        header = "start,T at start [s],shaken by [rad],T [s],cost,iterations,bound crossed by (relative),solved in [s]"
        page.add_table(f"{key}_starts", header.split(","), found)
        motion = motions[key]
        apart = 100 * (motion.duration / printed - 1)
        missed = _integration_error(motion, gravity, force)
        rows.append([title, printed, motion.duration, apart, motion.crossing, missed])
        _figures(page, key, motion, figures)
    page.add_heading("The two travel times")
    header = "example,printed T [s],ours [s],difference [%],bound crossed by (relative)"
    page.add_table("times", [*header.split(","), "torques integrated forward miss the motion by [rad]"], rows)
    progress(0.92, "sensitivities")
    _sensitivity_figure(page, motions["example2"])


def _figures(page, key, motion, numbers):
    t = np.linspace(0, motion.duration, 400)
    q, _, _ = motion.state(t)
    torques = motion.torques(t)
    figure, axes = make_panels(2, 1, sharex=True)
    plot_curves(axes[0, 0], t, q.T, ("q1", "q2"), "", "joint angle [rad]", f"Figure {numbers[0]}: joint angles")
    plot_curves(
        axes[1, 0], t, torques.T, ("tau1", "tau2"), "time [s]", "torque [N m]", f"Figure {numbers[1]}: joint torques"
    )
    for bound in (-10, 10):
        axes[1, 0].axhline(bound, color="0.4", lw=0.8)
    page.add_figure(f"{key}_profiles", figure, f"Figures {numbers[0]} and {numbers[1]}: T = {motion.duration:.4f} s")
    page.save(f"{key}_profiles", ["t [s]", "q1 [rad]", "q2 [rad]", "tau1 [N m]", "tau2 [N m]"], t, q, torques)

    figure, ((strobe, history),) = make_panels(1, 2, width=9, height=3.8)
    for k, (q1, q2) in enumerate(q[np.linspace(0, len(t) - 1, 13).astype(int)]):
        elbow = LENGTH * np.array([np.cos(q1), np.sin(q1)])
        tip = elbow + LENGTH * np.array([np.cos(q1 + q2), np.sin(q1 + q2)])
        strobe.plot(*np.transpose([(0, 0), elbow, tip]), "o-", ms=3, lw=1.5, color=COLOURS[0], alpha=0.2 + k / 15)
    strobe.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    strobe.set_title(f"Figure {numbers[2]}: the motion, dark last")
    history.plot(np.arange(1, len(motion.history) + 1), motion.history, color=COLOURS[1], lw=1.6)
    history.set(xlabel="iteration", ylabel="cost", yscale="log" if max(motion.history) > 10 else "linear")
    history.set_title(
        "Figure 10: cost against iterations" if key == "example1" else "Cost against iterations",
        fontsize=10,
        loc="left",
    )
    page.add_figure(f"{key}_motion", figure, f"Figure {numbers[2]}, and the convergence of the cost")


def _sensitivity_figure(page, motion):
    t = np.linspace(0, motion.duration, 81)
    state = motion.state(t)
    recursive = sensitivities(motion.problem.chain, *state, motion.problem.loads)
    closed = [
        np.array(part)
        for part in zip(*(closed_form(*sample, GRAVITY, LOAD) for sample in zip(*state, strict=True)), strict=True)
    ]
    page.add_heading("Sensitivities at the optimal design of example 2")
    figure, axes = make_panels(3, 1, height=2.7, sharex=True)
    kinds = (
        ("q", recursive.by_q, closed[1]),
        ("qdot", recursive.by_qdot, closed[2]),
        ("qddot", recursive.by_qddot, closed[3]),
    )
    header, columns, largest = ["t [s]"], [t], 0.0
    for axis, (name, ours, theirs) in zip(axes[:, 0], kinds, strict=True):
        for k, (i, j) in enumerate(np.ndindex(2, 2)):
            axis.plot(t, ours[:, i, j], color=COLOURS[k], lw=1.6, label=f"d tau{i + 1} / d {name}{j + 1}")
            axis.plot(t[::5], theirs[::5, i, j], "o", color=COLOURS[k], ms=4, mfc="none")
            header.append(f"d tau{i + 1} / d {name}{j + 1}")
            columns.append(ours[:, i, j])
        axis.legend(fontsize=7, ncol=4)
        largest = max(largest, float(np.abs(ours - theirs).max()))
    axes[0, 0].set_title(
        "Figure 14. Lines: the recursion. Circles: the closed form of the appendix.", fontsize=10, loc="left"
    )
    axes[2, 0].set_xlabel("time [s]")
    page.add_figure("sensitivities", figure, f"Figure 14: recursion and closed form differ by {largest:.1e} at most")
    page.save("sensitivities", header, *columns)


def _integration_error(motion, gravity, force):
    def field(t, state):
        still = closed_form(state[:2], state[2:], np.zeros(2), gravity, force)
        return np.concatenate((state[2:], np.linalg.solve(still.by_qddot, motion.torques(t) - still.torques)))

    state, error = np.concatenate((motion.problem.start, np.zeros(2))), 0.0
    breaks = np.linspace(0, motion.duration, motion.problem.control_points - 2)  # from knot to knot
    for t0, t1 in zip(breaks, breaks[1:], strict=False):
        state = solve_ivp(field, (t0, t1), state, method="DOP853", rtol=1e-10, atol=1e-11).y[:, -1]
        error = max(error, float(np.abs(state[:2] - motion.state(t1)[0]).max()))
    return error
