"""The diagnostics of the node `dynamics`."""

import numpy as np


def observer_values(observer):
    """Return the diagnostic values of an Observer."""
    offsets = observer.joint_filter.offsets
    worst = int(np.argmax(np.abs(offsets)))
    covariance = observer.covariance
    return {
        "skipped time [s]": observer.skipped,
        "restarts of a tumbled model": observer.restarts,
        "largest set-point offset [rad]": float(offsets[worst]),
        "of": observer.robot.joint_names[worst],
        "attitude, IMU less model [rad]": float(np.linalg.norm(observer.attitude_filter.innovation)),
        "estimated slope [deg]": float(np.degrees(np.arctan(np.hypot(*observer.model.slope)))),
        "learnt dead band of the servos [deg]": float(np.degrees(observer.dead_band.band)),
        "learnt lag of the servos [ms]": 1e3 * observer.servo_lag.seconds,
        "stride, true less modelled [%]": 1e2 * observer.way.speed_factor.share,
        "standard deviation of x, y [m]": float(np.sqrt(np.trace(covariance[:2, :2]))),
        "standard deviation of yaw [deg]": float(np.degrees(np.sqrt(covariance[5, 5]))),
        "inconsistent": " ".join(observer.consistency.suspected),
        "yaw alignments": observer.attitude_filter.alignments,
        "period of the commands [s]": observer.commands.history.lag or 0.0,
    }


def status(observer, silent, late, faults):
    """Return level and message.

    silent: topics without messages. late: texts about late predictions. faults: texts about faults of the inputs.
    """
    if "joint_states" in silent:
        return "error", "; ".join(["no joint_states: the prediction is paused", *faults])
    if not observer.started:
        missing = observer.morphology.existing_mask & ~np.isfinite(observer.joint_filter.latest)
        names = ", ".join(np.array(observer.robot.joint_names)[missing]) or "the attitude"
        return "error", f"waiting for the first measurement of {names}"
    attitude = ["no imu/data: the attitude comes from the model alone"] if "imu/data" in silent else []
    level, inconsistency = observer.confidence
    reasons = [*([inconsistency] if level != "ok" else []), *attitude, *late, *faults]
    if reasons:
        return "warn" if level == "ok" else level, "; ".join(reasons)
    return "ok", "predicting" if "joint_commands" not in silent else "predicting, no commands"
