# Writes a bag with fewer messages of each frequent topic; latched topics keep all. It made docs/damage_bag:
#
#   ./with_ros2 ros2 launch hexapod_dynamics walk.launch.py &
#   ./with_ros2 ros2 bag record -d 20 -o full /predicted_state /predicted_joint_states /predicted_path /joint_states \
#       /joint_commands /morphology /robot_description /damage_hypotheses /support /simulator/odom \
#       /simulator/joint_states /simulator/damage /simulator/robot_description /simulator/truth &
#   sleep 6; ./with_ros2 ros2 run hexapod_dynamics set_morphology --missing RM LM --service simulator/set_damage
#   wait %2; ./with_ros2 python docs/thin_bag.py full docs/damage_bag
"""Writes a bag with fewer messages of each frequent topic."""

import argparse
from pathlib import Path

from rosbags.interfaces import ConnectionExtRosbag2, QosDurability
from rosbags.rosbag2 import Reader, Writer
from rosbags.typesys import Stores, get_typestore

RATES = {
    "/damage_hypotheses": 1.0,
    "/support": 5.0,
    "/predicted_path": 2.0,
    "/joint_states": 20.0,
    "/joint_commands": 20.0,
}
VERSION = 8  # of the metadata, as Humble writes it

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("bag", type=Path)
parser.add_argument("output", type=Path)
parser.add_argument("--rate", type=float, default=10.0, help="messages of a topic a second, at the most")
options = parser.parse_args()

types, kept, last = get_typestore(Stores.ROS2_HUMBLE), {}, {}
with Reader(options.bag) as reader, Writer(options.output, version=VERSION) as writer:
    for connection in reader.connections:
        assert isinstance(connection.ext, ConnectionExtRosbag2)
        profiles = connection.ext.offered_qos_profiles
        latched = bool(profiles) and all(p.durability == QosDurability.TRANSIENT_LOCAL for p in profiles)
        new = writer.add_connection(
            connection.topic, connection.msgtype, typestore=types, offered_qos_profiles=profiles
        )
        kept[connection.id] = new, 0.0 if latched else 1e9 / RATES.get(connection.topic, options.rate)
    for connection, stamp, raw in reader.messages():
        new, pause = kept[connection.id]
        # On a grid of times, so that a period that does not divide the pause keeps the mean rate.
        if pause and stamp // pause == last.get(connection.id):
            continue
        last[connection.id] = stamp // pause if pause else None
        writer.write(new, stamp, raw)
print(f"written: {options.output}, {sum(f.stat().st_size for f in options.output.iterdir()) / 1e6:.2f} MB")
