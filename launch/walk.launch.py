"""Start all nodes, on the simulated or on the real robot, and print one status line a second."""

import atexit
import contextlib
import json
import os
import sys
import uuid

import launch.logging
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, LogInfo, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from ament_index_python.packages import get_package_share_directory
from hexapod_dynamics.drivers.simulated_port import PortClaim
from hexapod_dynamics.errors import HexapodError, parse_number
from hexapod_dynamics.gait_kinds import KINDS
from hexapod_dynamics.ros import launch_process
from hexapod_dynamics.ros.launch_process import find_missing, refuse_undeclared, write_file
from hexapod_dynamics.ros.start import LAUNCH_VARIABLE
from hexapod_dynamics.ros.state_file import make_memory
from hexapod_dynamics.runtime_directory import SESSION, check_session, device_directory, forget_session, make_directory

# Parameters of `servos` for the servo hardware of the simulated robot.
BUSES = {
    "lx": {},
    "board": {"protocol": "board", "baudrate": 1000000},
    "dynamixel": {"protocol": "dynamixel", "baudrate": 1000000, "position_rate": 50.0},
    "feetech": {"protocol": "feetech", "baudrate": 1000000, "position_rate": 50.0},
}
BOOLS = ["true", "false"]


def argument(name, default, description, choices=None):
    """Return a launch argument."""
    return DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)


ARGUMENTS = (
    argument(
        "hardware",
        "sim",
        "sim: a simulated robot; jethexa: the real one, on its serial port and I2C bus; jethexa_orin: the one with an "
        "Orin, whose servos and IMU are behind an STM32 board; dynamixel, feetech: a robot with such servos, with "
        "robot:=; topics: joints that another driver moves and measures (docs/foreign.md)",
        ["sim", "jethexa", "jethexa_orin", "dynamixel", "feetech", "topics"],
    ),
    argument(
        "bus",
        "lx",
        "which servo hardware the simulated robot has: lx (bus servos of the JetHexa), board (these behind the STM32 "
        "board of the Orin), dynamixel (AX-12), feetech (STS3215)",
        list(BUSES),
    ),
    argument(
        "command_interface",
        "joint_commands",
        "with hardware:=topics what the other driver takes: JointState, Float64MultiArray, JointTrajectory",
        ["joint_commands", "commands", "joint_trajectory"],
    ),
    argument(
        "imu",
        "auto",
        "auto: the driver of the hardware, topic_raw with hardware:=topics; topic: another driver publishes imu/data "
        "with an attitude; topic_raw: another driver publishes imu/data_raw, the node imu calibrates it and publishes "
        "imu/data; none: there is none",
        ["auto", "topic", "topic_raw", "none"],
    ),
    argument(
        "ros2_control",
        "none",
        "component of ros2_control that the published URDF names (docs/foreign.md)",
        ["none", "mock", "topic_based", "joint_state_topic", "mujoco"],
    ),
    argument(
        "velocity",
        "auto",
        "forward speed [m/s] until the first cmd_vel arrives; 0 stands and waits; auto: 0.077 with hardware:=sim, 0 "
        "with any other: a real robot does not start to walk by itself",
    ),
    argument("gait", "auto", "; ".join(f"{name}: {kind.text}" for name, kind in KINDS.items()), list(KINDS)),
    argument(
        "feedforward",
        "torques",
        "feed-forward offset of the servo set-points: off, by the torques of the motion, or by these and their rates",
        ["off", "torques", "rates"],
    ),
    argument("damage", "", "legs and links that the simulated robot lacks at the start, as RM,LM or RM.femur"),
    argument(
        "detect",
        "auto",
        "reaction of the damage detector to a detection: declare (call set_morphology), report (publish only), off; "
        "auto: declare with hardware:=sim, report with a real robot until its owner turns it on",
        ["auto", "declare", "report", "off"],
    ),
    argument(
        "get_up",
        "auto",
        "after a fall: asked (service get_up) or automatic; auto: automatic with hardware:=sim, else asked",
        ["auto", "asked", "automatic"],
    ),
    argument(
        "faults",
        "",
        "faults of the simulated devices at the start, as bus.drop_rate=0.01,imu.error_rate=0.01; `ros2 param list "
        "/simulator` lists all",
    ),
    argument("physics", "built_in", "who simulates the robot: this package, or PyPI's mujoco", ["built_in", "mujoco"]),
    argument(
        "truth",
        "",
        "how the simulated robot differs from the model of the nodes, as "
        "mass=1.1,payload=0.2,stiffness=0.8,friction=0.5,deadband=1,delay=0.01,ground=blocks:0.03,seed=7",
    ),
    argument(
        "robot",
        "",
        "YAML file of the robot, or a Python file whose function robot() returns a Robot, as "
        "config/jethexa_by_positions.py; empty: the JetHexa of this package",
    ),
    argument(
        "state_directory",
        "",
        "absolute path of a directory, one for each robot, in which a stop, what was asked last (stand, sit, off) and "
        "the declared damage last over launches and reboots; empty: over crashes within a session (docs/safety.md)",
    ),
    argument(
        "imu_filter",
        "built_in",
        "attitude filter from imu/data_raw to imu/data: built into the node imu, or the ROS package of that name, if "
        "it is installed",
        ["built_in", "imu_complementary_filter"],
    ),
    argument(
        "processes",
        "separate",
        "one: all nodes in one process, for boards with little memory; what is weaker then: docs/safety.md",
        ["separate", "one"],
    ),
    argument("odom_topic", "", "publish predicted_state on this topic, too: odom for Nav2 (docs/foreign.md)"),
    argument(
        "view", "false", "show the robot in the browser (PyPI's viser), at the address that the launch prints", BOOLS
    ),
    argument("view_port", "", "port of the browser view, 0: any free one; empty: parameter `port` of `view`, 8080"),
    argument("rviz", "false", "start rviz2 with config/hexapod.rviz, where rviz2 is installed", BOOLS),
    argument("params_file", "", "parameters of the nodes (YAML, as config/nodes.yaml) that replace the package's"),
    argument("log_level", "warn", "what the nodes print from", ["debug", "info", "warn", "error", "fatal"]),
    argument("namespace", "", "namespace of every node and topic"),
    argument("status", "true", "print one line a second: speed, attitude, error of the prediction, damage", BOOLS),
)
# What `auto` is with a simulated and with any other robot.
AUTO = (("velocity", "0.077", "0"), ("detect", "declare", "report"), ("get_up", "automatic", "asked"))
CLAIMS = []
# A node that has ended is started again. A launch that ends sends SIGINT, then SIGTERM. Until a node handles signals
# itself (ros.start), Python would react to SIGINT with a traceback: it is ignored until then; SIGTERM ends the start.
LIFE = {
    "respawn": True,
    "respawn_delay": 1.0,
    "sigterm_timeout": "1.5",
    "sigkill_timeout": "2.5",
    "prefix": """sh -c 'trap "" INT; exec "$0" "$@"'""",
    # Nodes end when this process has ended, and one that cannot start waits before it is started again.
    "additional_env": {LAUNCH_VARIABLE: str(os.getpid())},
}


@contextlib.contextmanager
def in_one_line():
    """Raise errors of this package as RuntimeError, of which the launch prints one line."""
    try:
        yield
    except (HexapodError, OSError) as error:
        raise RuntimeError(str(error)) from None


def has_colours():
    """Whether the terminal of the launch shows colours (https://no-color.org)."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("NO_COLOR")


def checked(context):
    """Return the checked launch arguments as values; a wrong one raises RuntimeError before any node starts."""
    given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in ARGUMENTS}
    # An including launch file may push a namespace.
    pushed = context.launch_configurations.get("ros_namespace", "")
    given["namespace"] = os.path.join("/", pushed, given["namespace"]).rstrip("/")
    hardware, simulated = given["hardware"], given["hardware"] == "sim"
    for name, in_simulation, real in AUTO:
        if given[name] == "auto":
            given[name] = in_simulation if simulated else real
    try:
        velocity = parse_number(given["velocity"])
    except ValueError:
        raise RuntimeError(
            f"velocity:={given['velocity']} is not a number; give metres per second, as velocity:=0.077"
        ) from None
    if not abs(velocity) <= 1.0:
        raise RuntimeError(f"velocity:={given['velocity']}: allowed are -1 to 1 m/s")
    lost = [name.strip() for name in given["damage"].split(",") if name.strip()]
    if lost and not simulated:
        which = f"--namespace {given['namespace'].strip('/')} " if given["namespace"] else ""
        raise RuntimeError(
            f"damage:={given['damage']} breaks the simulated robot; with hardware:={hardware} declare "
            f"what is missing: ros2 run hexapod_dynamics set_morphology {which}--missing ..."
        )
    faults, truth = {}, ""
    about_the_robot = ("robot", "damage", "faults", "truth", "params_file")
    if given["physics"] == "mujoco" or any(given[name] for name in about_the_robot):
        faults, truth = checked_robot(given, lost)
    for name, default in (("faults", ""), ("physics", "built_in"), ("truth", ""), ("bus", "lx")):
        if given[name] != default and not simulated:
            raise RuntimeError(f"{name}:={given[name]} is for the simulated robot; leave it out")
    if given["state_directory"]:
        with in_one_line():
            make_directory(given["state_directory"], "state_directory")
    if hardware in ("dynamixel", "feetech") and not (given["robot"] or given["params_file"]):
        raise RuntimeError(
            f"hardware:={hardware}: the default robot, a JetHexa, has no such servos, and other joints; add "
            "robot:= with the file of yours, as robot:=config/phantomx.yaml"
        )
    if given["command_interface"] != "joint_commands" and hardware != "topics":
        raise RuntimeError(f"command_interface:={given['command_interface']} is for hardware:=topics; leave it out")
    if given["imu_filter"] != "built_in" and (missing := find_missing([given["imu_filter"]])):
        raise RuntimeError(f"imu_filter:={given['imu_filter']}: {missing}")
    port = checked_port(given["view_port"], given["view"])
    if given["imu"] == "auto":
        given["imu"] = "topic_raw" if hardware == "topics" else "driver"
    return given | {"velocity": velocity, "damage": lost, "faults": faults, "truth": truth, "view_port": port}


def checked_port(text, view):
    """Return the parameters of `view` for the argument view_port."""
    if not text:
        return {}
    if not (text.isascii() and text.isdecimal() and int(text) <= 65535):
        raise RuntimeError(f"view_port:={text}: allowed are 0 (any free port) to 65535")
    if view != "true":
        raise RuntimeError(f"view_port:={text} is the port of the browser view; add view:=true")
    return {"port": int(text)}


@in_one_line()
def checked_robot(given, lost):
    """Return {fault: value} and the truth as text, once all that concerns the robot is valid, and the parameter file.

    Here alone the launch process imports numpy and the model: 15 MiB that it keeps as long as the robot walks.
    """
    from hexapod_dynamics.devices.faults import check_faults, parse
    from hexapod_dynamics.devices.simulated_robot import PHYSICS
    from hexapod_dynamics.parameters.file_check import check_parameter_file
    from hexapod_dynamics.robot import Morphology, Robot
    from hexapod_dynamics.robot.servo_map import check_servo_ids
    from hexapod_dynamics.simulation import Truth
    from hexapod_dynamics.simulation.mujoco_simulator import import_mujoco

    robot = Robot.load(given["robot"]) if given["robot"] else Robot.jethexa()
    if given["hardware"] != "topics":
        check_servo_ids(robot)
    Morphology.whole(robot).without(*lost)
    faults = parse(given["faults"])
    check_faults(faults, robot.joint_names, board=given["bus"] == "board")
    if given["physics"] == "mujoco":
        import_mujoco()
    truth = Truth.parse(given["truth"])
    PHYSICS[given["physics"]].check_truth(truth)
    if path := given["params_file"]:
        if not os.path.isfile(path):
            raise HexapodError(f"params_file:={path}: there is no such file; give a YAML file's path")
        check_parameter_file(path, robot, foreign=("imu_filter", "rviz2"), namespace=given["namespace"])
    return faults, truth.describe()


def forget(session, namespace):
    """Delete what the nodes stored for a respawn in this launch, which has ended."""
    try:
        forget_session(session, namespace)
    except (HexapodError, OSError) as error:
        sys.stderr.write(f"the stored state of this launch cannot be deleted: {error}\n")


@in_one_line()
def claim_robot(namespace):
    """Return the name of this launch's session; with another launch of this robot, two gaits would command one body.

    The state that nodes store for a respawn is valid for this launch only, unless something starts launches again.
    """
    session = check_session(os.environ.get(SESSION, "").strip().replace("/", ".") or uuid.uuid4().hex)
    directory = device_directory(namespace)
    directory.mkdir(parents=True, exist_ok=True)
    claim = PortClaim(directory / "launch", session, who="launch of this robot")
    claim.name("")
    CLAIMS.append(claim)  # held until this process ends
    atexit.register(forget, session, namespace)
    return session


def node_values(given, session):
    """Return the parameters {node: {name: value}} of the nodes that move joints, and of those beside them."""
    source = "topic" if given["imu"] == "topic_raw" else "board" if given["bus"] == "board" else ""
    interface = {"command_interface": given["command_interface"]} if given["hardware"] == "topics" else {}
    kept = {"state_directory": given["state_directory"]} if given["state_directory"] else {}
    moving = {
        "imu": {"publish_data": given["imu_filter"] == "built_in"} | ({"source": source} if source else {}),
        "servos": {"session": session} | kept | BUSES[given["bus"]] | interface,
        "dynamics": {
            "session": session,
            "feedforward": given["feedforward"] != "off",
            "feedforward_rates": given["feedforward"] == "rates",
            "odom_topic": given["odom_topic"],
        },
        "gait": {"session": session} | kept | {name: given[name] for name in ("velocity", "gait", "get_up")},
    }
    if given["imu"] in ("topic", "none"):
        del moving["imu"]
    beside = {
        "damage_manager": kept,
        "robot_description": {"ros2_control": given["ros2_control"]},
        **({"damage_detector": kept | {"detect": given["detect"]}} if given["detect"] != "off" else {}),
        **({"walk_status": {}} if given["status"] == "true" else {}),
    }
    return moving, beside


def nodes(context):
    """Build the nodes for the checked arguments."""
    given = checked(context)
    hardware, simulated, namespace = given["hardware"], given["hardware"] == "sim", given["namespace"]
    config = os.path.join(get_package_share_directory("hexapod_dynamics"), "config")
    files = [os.path.join(config, "nodes.yaml")]
    files += [] if simulated else [os.path.join(config, f"hardware_{hardware}.yaml")]
    files += [os.path.abspath(given["params_file"])] if given["params_file"] else []

    def process(executable, *parameters, ros_arguments=(), **more):
        # With the memory in which a node finds its state when it is started again without its file.
        environment = LIFE["additional_env"] | make_memory()
        return Node(
            package="hexapod_dynamics",
            executable=executable,
            exec_name=executable,
            namespace=namespace,
            output="screen",
            parameters=[*files, {"robot": given["robot"]}, *parameters],
            ros_arguments=["--log-level", given["log_level"], *ros_arguments],
            **LIFE | {"additional_env": environment},
            **more,
        )

    session = claim_robot(namespace)
    moving, beside = node_values(given, session)
    started, together = [], given["processes"] == "one"
    all_values = moving | beside
    if simulated:
        values = {name: given[name] for name in ("bus", "physics", "truth")}
        values |= {"session": session, "damage": given["damage"] or [""]}
        values |= {f"faults.{name}": value for name, value in given["faults"].items()}
        started.append(process("simulator", values, name="simulator"))
        all_values = all_values | {"simulator": values}
    if path := given["params_file"]:
        from hexapod_dynamics.parameters.file_check import find_overridden  # loaded by its check

        values = {node: {"robot": given["robot"]} | set_here for node, set_here in all_values.items()}
        started += [LogInfo(msg=text) for text in find_overridden(path, values, namespace)]
    if launch_process.listen(namespace, launch.logging.get_logger("stop_key").warning):
        started.append(LogInfo(msg="space bar: emergency stop"))
    # With hardware:=topics, what the gait asks for goes to `servos`, which passes on what the joints may do.
    asked = [("joint_commands", "gait/joint_commands")] if hardware == "topics" else []
    if not together:
        started += [process(n, v, name=n, remappings=asked if n == "gait" else []) for n, v in moving.items()]
    # Nodes that move no joint share a process: an empty one takes 30 MiB.
    shared = moving | beside if together else beside
    expected = [*moving, "damage_manager", *(["simulator"] if simulated else [])]
    started.append(
        process(
            "companions",
            {"nodes": expected, "session": session, "colour": has_colours()},
            parameter_file(shared, namespace),
            arguments=list(shared),
            # The status line is for people: no name of the process before it, and colours where the terminal has them.
            output_format="{line}",
            ros_arguments=[part for old, new in asked * together for part in ("-r", f"gait:{old}:={new}")],
        )
    )
    if given["imu_filter"] != "built_in":
        started.append(imu_filter(namespace))
    if given["view"] == "true":
        # Started again, it has another token, and prints its address again.
        started.append(process("view", given["view_port"], name="view"))
    if given["rviz"] == "true":
        rviz = PythonLaunchDescriptionSource(os.path.join(os.path.dirname(__file__), "rviz.launch.py"))
        started.append(IncludeLaunchDescription(rviz, launch_arguments={"namespace": namespace}.items()))
    return started


def imu_filter(namespace):
    """Return the ROS package's attitude filter."""
    values = {"do_bias_estimation": True, "fixed_frame": f"{namespace}/odom".lstrip("/"), "publish_tf": False}
    return Node(
        package="imu_complementary_filter",
        executable="complementary_filter_node",
        name="imu_filter",
        namespace=namespace,
        output="screen",
        parameters=[values],
        **LIFE,
    )


def parameter_file(nodes, namespace):
    """Return the path of a file with the parameters {node: {name: value}} of nodes in one process.

    The argument `-p node:name:=value` would set them in the root namespace only. The section with a node's full name
    counts more than those of other files.
    """
    sections = {f"{namespace}/{node}": {"ros__parameters": values} for node, values in nodes.items() if values}
    return write_file(json.dumps(sections), ".yaml")  # JSON is YAML


def generate_launch_description():
    """Declare the arguments, then start the nodes."""
    actions = [LogInfo(msg="Ctrl-C ends everything."), OpaqueFunction(function=nodes)]
    return LaunchDescription([refuse_undeclared(ARGUMENTS, __file__), *ARGUMENTS, *actions])
