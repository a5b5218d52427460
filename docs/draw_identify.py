"""Draws docs/identify.png: what is identified of a hidden robot in MuJoCo; half a minute of CPU.

./with_ros2 python docs/draw_identify.py
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test"))

from support.identification_rig import record  # noqa: E402

from hexapod_dynamics.dynamics import WholeBodyModel  # noqa: E402
from hexapod_dynamics.identification import identify, standing_exercise, suspended_exercise  # noqa: E402
from hexapod_dynamics.identification.identify import draw_report, format_table  # noqa: E402
from hexapod_dynamics.robot import Robot  # noqa: E402
from hexapod_dynamics.simulation import Truth  # noqa: E402

robot, truth = Robot.jethexa(), Truth.parse("servos=real,seed=7,payload=0")
hanging = record(robot, truth, suspended_exercise(robot), suspended=True)
standing = record(robot, truth, standing_exercise(robot), suspended=False)
result = identify(robot, hanging, standing, weighed=WholeBodyModel(truth.robot(robot)).total_mass())
print(format_table(result.findings))
draw_report(robot, result, HERE / "identify.png")
