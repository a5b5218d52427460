"""The robot's whole program in a plain MuJoCo world, without ROS: a leg is torn off, and the robot walks on."""

import mujoco
import numpy as np

from hexapod_dynamics.onboard import Onboard
from hexapod_dynamics.robot import Robot

robot = Robot.jethexa()
sensors = '<sensor><accelerometer site="imu"/><gyro site="imu"/></sensor></mujoco>'
model = mujoco.MjModel.from_xml_string(robot.to_mjcf().replace("</mujoco>", sensors))
data = mujoco.MjData(model)
joints = np.array([model.joint(name).qposadr[0] for name in robot.joint_names])
chip = robot.imu.rotation.T  # the site's axes are those of base_link
torn = set()  # joints of a leg that is gone

onboard = Onboard(robot)
stance = np.tile([0.0, 0.3, -0.3], 6)
data.qpos[2], data.qpos[joints], data.ctrl[:] = 0.13, stance, stance

for k in range(1400):  # pieces of 10 ms
    t = 0.01 * k
    onboard.imu(t, chip @ data.sensordata[:3], chip @ data.sensordata[3:])
    for joint in onboard.reads(t):
        if joint in torn:
            onboard.silent(t, joint)
        else:
            onboard.joint(t, joint, data.qpos[joints[joint]])
    if k % 2 == 0:
        onboard.command(t, 0.077 if t > 3.0 else 0.0, 0.0, 0.0)
        set_points = onboard.step(t)
        moved = np.isfinite(set_points)
        data.ctrl[moved] = set_points[moved]
    if k == 700:  # RM is torn off: no servo answers, nothing holds it, nothing of it touches the ground
        torn = set(robot.leg_joints("RM"))
        model.actuator_gainprm[list(torn)] = model.actuator_biasprm[list(torn)] = 0.0
        for part in ("coxa_link_RM", "femur_link_RM", "tibia_link_RM", "foot_RM"):
            model.geom(part).contype = model.geom(part).conaffinity = 0
    mujoco.mj_step(model, data, nstep=10)

for decision in onboard.decisions:
    print(f"{decision.time:.2f} s: {decision.text}")
print(f"walked {data.qpos[0]:.2f} m; predicted {onboard.prediction.position[0]:.2f} m")
print(f"{onboard.state[1]}, {onboard.morphology.describe()}")
