"""All limits of the damage detector in one table: name, value, unit, meaning.

Every part of the detector gets the table, so that it can be tested with other values.
Values that a user may set are in settings.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


def _limit(value: float, unit: str, meaning: str) -> float:
    return field(default=value, metadata={"unit": unit, "meaning": meaning})


def _count(value: int, unit: str, meaning: str) -> int:
    return field(default=value, metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True)
class DetectorLimits:
    """Limits of the detector; windows are time windows (`DetectorSettings.slice`), nats are natural log odds."""

    # ---- servo_identification.py, learnt_servos.py: lag and dead zone of this robot's servos
    identify_first: float = _limit(5.0, "s", "of walking after which lag and dead zone are identified; 0: never")
    identify_again: float = _limit(9.5, "s", "of walking after which they are identified again, and then kept")
    identify_rate: float = _limit(0.05, "rad/s", "modelled rate above which a joint moves")
    identify_moving: float = _limit(0.3, "", "share of the readings that are of moving joints where a robot walks")
    widest_zone: float = _limit(np.radians(0.9), "rad", "largest dead zone that is identified (half width)")
    longest_lag: float = _limit(0.04, "s", "largest lag that is identified")
    least_lag: float = _limit(3e-3, "s", "change of the lag below which, with least_zone, the model stays as it is")
    least_zone: float = _limit(2.5e-3, "rad", "change of the dead zone below which, with least_lag, it stays")
    start_windows: int = _count(40, "windows", "that are learnt at the start whatever they deviate by")
    relearnt_windows: int = _count(16, "windows", "that are learnt so after each identification, at least")
    start_deviation: float = _limit(400.0, "", "deviation above which a window is not learnt, even at the start")
    load_sign: float = _limit(4e-3, "rad", "lead over which the sign of a joint's load changes")
    servo_lag: float = _limit(0.020, "s", "standard deviation of the servos' lag before any reading")
    servo_zone: float = _limit(0.010, "rad", "of the servos' dead zone before any reading")
    servo_softness: float = _limit(0.3, "", "of the servos' relative softness before any reading")
    servo_trim: float = _limit(0.020, "rad", "of a joint's trim before any reading")
    reading_spread: float = _limit(0.010, "rad", "standard deviation of a reading about the model")
    reading_timing: float = _limit(4e-3, "s", "standard deviation of the time of a reading")
    reading_clip: float = _limit(0.060, "rad", "residual above which a reading weighs no more")

    # ---- window.py: features of a time window
    least_reading: float = _limit(1.7e-3, "rad", "standard deviation of a reading by its rounding")
    window_timing: float = _limit(4e-3, "s", "standard deviation of the time of a reading in a window")
    attitude_noise: float = _limit(1e-3, "rad", "standard deviation of a window's mean roll and pitch")
    turn_noise: float = _limit(5e-3, "rad/s", "standard deviation of a window's mean yaw rate")
    least_attitudes: int = _count(4, "attitudes", "that a window needs")
    least_attitude_time: float = _limit(0.1, "s", "that the attitudes of a window span at least")
    late_moved: float = _limit(0.02, "rad", "range of the readings above which a joint moves")
    late_share: float = _limit(0.3, "", "share of the joints that move where the lag of all is judged")

    # ---- lateness.py: commands or readings that come late are no evidence
    late_reading: float = _limit(0.15, "s", "age above which a reading is late")
    late_command: float = _limit(0.12, "s", "age above which a command is late")
    late_update: float = _limit(0.2, "s", "between two updates above which the detector was late")
    late_gap: float = _limit(0.25, "s", "without a reading of any joint above which readings are late")
    late_lag: float = _limit(0.03, "s", "of all joints behind the model, beyond the usual, above which they are late")
    late_usual_gain: float = _limit(0.03, "", "of the running mean of the lag of all joints")
    late_most_usual: float = _limit(0.05, "s", "largest usual lag of all joints")
    lag_rate: float = _limit(0.4, "rad/s", "modelled rate above which a joint shows a lag")
    lag_readings: int = _count(8, "readings", "of such joints that a lag needs")
    lag_joints: int = _count(6, "joints", "that a lag needs")
    late_for: float = _limit(0.3, "s", "without a sign of lateness after which the model may start again")
    busy_signs: int = _count(3, "signs", "of lateness from which on a computer is often late")
    busy_within: float = _limit(20.0, "s", "in which these have come")
    busy_apart: float = _limit(0.5, "s", "at least between two of them")
    busy_patience: float = _limit(3.0, "s", "for which joints and banks then have to say the same")
    seldom_for: float = _limit(5.0, "s", "after a polling round above `late_round`, in which the same holds")
    busy_timing: float = _limit(0.1, "s", "of the time of a reading then, instead of `window_timing`")
    busy_pause: float = _limit(1.5, "s", "at most between two times at which they say it")

    # ---- commanded_model.py, running_model.py: the model under the commands
    command_pause: float = _limit(0.1, "s", "without commands after which the servos hold")
    command_gap: float = _limit(0.15, "s", "between two commands above which the later one came late")
    model_settles: float = _limit(0.5, "s", "in which the model moves from the measured pose into its walk")
    feet_carry: float = _limit(0.8, "", "share of the weight on the feet above which the model stands on them")

    # ---- baseline.py, scatter.py: what this robot leaves when it is intact
    learning_delay: int = _count(6, "windows", "after which a window is learnt, so that new damage is not")
    novelty_fades: float = _limit(0.85, "", "factor, by window, of what is unknown of a changed robot")
    prior_softness: float = _limit(0.3, "", "standard deviation of a joint's relative softness before any window")
    prior_offset: float = _limit(15e-3, "rad", "standard deviation of a joint's offset before anything is learnt")
    prior_lag: float = _limit(15e-3, "s", "of a joint's lag that the identification has left")
    prior_zone: float = _limit(6e-3, "rad", "of a joint's dead zone that the identification has left")
    prior_slope: float = _limit(0.03, "rad", "of the slope of the ground")
    prior_tilt: float = _limit(0.01, "rad", "of the tilt of the body by payload and trims")
    prior_turn: float = _limit(0.03, "rad/s", "of the yaw rate beyond the model's")
    joint_noise: float = _limit(5e-3, "rad", "standard deviation of a joint's residual in a window")
    tilt_noise: float = _limit(8e-3, "rad", "of the residual of roll and pitch in a window")
    yaw_noise: float = _limit(0.01, "rad/s", "of the residual of the yaw rate in a window")
    joint_forget: float = _limit(0.985, "", "factor, by window, of what was learnt of joints")
    body_forget: float = _limit(0.95, "", "factor, by window, of what was learnt of tilt, yaw rate and scatter")
    joint_clip: float = _limit(0.02, "rad", "error of a joint above which a window weighs no more")
    tilt_clip: float = _limit(0.06, "rad", "the same of roll and pitch")
    turn_clip: float = _limit(0.3, "rad/s", "the same of the yaw rate")
    scatter_windows: float = _limit(8.0, "windows", "that the assumed variance of the residuals is worth")

    # ---- suspicion.py: how unusual a window is
    largest_features: int = _count(6, "features", "of a window that are averaged")
    coarse_joint: float = _limit(8e-3, "rad", "standard deviation of a joint for the deviation")
    coarse_tilt: float = _limit(12e-3, "rad", "of roll and pitch for the deviation")
    coarse_turn: float = _limit(0.06, "rad/s", "of the yaw rate for the deviation")
    ground_joint: float = _limit(4e-3, "rad", "of a joint on plausible ground")
    ground_tilt: float = _limit(8e-3, "rad", "of roll and pitch on plausible ground")
    ground_turn: float = _limit(0.03, "rad/s", "of the yaw rate on plausible ground")
    unknown_joint: float = _limit(4e-3, "rad", "of a joint of an unknown robot")
    unknown_tilt: float = _limit(0.03, "rad", "of roll and pitch of an unknown robot")
    unknown_turn: float = _limit(0.03, "rad/s", "of the yaw rate of an unknown robot")
    least_ground: float = _limit(0.1, "", "share of the variance of plausible ground that is always assumed")
    suspicion_fades: float = _limit(0.75, "", "factor of the suspicion, by window")
    deviation_fades: float = _limit(0.7, "", "factor of the deviation, by window")
    learnable: float = _limit(8.0, "", "deviation below which a window is learnt")
    learnable_at_first: float = _limit(40.0, "", "the same in the first windows")
    first_windows: int = _count(12, "windows", "in which slope and payload are not known yet")
    cannot_be_intact: float = _limit(30.0, "", "deviation above which windows that wait are discarded")
    unusual_times: float = _limit(2.0, "", "times its usual value, plus unusual_above: surprise that is unusual")
    unusual_above: float = _limit(0.5, "", "see unusual_times")
    usual_gain: float = _limit(0.08, "", "of the running mean of the surprise")
    usual_times: float = _limit(3.0, "", "times its mean, plus 1, by which the surprise of one window is limited")
    calm: float = _limit(0.5, "s", "for which a bank without a finding is valid")
    longest_calm: float = _limit(2.0, "s", "for which it is valid at most, after several in a row")
    calm_grows: float = _limit(1.3, "", "growth of the suspicion that ends this time")
    calm_again: float = _limit(2.0, "s", "after that time in which another bank follows in a row")

    # ---- covariance.py, bank.py: an ensemble of intact robots
    covariance_scale: float = _limit(0.7, "", "factor of the covariance of intact robots")
    small_ensemble: float = _limit(0.3, "", "share of the variances that is added because the ensemble is small")
    floor_joint: float = _limit(3e-3, "rad", "standard deviation of a joint that the simulator does not model")
    floor_tilt: float = _limit(2e-3, "rad", "of roll and pitch")
    floor_turn: float = _limit(8e-3, "rad/s", "of the yaw rate")
    least_unknown: float = _limit(0.3, "", "share of what is unknown of a robot that always remains")
    smoothest: float = _limit(0.25, "", "least variance of the ground, as a share of the ensemble's")
    roughest: float = _limit(2.0, "", "largest variance of the ground, as a share of the ensemble's")
    ensemble_stiffness: float = _limit(0.2, "", "relative range of the servos' stiffness, +-")
    ensemble_slippery: float = _limit(0.4, "", "least friction of the ground")
    ensemble_grippy: float = _limit(1.0, "", "largest friction of the ground")
    ensemble_slope: float = _limit(3.0, "deg", "largest slope")
    ensemble_payload: float = _limit(0.23, "kg", "largest payload, +-")
    ensemble_place_x: float = _limit(0.06, "m", "largest x of the payload, +-")
    ensemble_place_y: float = _limit(0.03, "m", "largest y of the payload, +-")
    ensemble_rough: float = _limit(0.008, "m", "roughness of the ground of half the ensemble")
    diverged: float = _limit(100.0, "rad, m", "joint angle or place from which a simulation has diverged")

    # ---- posterior.py, bank_run.py: which hypothesis explains what is measured
    sharpest: float = _limit(0.3, "", "chi-square per feature of the best hypothesis that is taken at least")
    alone: float = _limit(0.3, "", "share of a predicted deviation by which each feature is uncertain")
    together: float = _limit(0.3, "", "share by which all features of a window together are uncertain")
    spin: float = _limit(10.0, "1/s", "of a predicted tilt: yaw rate by which the prediction is uncertain")
    onset_part: float = _limit(0.6, "", "of the onset's window that the damage lasts")
    onset_spread: float = _limit(0.35, "", "standard deviation of this part")
    pairs_from: float = _limit(0.5, "", "probability of the declared robot above which pairs are not simulated")
    nothing: float = _limit(0.9, "", "probability of the declared robot from which a bank has found nothing")
    as_usual: float = _limit(0.43, "", "chi-square per feature of such a bank that is usual for every robot")
    usual_misfit: float = _limit(1.5, "", "times this robot's usual chi-square below which such a bank is usual")
    misfit_gain: float = _limit(0.2, "", "of the running mean of that chi-square")

    # ---- lasting_evidence.py: several banks in a row that are sure of a foot or a joint
    misfit: float = _limit(0.8, "", "chi-square per feature that a foot may leave")
    joint_misfit: float = _limit(1.15, "", "the same of a joint")
    small_share: float = _limit(0.1, "", "of the declared robot's chi-square that it may leave whatever it is")
    share_left: float = _limit(0.7, "", "of the declared robot's chi-square that a foot may leave")
    joint_share_left: float = _limit(0.5, "", "the same of a joint")
    misfit_tilted: float = _limit(1.2, "", "chi-square that a foot with clear tilt may leave")
    clear_tilt: float = _limit(10.0, "nats", "of roll and pitch from which a tilt is clear")
    misfit_probed: float = _limit(1.6, "", "chi-square that a foot may leave that is pressed down")
    poor_misfit: float = _limit(2.9, "", "chi-square of a foot that fits poorly")
    poor_share: float = _limit(0.25, "", "of the declared robot's chi-square that such a foot may leave")
    poor_weight: float = _limit(0.5, "banks", "for which a bank counts whose foot fits poorly")
    lasting_banks: int = _count(2, "banks", "that are sure of a foot before it is declared")
    lasting_odds: float = _limit(20.0, "nats", "sum of their log odds")
    lasting_tilt: float = _limit(15.0, "nats", "of roll and pitch in the last two of them")
    relative_share: float = _limit(0.75, "", "of the declared robot's chi-square, that a foot may leave; 0: not judged")
    relative_misfit: float = _limit(12.0, "", "chi-square per feature that a foot may leave in these ways")
    relative_tilt: float = _limit(15.0, "nats", "that roll and pitch contribute to a foot that is judged in this way")
    sure_tilt: float = _limit(65.0, "nats", "of roll and pitch in two banks from which such a foot is declared")
    sure_banks: float = _limit(
        2.5, "banks", "in a row, after which half of it suffices for a foot that leaves `poor_misfit`"
    )
    sure_odds: float = _limit(40.0, "nats", "sum of the log odds of all of them")
    probed_tilt: float = _limit(15.0, "nats", "of roll and pitch in two banks from which such a foot is probed")
    half_cycle: int = _count(3, "windows", "since its loss after which a foot is declared")
    obvious: float = _limit(80.0, "nats", "sum of log odds from which another foot is lost soon after a loss")
    obvious_lean: float = _limit(0.6, "", "share of the lean that it predicts, that is needed")
    obvious_in_all: float = _limit(200.0, "nats", "the same, of two banks in a row or more, whatever it leaves")
    aftermath: float = _limit(6.0, "s", "after a loss for which this holds")
    after_probe: float = _limit(1.9, "s", "after a press in which two banks declare its foot whatever the tilt")
    second_share: float = _limit(
        0.5, "", "of it that a foot may leave that leans so, or is pressed as the second of a pair"
    )
    second_odds: float = _limit(90.0, "nats", "sum of its log odds in two banks, from which it is lost, too")

    # ---- leaning.py: how far the body leans otherwise than its model
    lean_least: float = _limit(np.radians(2.2), "rad", "lean from which a foot may be lost")
    lean_times: float = _limit(1.5, "", "times the largest lean before that this must be")
    lean_most: float = _limit(np.radians(6.0), "rad", "of the leans before, that counts for this")
    lean_predicted: float = _limit(0.33, "", "share of the lean that the lost foot predicts, that is needed")
    lean_onset: float = _limit(1.0, "s", "before the first bank that suspects a foot: from then on it may be lost")
    pair_onset: float = _limit(1.0, "s", "longer before it, for a pair: its own lean is not that of the ground")
    suspected_gap: float = _limit(0.7, "s", "for which a foot may be unsuspected in between")
    lean_rough: float = _limit(np.radians(1.8), "rad", "largest lean before from which the ground is rough")
    lean_part: float = _limit(0.25, "s", "of which the largest lean is kept")
    lean_kept: float = _limit(12.0, "s", "for which leans and obstacles are kept")
    held_for: float = _limit(1.5, "s", "after it was felt, for which an obstacle holds the robot where it is")

    # ---- suspected_feet.py: one foot after another on uneven ground, or one foot in many steps
    others_for: float = _limit(3.0, "s", "before a foot is suspected, in which others were")
    others_until: float = _limit(0.5, "s", "before it is suspected, up to which they count")
    others_banks: int = _count(2, "banks", "that were sure of others, from which the ground is uneven")
    others_lean: float = _limit(np.radians(8.5), "rad", "of a lost foot where others were suspected or obstacles met")
    others_times: float = _limit(2.0, "", "times the largest lean before that it must be then")
    steps_for: float = _limit(8.0, "s", "in which the banks are sure of a foot that is missed at several places")
    steps_least: float = _limit(7.2, "s", "between the first and the last of these banks")
    steps_share: float = _limit(0.7, "", "of the banks in this time, that are sure of it")
    steps_banks: int = _count(5, "banks", "that are sure of it")
    long_stump: float = _limit(0.7, "", "of a tibia: on uneven ground a longer stump is declared only after steps_for")

    # ---- one_or_two.py: one foot or a pair; g: log odds of the best pair less those of the best single foot
    alone_early: float = _limit(20.0, "nats", "g below which a foot is declared alone before the window is full")
    pair: float = _limit(25.0, "nats", "g from which a pair is lost where all windows are later")
    pair_at_once: float = _limit(60.0, "nats", "g from which a pair is lost before")
    pair_share: float = _limit(0.4, "", "of the single foot's chi-square that such a pair may leave")
    poor_alone: float = _limit(0.0, "nats", "g below which a foot that fits poorly is alone")
    doubtful: float = _limit(2.0, "nats", "g from which the second foot of the best pair is probed")
    other_tilt: float = _limit(-3.0, "nats", "of roll and pitch below which a pair tilts the body otherwise")
    pair_of_all: float = _limit(0.1, "", "g as a share of the foot's log odds, needed where roll and pitch say little")
    pair_apart: float = _limit(20.0, "nats", "of the best pair beyond every other in one bank; more does not count")
    pair_apart_in_all: float = _limit(40.0, "nats", "the same, sum of all banks in a row")
    pair_banks: int = _count(2, "banks", "in a row with the same best pair")
    pair_odds: float = _limit(30.0, "nats", "sum of their g from which the pair is lost")
    pair_tilt: float = _limit(8.0, "nats", "of roll and pitch in them")
    pair_more_banks: int = _count(3, "banks", "in a row with the same best pair")
    pair_more_odds: float = _limit(100.0, "nats", "sum of their g from which the pair is lost")
    pair_no_tilt: float = _limit(0.0, "nats", "of roll and pitch in them")

    # ---- probe.py
    probe_suspected: float = _limit(1.6, "s", "for which a leg is suspected before it is probed")
    probe_pause: float = _limit(8.0, "s", "between two probes")
    probe_changed: float = _limit(0.1, "s", "after a declaration, in which the gait learns of it")

    # ---- bus_evidence.py: silent servos; times in `silent_after` and in polling rounds
    first_round: float = _limit(2.0, "s", "in which every servo answers for the first time")
    fewest_answer: float = _limit(0.3, "", "least share of the servos whose polling round is the bus's")
    most_answer: float = _limit(0.6, "", "largest share of them, with which the others do not make it slow")
    rounds_over: float = _limit(1.5, "readings", "of each other servo while one is passed over")
    longest_gap: float = _limit(0.2, "s", "without any reading that counts as silence of those that are not read")
    late_round: float = _limit(0.15, "s", "polling round above which only servos are silent that the driver reports so")
    over_share: float = _limit(1 / 3, "", "of the servos that were read since")
    told_silences: float = _limit(1.95, "silences", "after which a servo is silent that the driver reports so")
    told_rounds: float = _limit(5.0, "rounds", "the same")
    silent_silences: float = _limit(5.0, "silences", "after which a servo is silent")
    chain_silences: float = _limit(1.3, "silences", "after which the servos of a chain are silent")
    chain_rounds: float = _limit(4.5, "rounds", "the same")
    overdue_silences: float = _limit(0.75, "silences", "after which a servo is late")
    overdue_rounds: float = _limit(2.2, "rounds", "the same")
    dead_silences: float = _limit(3.0, "silences", "of all servos after which the bus is no evidence")
    let_go_for: float = _limit(0.2, "s", "for which a servo reports its torque off")
    back_reports: int = _count(2, "reports", "in a row in which a missing servo answers")

    # ---- joint_evidence.py, joint_watch.py: joints that do not follow
    lock_readings: int = _count(7, "readings", "that a lock needs")
    lock_time: float = _limit(1.0, "s", "that they last at least: a healthy femur stands still for 0.8 s")
    stuck_spread: float = _limit(2.2e-3, "rad", "standard deviation of a stuck joint's readings")
    follow_spread: float = _limit(0.02, "rad", "of the readings of a joint that follows")
    follow_timing: float = _limit(0.006, "s", "of their times")
    lock_evidence: float = _limit(12.0, "nats", "above which a joint is locked")
    lock_range: float = _limit(6.5e-3, "rad", "within which the readings of a locked joint are")
    lock_lag: float = _limit(0.1, "s", "by which a joint that follows may be early or late")
    lock_unread: float = _limit(0.5, "s", "without a reading after which a joint approaches its command slowly")
    lock_approach: float = _limit(1.0, "s", "for which it does")
    astray: float = _limit(0.035, "rad", "root mean square of the last residuals above which a joint is astray")
    watch_period: float = _limit(1.65, "s", "of readings that are looked at")
    watch_least: int = _count(9, "readings", "that are looked at, at least")
    watch_most: int = _count(40, "readings", "that are looked at, at most")
    forgiven: int = _count(5, "windows", "after which a joint that follows is no longer suspected")
    watch_moved: float = _limit(0.02, "rad", "range of the readings above which a joint moves")
    watch_share: float = _limit(0.3, "", "share of the joints that move where one may be locked")

    # ---- mended_joints.py: joints that follow again
    mended_away: float = _limit(0.08, "rad", "from its lock, or from its command")
    mended_near: float = _limit(0.035, "rad", "to its lock, or to its command")
    mended_for: float = _limit(1.2, "s", "for which a joint stands where an intact one would")
    mended_readings: int = _count(5, "readings", "the same")
    mended_still: float = _limit(0.02, "rad", "range of the readings of a joint that stands")
    first_trial: float = _limit(3.0, "s", "from a declaration to the first trial")
    trial_pause: float = _limit(6.0, "s", "between two trials; of one joint doubled after each")
    longest_pause: float = _limit(120.0, "s", "between two trials of one joint, at most")

    # ---- settling.py: windows after a change of the declared robot
    settling: float = _limit(1.0, "s", "after a change in which only the bus is evaluated, at least")
    longest_settling: float = _limit(8.0, "s", "the same, at most")
    may_fall: float = _limit(3.0, "s", "after a change, within which the robot may fall by it")
    lies_otherwise: float = _limit(0.07, "rad", "of roll or pitch by which a robot lies otherwise than its model")
    tipped: float = _limit(0.15, "rad", "of roll or pitch from which the robot leans on its body or on a stump")
    stands: float = _limit(0.9, "", "share of a window in which a robot that walks stands on its feet")

    # ---- decisions.py, detector.py
    many: int = _count(3, "legs, joints", "at once that are a fault of the bus")
    torn_lean: float = _limit(0.12, "rad", "by which a body leans otherwise than its model when three legs are gone")
    torn_suspicion: float = _limit(6.0, "", "suspicion from which three silent legs are gone although no body leans")
    torn_for: float = _limit(2.0, "s", "for which a lean counts")
    torn_walking: float = _limit(1.0, "s", "of walking without an answer of three legs, after which they are gone")
    lean_gain: float = _limit(0.01, "", "of the running mean of roll and pitch beyond the model's")
    alone_silent: float = _limit(1.5, "s", "after which a servo is silent while servos further out answer")
    limp_moves: float = _limit(0.0105, "rad", "range of the readings above which a joint is limp, else locked")
    limp_follows: float = _limit(0.2, "", "share of this range: joints less apart from the model move as commanded")
    stuck_zones: float = _limit(2.0, "zones", "identified, over which a locked joint's readings may spread more")
    stands_still: int = _count(6, "readings", "without motion after which a joint that does not follow is locked")
    stands_still_for: float = _limit(0.85, "s", "that they last")
    explains_leg: float = _limit(0.02, "", "share of the chi-square below which a joint explains the others of its leg")
    blamed: float = _limit(0.9, "", "probability from which a joint's next readings decide its kind of damage")
    warned_banks: int = _count(3, "banks", "in a row that name the same leg or joint, for a warning")
    warned: float = _limit(0.9, "", "their probability")
    warned_after: float = _limit(1.2, "s", "that they last")
    repeat_after: float = _limit(5.0, "s", "until a decision that was not executed is repeated")
    bank_windows: int = _count(3, "windows", "that a bank needs right after a loss")
    falling_windows: int = _count(3, "windows", "after its start in which the model falls onto its feet")
    slow_bus: float = _limit(0.45, "s", "polling round above which silence is no evidence")
    disturbed_for: float = _limit(
        2.5, "s", "after a slow bus or late data, for which sag, tilt, single servos are none"
    )
    push_before: float = _limit(0.15, "s", "before a brace begins in which the push that it answers may have begun")
    push_for: float = _limit(0.35, "s", "of a brace in which the body moves by the push, which is no evidence")
    push_long: float = _limit(0.9, "s", "of a brace after which it answers more than one push")
    slow_servos: float = _limit(0.02, "s", "by which all joints may be later before their lag is identified")
    returning: float = _limit(5.0, "s", "in which a joint that came back need not follow")

    @classmethod
    def absolute(cls) -> DetectorLimits:
        """Limits of a detector that assumes servos to be springs and uses only absolute limits."""
        return cls(
            identify_first=0.0,
            start_windows=0,
            prior_offset=4e-3,
            prior_lag=1e-9,
            prior_zone=1e-9,
            relative_share=0.0,
            second_share=0.0,
            stuck_zones=0.0,
            usual_misfit=0.0,
            longest_calm=0.5,
            torn_lean=np.inf,
            torn_suspicion=np.inf,
            lean_least=0.0,
            lean_times=0.0,
            lean_rough=np.inf,
            others_banks=10**6,
            lean_predicted=0.0,
        )


LIMITS = DetectorLimits()
