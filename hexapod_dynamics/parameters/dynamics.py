"""Parameters of the node `dynamics`."""

from __future__ import annotations

from hexapod_dynamics.onboard.prediction import PredictionSettings
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD, GUARD
from hexapod_dynamics.parameters.spec import ParameterSpec, in_file, make_specs

_ASKEW = "standard deviation of the tilt of the IMU's mounting [deg], unless the robot file has its own"
_SERVO = "standard deviation of joint angles from what their servos report: horns or legs mounted off, play [deg], "
_LEAD = "lead the feed-forward torques, by their rates, by the time in which a servo moves less its damping over "
_WEIGH = "weigh what the body carries, beyond what it carried in the first 10 s of walking, and reckon with it"
PARAMETERS = (
    COMMAND_PERIOD,
    *GUARD,
    in_file("rate", 100.0, "predictions a second; fewer without subscribers", 10.0, 200.0),
    in_file("automatic_rate", True, "predict at half the rate while this machine cannot hold it"),
    in_file("path_every", 10, "publish the path ahead with every n-th prediction", 1, 100),
    *make_specs(
        PredictionSettings,
        in_file,
        horizon=("horizon of predicted_path [s]", 0.05, 2.0),
        horizon_timestep=("time step of predicted_path [s]", 0.001, 0.02),
        timestep=("step of the model for the state [s]", 0.0002, 0.01),
        joint_gain=("gain of the set-point offsets by measured joints [1/s]", 0.0, 20.0),
        tilt_gain=("gain of the tilt by the IMU [1/s]", 0.0, 20.0),
        yaw_gain=("gain of the yaw by the IMU [1/s]", 0.0, 20.0),
        command_delay=("from a command to the start of the servos [s]; 18 moves take 15.7 ms on the bus", 0.0, 0.2),
        imu_mounting_error=(_ASKEW, 0.0, 10.0),
        servo_angle_error=(f"{_SERVO}unless the robot file has its own", 0.0, 10.0),
        feedforward=("publish feed-forward torques",),
    ),
    *make_specs(PredictionSettings, feedforward_rates=(f"{_LEAD}stiffness",)),
    *make_specs(PredictionSettings, in_file, payload=(_WEIGH,)),
    in_file("publish_tf", True, "publish odom -> base_link on /tf"),
    ParameterSpec("odom_topic", "", "publish predicted_state on this topic, too, as odom for Nav2; empty: do not"),
)
