"""Torques of the servos in a step, compiled, at the end of the step; joint stops; see actuator.py."""

import math

from hexapod_dynamics.dynamics import c_model

# Stiffness and damping of a joint stop, as multiples of those of the servo.
STOP_STIFFNESS, STOP_DAMPING = 20.0, 4.0
# Rate [rad/s] at which a gear that sticks creeps under all its dry friction: the friction is a damper up to there.
CREEP = 1e-3


def stretch(lag, band):
    """Return the lag [rad] of a joint behind its set-point, less the servo's dead band."""
    return lag - min(band, max(-band, lag))


def stiffness_at(drive, lag):
    """Return the stiffness [N m/rad] of a servo at a lag [rad]: zero within its dead band."""
    if math.fabs(lag) > drive.dead_band or drive.dead_band == 0.0:
        return drive.stiffness
    return 0.0


def holding_damping(servos, drive, joint):
    """Return the damping [N m s/rad] of a servo that holds its torque, with its gear's friction."""
    damping = servos[joint].viscous
    if servos[joint].sliding == 0.0:
        damping += servos[joint].dry / CREEP
    if servos[joint].loaded * servos[joint].driven == 0.0:
        return damping + drive.damping
    if servos[joint].saturated == 0.0:
        return damping + servos[joint].damping
    return damping


def holding_torque(servos, drive, joint, rate):
    """Return the torque [N m] on the joint of a servo that holds its torque, at a rate [rad/s], with its friction."""
    torque = -servos[joint].sliding * servos[joint].dry - holding_damping(servos, drive, joint) * rate
    if servos[joint].saturated != 0.0:
        return torque + servos[joint].saturated * drive.torque_limit
    return torque + servos[joint].loaded * servos[joint].driven * servos[joint].held


def settle_friction(servos, drive, joint, rate):
    """Set the friction of a servo that holds its torque, at the new rate [rad/s]; return whether its gear slides
    otherwise than assumed, which is corrected.

    A gear that slides sticks before it slides the other way.
    """
    sliding = servos[joint].sliding
    friction = servos[joint].viscous * rate + sliding * servos[joint].dry
    if servos[joint].loaded * servos[joint].driven == 0.0:
        friction += drive.damping * rate
    if sliding == 0.0:
        friction += servos[joint].dry * min(1.0, max(-1.0, rate / CREEP))
        if math.fabs(rate) > CREEP:
            sliding = 1.0 if rate > 0.0 else -1.0
    elif sliding * rate < CREEP:
        sliding = 0.0
    servos[joint].friction = friction
    wrong = sliding != servos[joint].sliding and servos[joint].dry > 0.0
    servos[joint].sliding = sliding
    return wrong


def add_servos(m, servos, drive, q, nu, h):
    """Add the servos' torques at the old velocity to the right-hand side, and their implicit part to the mass
    matrix.
    """
    width = m.width
    for joint in range(m.joint_count):
        if m.moving[joint] == 0.0:
            continue
        k = m.joints[joint].k
        lane = c_model.hd_lane(m, m.joints[joint].block, m.joints[joint].lane)
        diagonal = (m.rows.block + k * (k + 3) // 2) * width
        if servos[joint].holds != 0.0:
            torque = holding_torque(servos, drive, joint, nu[6 + joint])
            lane[diagonal] += h * holding_damping(servos, drive, joint)
        elif servos[joint].saturated == 0.0:
            rate = nu[6 + joint]
            on = servos[joint].loaded * servos[joint].driven
            lag = servos[joint].setpoint - q[joint]
            stiffness = on * stiffness_at(drive, lag)
            torque = stiffness * (stretch(lag, drive.dead_band) - h * rate)
            torque += drive.damping * (on * drive.feed_forward * servos[joint].rate - rate)
            lane[diagonal] += h * (drive.damping + h * stiffness)
        else:
            torque = servos[joint].saturated * drive.torque_limit
        if servos[joint].stopped != 0.0:
            k_stop, d_stop = STOP_STIFFNESS * drive.stiffness, STOP_DAMPING * drive.damping
            limit = servos[joint].upper if servos[joint].stopped > 0.0 else servos[joint].lower
            torque += k_stop * (limit - q[joint] - h * nu[6 + joint]) - d_stop * nu[6 + joint]
            lane[diagonal] += h * (d_stop + h * k_stop)
        lane[(m.rows.force + k) * width] += torque


def settle_servos(m, servos, drive, q, nu, h):
    """Set the torques at the new velocity nu; return whether an assumption about saturation was wrong and was
    corrected.
    """
    limit = drive.torque_limit
    wrong = False
    for joint in range(m.joint_count):
        if m.moving[joint] == 0.0:
            servos[joint].torque = 0.0
            continue
        rate = nu[6 + joint]
        torque = 0.0
        if servos[joint].holds != 0.0:
            if servos[joint].loaded * servos[joint].driven != 0.0:
                torque = servos[joint].held - servos[joint].damping * rate
            if settle_friction(servos, drive, joint, rate):
                wrong = True
        elif servos[joint].loaded * servos[joint].driven != 0.0:
            lag = servos[joint].setpoint - q[joint]
            torque = stiffness_at(drive, lag) * (stretch(lag, drive.dead_band) - h * rate)
            torque += drive.damping * (drive.feed_forward * servos[joint].rate - rate)
        servos[joint].torque = min(limit, max(-limit, torque))
        saturated = 0.0
        if torque > limit:
            saturated = 1.0
        elif torque < -limit:
            saturated = -1.0
        if saturated != servos[joint].saturated:
            wrong = True
            servos[joint].saturated = saturated
        at = q[joint] + h * rate
        stopped = 0.0
        if at > servos[joint].upper:
            stopped = 1.0
        elif at < servos[joint].lower:
            stopped = -1.0
        if stopped != servos[joint].stopped:
            wrong = True
            servos[joint].stopped = stopped
    return wrong
