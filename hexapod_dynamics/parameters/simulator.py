"""Parameters of the node `simulator`; the faults of its devices are those of `devices.faults`."""

from __future__ import annotations

from hexapod_dynamics.devices.faults import FAULTS
from hexapod_dynamics.devices.hardware import BUSES
from hexapod_dynamics.devices.simulated_robot import PHYSICS
from hexapod_dynamics.parameters.spec import ParameterSpec, in_file

_OWN = (
    ParameterSpec(
        "device_directory",
        "",
        "folder of the simulated serial port and I2C bus; empty: the default folder of servos and imu",
    ),
    ParameterSpec("session", "", "name of the launch: only its own node servos opens the port"),
    ParameterSpec("bus", "lx", "which servo hardware is simulated, by its protocol", choices=BUSES),
    ParameterSpec("damage", [""], "legs and links missing from the start, as RM or LM.femur"),
    in_file("rate", 50.0, "ground truth messages a second", 1.0, 200.0),
    ParameterSpec("physics", "built_in", f"who simulates the robot: {' or '.join(PHYSICS)}", choices=tuple(PHYSICS)),
    ParameterSpec(
        "truth",
        "",
        "how the simulated robot differs from the model of the nodes, as mass=1.1,payload=0.2,friction=0.5; "
        "servos=real,seed=7 draws servos, masses and IMU as real ones have them; ground=slope:12 and, with "
        "physics:=mujoco, blocks:0.03, steps:0.04, stairs, gravel or patches name the ground",
    ),
    in_file("timestep", 0.001, "step of the physics [s]", 0.0001, 0.004),
)
FAULT_PARAMETERS = tuple(
    ParameterSpec(f"faults.{name}", fault.healthy, fault.description, fault.low, fault.high, read_only=False)
    for name, fault in FAULTS.items()
)
LOAD_PARAMETERS = (
    ParameterSpec("load.mass", 0.0, "a load that is put on the body at any time [kg]", 0.0, 5.0, read_only=False),
    ParameterSpec("load.x", 0.0, "where it lies in base_link, forward [m]", -0.5, 0.5, read_only=False),
    ParameterSpec("load.y", 0.0, "where it lies in base_link, left [m]", -0.5, 0.5, read_only=False),
)
PARAMETERS = _OWN + FAULT_PARAMETERS + LOAD_PARAMETERS
