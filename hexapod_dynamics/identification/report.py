"""Table and picture of an identification."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from hexapod_dynamics.identification import Finding, Identification
from hexapod_dynamics.robot import Robot


def table(findings: Iterable[Finding]) -> str:
    """Lines "name value +- deviation unit (file: ...)"; for a quantity that was not identified, the motion that
    would be needed.
    """
    lines = []
    for finding in findings:
        if math.isfinite(finding.deviation):
            value = f"{finding.value:10.3f} +- {finding.deviation:7.3f} {finding.unit:13s}"
        else:
            value = f"{'unknown':>10s}            {finding.unit:13s}"
        text = f"{finding.name:32s}{value} file {finding.file:9.3f}"
        lines.append(text if not finding.missing else f"{text}   not seen: {finding.missing}")
    return "\n".join(lines)


def draw_report(robot: Robot, result: Identification, path: Path) -> None:
    """Draw the identified servos and zeros of each joint, and the residuals of its angles before and after.

    The ending of the path decides the format of the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 2, figsize=(13, 10), constrained_layout=True)
    joints = np.arange(robot.joint_count)
    names = [name.replace("_joint", "") for name in robot.joint_names]
    kinds = (
        ("stiffness", "N m/rad"),
        ("dead_zone", "deg"),
        ("latency", "ms"),
        ("play", "deg"),
        ("zero", "deg"),
    )
    for axis, (what, unit) in zip(axes.ravel(), kinds, strict=False):
        found = [finding for finding in result.findings if finding.name.endswith(f".{what}")]
        if len(found) == len(joints):
            values, deviations = np.array([(f.value, f.deviation) for f in found]).T
            known = np.isfinite(deviations)
            axis.errorbar(
                joints[known], values[known], 2.0 * deviations[known], fmt="o", ms=4, capsize=3, label="found, 2 sd"
            )
            axis.plot(joints, [f.file for f in found], "_", color="tab:red", ms=12, label="robot file before")
        axis.set(title=f"{what.replace('_', ' ')} [{unit}]", xticks=joints, xlim=(-0.6, len(joints) - 0.4))
        axis.set_xticklabels(names, rotation=70, fontsize=7)
        axis.grid(alpha=0.3)
    last = axes.ravel()[-1]
    if result.servos is not None:
        last.bar(joints - 0.2, np.degrees(result.servos.before), 0.4, color="tab:red", label="robot file before")
        last.bar(joints + 0.2, np.degrees(result.servos.noise), 0.4, color="tab:blue", label="identified")
    last.set(title="measured less predicted angle, rms [deg]", xticks=joints)
    last.set_xticklabels(names, rotation=70, fontsize=7)
    for axis in (axes[0, 0], last):
        axis.legend(fontsize=8)
    figure.suptitle(f"Identification of {robot.name}")
    figure.savefig(path, dpi=110)
    plt.close(figure)
