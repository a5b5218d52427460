"""Walk: the six nodes, on the simulated robot or on the real one, and one quiet status line a second."""

import os
import uuid

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from ament_index_python.packages import get_package_share_directory
from hexapod_dynamics.devices.faults import parse
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.nodes.start import LAUNCH
from hexapod_dynamics.robot import Morphology, Robot

PACKAGE = 'hexapod_dynamics'
ARGUMENTS = (
    DeclareLaunchArgument('hardware', default_value='sim', choices=['sim', 'jethexa'],
                          description='sim: a simulated robot; jethexa: the real one, on its serial port and I2C bus'),
    DeclareLaunchArgument('velocity', default_value='0.077',
                          description='forward speed [m/s] until somebody publishes cmd_vel; 0 stands and waits'),
    DeclareLaunchArgument('gait', default_value='tripod', choices=['tripod', 'optimal'],
                          description='tripod; optimal: tripod with swings of least effort within the servos\' limits'),
    DeclareLaunchArgument('feedforward', default_value='torques', choices=['off', 'torques', 'rates'],
                          description='what shifts the set-points of soft servos: nothing, the torques the motion '
                                      'needs, or these and their rates'),
    DeclareLaunchArgument('damage', default_value='',
                          description='what the simulated robot has lost at the start, as RM,LM or RM.femur'),
    DeclareLaunchArgument('faults', default_value='',
                          description="what is wrong with the simulated devices at the start, as "
                                      "bus.drop_rate=0.01,imu.error_rate=0.01; `ros2 param list /simulator` shows all"),
    DeclareLaunchArgument('robot', default_value='',
                          description="the robot's YAML file, or a Python file whose robot() returns a Robot, as "
                                      'config/jethexa_by_positions.py; empty: the JetHexa that comes with the package'),
    DeclareLaunchArgument('imu_filter', default_value='built_in', choices=['built_in', 'imu_complementary_filter'],
                          description='who turns imu/data_raw into imu/data: the node imu, or the ROS package of that '
                                      'name where it is installed'),
    DeclareLaunchArgument('namespace', default_value='', description='namespace of every node and topic'),
    DeclareLaunchArgument('status', default_value='true', choices=['true', 'false'],
                          description='one line a second: speed, attitude, prediction against truth, what is missing'),
)
RESPAWNED = {'respawn': True, 'respawn_delay': 1.0}
# Patience with a node after SIGINT and after SIGTERM. Until a node hears signals itself (nodes.start), Python would
# answer a SIGINT with a traceback: it is ignored until then, and SIGTERM ends the start.
ENDING = {'sigterm_timeout': '1.5', 'sigkill_timeout': '1.0', 'prefix': """sh -c 'trap "" INT; exec "$0" "$@"'""",
          # Nodes end when this process has gone; one that is refused says so every 30 s, not each second.
          'additional_env': {LAUNCH: str(os.getpid()), 'HEXAPOD_REFUSED_PAUSE': '30'}}


def checked(context):
    """Return the launch arguments as values; a wrong one stops here, before any node starts."""
    given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in ARGUMENTS}
    try:
        velocity = float(given['velocity'])
    except ValueError:
        raise RuntimeError(f"velocity:={given['velocity']} is no number; give metres a second, "
                           'as velocity:=0.077') from None
    if not abs(velocity) <= 1.0:
        raise RuntimeError(f"velocity:={given['velocity']}: numbers from -1 to 1 m/s are allowed")
    lost = [name.strip() for name in given['damage'].split(',') if name.strip()]
    if lost and given['hardware'] != 'sim':
        raise RuntimeError(f"damage:={given['damage']} breaks the simulated robot; with hardware:=jethexa tell the "
                           'software what is missing: ros2 run hexapod_dynamics set_morphology --missing ...')
    try:
        robot = Robot.load(given['robot']) if given['robot'] else Robot.jethexa()
        Morphology.whole(robot).without(*lost)
        faults = parse(given['faults'])
    except (HexapodError, OSError) as error:
        raise RuntimeError(str(error)) from None
    if faults and given['hardware'] != 'sim':
        raise RuntimeError(f"faults:={given['faults']} are those of simulated devices; leave it out")
    return given | {'velocity': velocity, 'damage': lost, 'faults': faults}


def nodes(context):
    """Build the nodes for the checked arguments."""
    given = checked(context)
    simulated, built_in = given['hardware'] == 'sim', given['imu_filter'] == 'built_in'
    config = os.path.join(get_package_share_directory(PACKAGE), 'config')
    files = [os.path.join(config, name) for name in
             (['nodes.yaml'] if simulated else ['nodes.yaml', f"hardware_{given['hardware']}.yaml"])]
    robot = {'robot': given['robot']}

    def node(name, values, **more):
        return Node(package=PACKAGE, executable=name, exec_name=name, name=name, namespace=given['namespace'],
                    output='screen', parameters=[*files, robot, values], ros_arguments=['--log-level', 'warn'],
                    **ENDING, **more)

    # What nodes keep over a respawn belongs to this launch alone.
    session = uuid.uuid4().hex
    started = [
        node('imu', {'publish_data': built_in}, **RESPAWNED),
        node('servos', {}, **RESPAWNED),
        node('damage_manager', {'session': session}, **RESPAWNED),
        node('dynamics', {'session': session, 'feedforward': given['feedforward'] != 'off',
                          'feedforward_rates': given['feedforward'] == 'rates'}, **RESPAWNED),
        node('gait', {'velocity': given['velocity'], 'gait': given['gait']}, **RESPAWNED),
    ]
    if simulated:
        faults = {f'faults.{name}': value for name, value in given['faults'].items()}
        started.insert(0, node('simulator', {'damage': given['damage'] or ['']} | faults, **RESPAWNED))
    if not built_in:
        started.append(Node(package='imu_complementary_filter', executable='complementary_filter_node',
                            name='imu_filter', namespace=given['namespace'], output='screen', **ENDING, **RESPAWNED,
                            parameters=[{'do_bias_estimation': True, 'fixed_frame': 'odom', 'publish_tf': False}]))
    if given['status'] == 'true':
        started.append(Node(package=PACKAGE, executable='walk_status', exec_name='walk_status',
                            namespace=given['namespace'], output='screen', **ENDING))
    return started


def generate_launch_description():
    """Declare the arguments, then start what they ask for."""
    return LaunchDescription([*ARGUMENTS, LogInfo(msg='Ctrl-C ends everything.'), OpaqueFunction(function=nodes)])
