"""Parameters of the node `dynamics`; `commands` has those that it shares with other nodes."""

from __future__ import annotations

from hexapod_dynamics.estimation.observer import ObserverSettings
from hexapod_dynamics.parameters.spec import ParameterSpec, in_file

PARAMETERS = (
    in_file("rate", 100.0, "predictions a second", 10.0, 200.0),
    in_file("automatic_rate", True, "predict at half the rate while this machine cannot hold it"),
    in_file("path_every", 10, "publish the path ahead with every n-th prediction", 1, 100),
    in_file("horizon", ObserverSettings.horizon, "horizon of predicted_path [s]", 0.05, 2.0),
    in_file("horizon_timestep", ObserverSettings.horizon_timestep, "time step of predicted_path [s]", 0.001, 0.02),
    in_file("timestep", ObserverSettings.timestep, "step of the model for the state [s]", 0.0002, 0.01),
    in_file(
        "joint_gain", ObserverSettings.joint_gain, "gain of the set-point offsets by measured joints [1/s]", 0.0, 20.0
    ),
    in_file("tilt_gain", ObserverSettings.tilt_gain, "gain of the tilt by the IMU [1/s]", 0.0, 20.0),
    in_file("yaw_gain", ObserverSettings.yaw_gain, "gain of the yaw by the IMU [1/s]", 0.0, 20.0),
    in_file(
        "command_delay",
        ObserverSettings.command_delay,
        "from a command to the start of the servos [s]; 18 moves take 15.7 ms on the bus",
        0.0,
        0.2,
    ),
    in_file(
        "imu_mounting_error",
        1.0,
        "standard deviation of the tilt by which the IMU is mounted askew [deg], unless the robot file has its own",
        0.0,
        10.0,
    ),
    in_file(
        "servo_angle_error",
        1.0,
        "standard deviation of joint angles from what their servos report: horns or legs mounted off, play [deg], "
        "unless the robot file has its own",
        0.0,
        10.0,
    ),
    in_file("feedforward", True, "publish feed-forward torques"),
    ParameterSpec(
        "feedforward_rates",
        False,
        "lead the feed-forward torques, by their rates, by "
        "the time in which a servo moves less its damping over stiffness",
    ),
    in_file(
        "payload",
        True,
        "weigh what the body carries, beyond what it carried in the first 10 s of walking, and reckon with it",
    ),
    in_file("publish_tf", True, "publish odom -> base_link on /tf"),
    ParameterSpec("odom_topic", "", "publish predicted_state on this topic, too, as odom for Nav2; empty: do not"),
)
