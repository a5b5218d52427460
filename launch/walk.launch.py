"""Start all nodes, on the simulated or on the real robot, and print one status line a second."""

import atexit
import json
import os
import sys
import tempfile
import uuid
from pathlib import Path

import launch.logging
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from hexapod_dynamics.drivers.device_paths import device_directory
from hexapod_dynamics.drivers.simulated_port import PortClaim
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait_kinds import KINDS
from hexapod_dynamics.ros import stop_key
from hexapod_dynamics.ros.launch_arguments import refuse_undeclared
from hexapod_dynamics.ros.start import LAUNCH
from hexapod_dynamics.ros.state_file import make_memory
from hexapod_dynamics.runtime_directory import SESSION, checked_session, forget_session

PACKAGE = "hexapod_dynamics"
# Parameters of the nodes for the hardware that the simulated robot has, beside those of the simulator.
BUSES = {
    "lx": {"servos": {}, "imu": {}},
    "board": {"servos": {"protocol": "board", "baudrate": 1000000}, "imu": {"source": "board"}},
    "dynamixel": {"servos": {"protocol": "dynamixel", "baudrate": 1000000, "position_rate": 50.0}, "imu": {}},
    "feetech": {"servos": {"protocol": "feetech", "baudrate": 1000000, "position_rate": 50.0}, "imu": {}},
}
ARGUMENTS = (
    DeclareLaunchArgument(
        "hardware",
        default_value="sim",
        choices=["sim", "jethexa", "jethexa_orin", "dynamixel", "feetech", "topics"],
        description="sim: a simulated robot; jethexa: the real one, on its serial port and I2C bus; jethexa_orin: the "
        "one with an Orin, whose servos and IMU are behind an STM32 board; dynamixel, feetech: a robot with such "
        "servos, with robot:=; topics: joints that another driver moves and measures (docs/foreign.md)",
    ),
    DeclareLaunchArgument(
        "bus",
        default_value="lx",
        choices=list(BUSES),
        description="which servo hardware the simulated robot has: lx (bus servos of the JetHexa), board (these behind "
        "the STM32 board of the Orin), dynamixel (AX-12), feetech (STS3215)",
    ),
    DeclareLaunchArgument(
        "command_interface",
        default_value="joint_commands",
        choices=["joint_commands", "commands", "joint_trajectory"],
        description="with hardware:=topics what the other driver takes: JointState, Float64MultiArray, JointTrajectory",
    ),
    DeclareLaunchArgument(
        "imu",
        default_value="auto",
        choices=["auto", "topic", "topic_raw", "none"],
        description="auto: the driver of the hardware, topic_raw with hardware:=topics; topic: another driver "
        "publishes imu/data with an attitude; topic_raw: another driver publishes imu/data_raw, the node imu "
        "calibrates it and publishes imu/data; none: there is none",
    ),
    DeclareLaunchArgument(
        "ros2_control",
        default_value="none",
        choices=["none", "mock", "topic_based", "joint_state_topic", "mujoco"],
        description="component of ros2_control that the published URDF names (docs/foreign.md)",
    ),
    DeclareLaunchArgument(
        "velocity",
        default_value="auto",
        description="forward speed [m/s] until the first cmd_vel arrives; 0 stands and waits; auto: 0.077 with "
        "hardware:=sim, 0 with any other: a real robot does not start to walk by itself",
    ),
    DeclareLaunchArgument(
        "gait",
        default_value="auto",
        choices=list(KINDS),
        description="; ".join(f"{name}: {kind.text}" for name, kind in KINDS.items()),
    ),
    DeclareLaunchArgument(
        "feedforward",
        default_value="torques",
        choices=["off", "torques", "rates"],
        description="feed-forward offset of the servo set-points: off, by the torques of the motion, or by "
        "these and their rates",
    ),
    DeclareLaunchArgument(
        "damage",
        default_value="",
        description="legs and links that the simulated robot lacks at the start, as RM,LM or RM.femur",
    ),
    DeclareLaunchArgument(
        "detect",
        default_value="auto",
        choices=["auto", "declare", "report", "off"],
        description="reaction of the damage detector to a detection: declare (call set_morphology), report (publish "
        "only), off; auto: declare with hardware:=sim, report with a real robot until its owner turns it on",
    ),
    DeclareLaunchArgument(
        "get_up",
        default_value="auto",
        choices=["auto", "asked", "automatic"],
        description="after a fall: asked (service get_up) or automatic; auto: automatic with hardware:=sim, else asked",
    ),
    DeclareLaunchArgument(
        "faults",
        default_value="",
        description="faults of the simulated devices at the start, as "
        "bus.drop_rate=0.01,imu.error_rate=0.01; `ros2 param list /simulator` lists all",
    ),
    DeclareLaunchArgument(
        "physics",
        default_value="built_in",
        choices=["built_in", "mujoco"],
        description="who simulates the robot: this package, or MuJoCo (needs PyPI's mujoco)",
    ),
    DeclareLaunchArgument(
        "truth",
        default_value="",
        description="how the simulated robot differs from the model of the nodes, as "
        "mass=1.1,payload=0.2,stiffness=0.8,friction=0.5,deadband=1,delay=0.01,ground=blocks:0.03,seed=7",
    ),
    DeclareLaunchArgument(
        "robot",
        default_value="",
        description="YAML file of the robot, or a Python file whose function robot() returns a Robot, as "
        "config/jethexa_by_positions.py; empty: the JetHexa of this package",
    ),
    DeclareLaunchArgument(
        "imu_filter",
        default_value="built_in",
        choices=["built_in", "imu_complementary_filter"],
        description="attitude filter from imu/data_raw to imu/data: built into the node imu, or the ROS package of "
        "that name, if it is installed",
    ),
    DeclareLaunchArgument(
        "processes",
        default_value="separate",
        choices=["separate", "one"],
        description="one: all nodes in one process, for boards with little memory; what is weaker then: docs/safety.md",
    ),
    DeclareLaunchArgument(
        "odom_topic",
        default_value="",
        description="publish predicted_state on this topic, too: odom for Nav2 (docs/foreign.md)",
    ),
    DeclareLaunchArgument(
        "view",
        default_value="false",
        choices=["true", "false"],
        description="show the robot in the browser, at the address that the launch prints (needs PyPI's viser)",
    ),
    DeclareLaunchArgument(
        "view_port",
        default_value="",
        description="port of the browser view, 0: any free one; empty: the parameter `port` of `view`, 8080",
    ),
    DeclareLaunchArgument(
        "rviz",
        default_value="false",
        choices=["true", "false"],
        description="start rviz2 with config/hexapod.rviz, where rviz2 is installed",
    ),
    DeclareLaunchArgument(
        "params_file",
        default_value="",
        description="parameters of the nodes (YAML, as config/nodes.yaml) that replace those of the package",
    ),
    DeclareLaunchArgument(
        "log_level",
        default_value="warn",
        choices=["debug", "info", "warn", "error", "fatal"],
        description="what the nodes print from",
    ),
    DeclareLaunchArgument("namespace", default_value="", description="namespace of every node and topic"),
    DeclareLaunchArgument(
        "status",
        default_value="true",
        choices=["true", "false"],
        description="print one line a second: speed, attitude, error of the prediction, damage",
    ),
)
SIMULATED_VELOCITY = 0.077  # [m/s]
STOP_KEY = "space bar: emergency stop"
CLAIMS = []
RESPAWNED = {"respawn": True, "respawn_delay": 1.0}
# Time for a node to end after SIGINT and after SIGTERM. Until a node handles signals itself (ros.start), Python would
# react to a SIGINT with a traceback: SIGINT is ignored until then, and SIGTERM ends the start.
ENDING = {
    "sigterm_timeout": "1.5",
    "sigkill_timeout": "1.0",
    "prefix": """sh -c 'trap "" INT; exec "$0" "$@"'""",
    # Nodes end when this process has ended; a node that cannot start reports it every 30 s, not each second.
    "additional_env": {LAUNCH: str(os.getpid()), "HEXAPOD_REFUSED_PAUSE": "30"},
}


def ending():
    """How a node ends, and the memory in which it finds its state when it is started again without its file."""
    return ENDING | {"additional_env": ENDING["additional_env"] | make_memory()}


def has_colours():
    """Whether the terminal of the launch shows colours (https://no-color.org)."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("NO_COLOR")


def checked(context):
    """Return the checked launch arguments as values; a wrong one raises RuntimeError before any node starts."""
    given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in ARGUMENTS}
    velocity = given["velocity"]
    if velocity == "auto":
        velocity = SIMULATED_VELOCITY if given["hardware"] == "sim" else 0.0
    try:
        velocity = float(velocity)
    except ValueError:
        raise RuntimeError(
            f"velocity:={given['velocity']} is not a number; give metres per second, as velocity:=0.077"
        ) from None
    if not abs(velocity) <= 1.0:
        raise RuntimeError(f"velocity:={given['velocity']}: allowed are -1 to 1 m/s")
    lost = [name.strip() for name in given["damage"].split(",") if name.strip()]
    if lost and given["hardware"] != "sim":
        raise RuntimeError(
            f"damage:={given['damage']} breaks the simulated robot; with hardware:={given['hardware']} declare "
            "what is missing: ros2 run hexapod_dynamics set_morphology --missing ..."
        )
    faults, truth = {}, ""
    if any(given[name] for name in ("robot", "damage", "faults", "truth")) or given["physics"] == "mujoco":
        faults, truth = checked_robot(given, lost)
    if given["params_file"]:
        check_parameters(given)
    if faults and given["hardware"] != "sim":
        raise RuntimeError(f"faults:={given['faults']} are faults of simulated devices; leave the argument out")
    for name, default in (("physics", "built_in"), ("truth", ""), ("bus", "lx")):
        if given[name] != default and given["hardware"] != "sim":
            raise RuntimeError(f"{name}:={given[name]} is for the simulated robot; leave it out")
    port = checked_port(given["view_port"], given["view"])
    return given | {"velocity": velocity, "damage": lost, "faults": faults, "truth": truth, "view_port": port}


def check_parameters(given):
    """Raise RuntimeError if the parameter file of the user is none, or has what no node would accept."""
    path = given["params_file"]
    if not os.path.isfile(path):
        raise RuntimeError(f"params_file:={path}: there is no such file; give a YAML file's path")
    # Here, because the launch process needs neither numpy nor the model otherwise.
    from hexapod_dynamics.parameters.file_check import check_parameter_file
    from hexapod_dynamics.robot import Robot

    try:
        robot = Robot.load(given["robot"]) if given["robot"] else Robot.jethexa()
        check_parameter_file(path, robot, foreign=("imu_filter", "rviz2"), namespace=given["namespace"])
    except (HexapodError, OSError) as error:
        raise RuntimeError(str(error)) from None


def checked_port(text, view):
    """Return the parameters of `view` for the argument view_port."""
    if not text:
        return {}
    if not (text.isdecimal() and int(text) <= 65535):
        raise RuntimeError(f"view_port:={text}: allowed are 0 (any free port) to 65535")
    if view != "true":
        raise RuntimeError(f"view_port:={text} is the port of the browser view; add view:=true")
    return {"port": int(text)}


def checked_robot(given, lost):
    """Return {fault: value} and the truth as text, once robot, lost parts, faults, physics and truth are valid.

    Here alone the launch process imports numpy and the model: 15 MiB that it keeps as long as the robot walks.
    """
    from hexapod_dynamics.devices.faults import parse
    from hexapod_dynamics.devices.simulated_robot import PHYSICS
    from hexapod_dynamics.robot import Morphology, Robot
    from hexapod_dynamics.robot.servo_map import check_servo_ids
    from hexapod_dynamics.simulation import Truth
    from hexapod_dynamics.simulation.mujoco_simulator import import_mujoco

    try:
        robot = Robot.load(given["robot"]) if given["robot"] else Robot.jethexa()
        if given["hardware"] != "topics":
            check_servo_ids(robot)
        Morphology.whole(robot).without(*lost)
        faults = parse(given["faults"])
        if given["physics"] == "mujoco":
            import_mujoco()
        truth = Truth.parse(given["truth"])
        PHYSICS[given["physics"]].check_truth(truth)
        return faults, truth.describe()
    except (HexapodError, OSError) as error:
        raise RuntimeError(str(error)) from None


def forget(session):
    """Delete what the nodes stored for a respawn in this launch, which has ended."""
    try:
        forget_session(session)
    except (HexapodError, OSError) as error:
        sys.stderr.write(f"the stored state of this launch cannot be deleted: {error}\n")


def say(text):
    """Write a line beside those of the nodes."""
    launch.logging.get_logger("stop_key").warning(text)


def claim_robot(namespace, session):
    """Raise RuntimeError if another launch of this robot is running: two gaits would command one body."""
    directory = device_directory(namespace)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        claim = PortClaim(directory / "launch", session, who="launch of this robot")
        claim.name("")
    except (HexapodError, OSError) as error:
        raise RuntimeError(str(error)) from None
    CLAIMS.append(claim)  # held until this process ends


def nodes(context):
    """Build the nodes for the checked arguments."""
    given = checked(context)
    simulated, built_in = given["hardware"] == "sim", given["imu_filter"] == "built_in"
    config = os.path.join(get_package_share_directory(PACKAGE), "config")
    foreign = given["hardware"] == "topics"
    files = [
        os.path.join(config, name)
        for name in (["nodes.yaml"] if simulated else ["nodes.yaml", f"hardware_{given['hardware']}.yaml"])
    ]
    files += [os.path.abspath(given["params_file"])] if given["params_file"] else []
    robot = {"robot": given["robot"]}
    devices = BUSES[given["bus"]]

    imu = given["imu"]
    if imu == "auto" and foreign:
        imu = "topic_raw"
    if imu == "topic_raw":
        devices = devices | {"imu": {"source": "topic"}}
    # What the gait asks for goes to `servos`, which passes on what the joints may do.
    asked = {"remappings": [("joint_commands", "gait/joint_commands")]} if foreign else {}
    if foreign:
        devices = devices | {"servos": {"command_interface": given["command_interface"]}}

    def node(name, values, **more):
        return Node(
            package=PACKAGE,
            executable=name,
            exec_name=name,
            name=name,
            namespace=given["namespace"],
            output="screen",
            parameters=[*files, robot, values],
            ros_arguments=["--log-level", given["log_level"]],
            **ending(),
            **more,
        )

    names = [
        *(["imu"] if imu in ("auto", "topic_raw") else []),
        "servos",
        "damage_manager",
        "dynamics",
        "gait",
        *(["simulator"] if simulated else []),
    ]
    # The state that nodes store for a respawn is valid for this launch only, unless something starts launches again.
    session = os.environ.get(SESSION, "").strip().replace("/", ".") or uuid.uuid4().hex
    try:
        checked_session(session)
    except HexapodError as error:
        raise RuntimeError(str(error)) from None
    claim_robot(given["namespace"], session)
    atexit.register(forget, session)
    started = [LogInfo(msg=STOP_KEY)] if stop_key.listen(given["namespace"], say) else []
    get_up = given["get_up"]
    if get_up == "auto":
        get_up = "automatic" if simulated else "asked"
    gait = {"session": session, "velocity": given["velocity"], "gait": given["gait"], "get_up": get_up}
    moving = {
        **({"imu": {"publish_data": built_in} | devices["imu"]} if imu in ("auto", "topic_raw") else {}),
        "servos": {"session": session} | devices["servos"],
        "dynamics": {
            "session": session,
            "feedforward": given["feedforward"] != "off",
            "feedforward_rates": given["feedforward"] == "rates",
            "odom_topic": given["odom_topic"],
        },
        "gait": gait,
    }
    together = given["processes"] == "one"
    if not together:
        started += [
            node(name, values, **(asked if name == "gait" else {}), **RESPAWNED) for name, values in moving.items()
        ]
    detect = given["detect"]
    if detect == "auto":
        detect = "declare" if simulated else "report"
    # Nodes that move no joint share a process: an empty one takes 30 MiB.
    beside = [
        *(moving if together else ()),
        "damage_manager",
        "robot_description",
        *(["damage_detector"] if detect != "off" else []),
        *(["walk_status"] if given["status"] == "true" else []),
    ]
    started.append(
        Node(
            package=PACKAGE,
            executable="companions",
            exec_name="companions",
            namespace=given["namespace"],
            output="screen",
            arguments=beside,
            # The status line is for people: no name of the process before it, and colours where the terminal has them.
            output_format="{line}",
            parameters=[
                *files,
                robot,
                {"nodes": names, "session": session, "colour": has_colours()},
                parameter_file(
                    {
                        "damage_detector": {"detect": detect},
                        "robot_description": {"ros2_control": given["ros2_control"]},
                        **(moving if together else {}),
                    },
                    given["namespace"],
                ),
            ],
            ros_arguments=[
                *("--log-level", given["log_level"]),
                *(["-r", "gait:joint_commands:=gait/joint_commands"] if foreign and together else ()),
            ],
            **ending(),
            **RESPAWNED,
        )
    )
    if simulated:
        faults = {f"faults.{name}": value for name, value in given["faults"].items()}
        started.insert(
            0,
            node(
                "simulator",
                {
                    "damage": given["damage"] or [""],
                    "session": session,
                    "bus": given["bus"],
                    "physics": given["physics"],
                    "truth": given["truth"],
                }
                | faults,
                **RESPAWNED,
            ),
        )
    if not built_in:
        started.append(
            Node(
                package="imu_complementary_filter",
                executable="complementary_filter_node",
                name="imu_filter",
                namespace=given["namespace"],
                output="screen",
                **ENDING,
                **RESPAWNED,
                parameters=[
                    {
                        "do_bias_estimation": True,
                        "fixed_frame": f"{given['namespace']}/odom".lstrip("/"),
                        "publish_tf": False,
                    }
                ],
            )
        )
    if given["view"] == "true":
        # Started again, it has another token, and prints its address again.
        started.append(node("view", given["view_port"], **RESPAWNED))
    if given["rviz"] == "true":
        started.append(rviz(os.path.join(config, "hexapod.rviz"), given["namespace"]))
    return started


def parameter_file(nodes, namespace):
    """Return the path of a file with the parameters {node: {name: value}} of nodes in one process.

    The argument `-p node:name:=value` would set them in the root namespace only. The section with a node's full name
    counts more than those of other files; that with a wildcard is for a namespace that an including file adds.
    """
    named = {node: {"ros__parameters": values} for node, values in nodes.items() if values}
    prefix = f"/{namespace.strip('/')}".rstrip("/")
    sections = {f"{place}/{node}": section for place in ("/**", prefix) for node, section in named.items()}
    with tempfile.NamedTemporaryFile("w", prefix="hexapod_", suffix=".yaml", delete=False) as file:
        json.dump(sections, file)  # JSON is YAML
    atexit.register(os.unlink, file.name)
    return file.name


def rviz(config, namespace):
    """Return the node rviz2, or a message that tells how to install it."""
    try:
        get_package_share_directory("rviz2")
    except PackageNotFoundError:
        package = f"ros-{os.environ.get('ROS_DISTRO', 'humble')}-rviz2"
        return LogInfo(msg=f"rviz:=true: rviz2 is not installed; sudo apt install {package}, or use view:=true")
    arguments = ["-d", rviz_config(config, namespace)]
    return Node(package="rviz2", executable="rviz2", namespace=namespace, arguments=arguments, **ENDING)


def rviz_config(config, namespace):
    """Return the path of the RViz configuration; with a namespace, of a copy with that namespace's frames."""
    prefix = namespace.strip("/")
    if not prefix:
        return config
    text = Path(config).read_text()
    for setting, value in (("Fixed Frame", "odom"), ("Target Frame", "base_link"), ("TF Prefix", "predicted")):
        text = text.replace(f"{setting}: {value}\n", f"{setting}: {prefix}/{value}\n")
    text = text.replace('TF Prefix: ""\n', f"TF Prefix: {prefix}\n")
    copy = tempfile.NamedTemporaryFile("w", prefix="hexapod_", suffix=".rviz", delete=False)
    with copy:
        copy.write(text)
    return copy.name


def generate_launch_description():
    """Declare the arguments, then start the nodes."""
    hint = LogInfo(msg="Ctrl-C ends everything.")
    return LaunchDescription([refuse_undeclared(ARGUMENTS, __file__), *ARGUMENTS, hint, OpaqueFunction(function=nodes)])
