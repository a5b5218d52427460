"""What is drawn on the robot is of one time with it; the prediction can be set back; both without a browser."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from geometry_msgs.msg import Point
from hexapod_dynamics.control.support import FORCE_SCALE
from hexapod_dynamics.nodes import view
from hexapod_dynamics.nodes.view_picture import Picture
from hexapod_dynamics.robot import Robot
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray


def odometry(seconds, place, yaw):
    message = Odometry()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(seconds * 1e9), 10**9)
    p, q = message.pose.pose.position, message.pose.pose.orientation
    p.x, p.y, p.z = map(float, place)
    q.x, q.y, q.z, q.w = Rotation.from_euler("z", yaw).as_quat()
    return message


def force(seconds, foot):
    marker = Marker(type=Marker.ARROW, action=Marker.ADD)
    marker.header.stamp.sec, marker.header.stamp.nanosec = divmod(round(seconds * 1e9), 10**9)
    x, y, z = map(float, foot)
    marker.points = [Point(x=x, y=y, z=z), Point(x=x, y=y, z=z + 7.0 * FORCE_SCALE)]
    return MarkerArray(markers=[marker])


@pytest.fixture
def picture():
    newest = {"robot_description": String(data=Robot.jethexa().to_urdf())}
    made = Picture(MagicMock(), MagicMock(get=lambda topic, within=0.0: newest.get(topic)), None)
    made.newest, made._surroundings = newest, MagicMock()
    return made


def draw(picture, tick, **messages):
    picture.newest.update({name.replace("__", "/"): message for name, message in messages.items()})
    picture.update()
    picture.draw(tick, ago=0.0, follows=True, support=True, names=True)


def test_force_arrows_are_on_the_body_as_it_was_when_they_were_computed(picture):
    draw(picture, 1, predicted_state=odometry(5.0, (0.0, 0.0, 0.12), 0.0))
    draw(picture, 2, predicted_state=odometry(5.02, (0.1, 0.0, 0.12), 0.5))
    # The truth is elsewhere, and the prediction has gone on, when the forces of 5.02 s arrive.
    foot = np.array([0.1, 0.0, 0.0]) + Rotation.from_euler("z", 0.5).apply([0.15, 0.1, 0.0])
    truth = odometry(6.0, (3.0, 2.0, 0.11), -1.0)
    draw(
        picture,
        3,
        predicted_state=odometry(5.3, (0.4, 0.0, 0.12), 0.9),
        simulator__odom=truth,
        support=force(5.02, foot),
    )
    feet, forces = picture._surroundings.draw_forces.call_args.args
    np.testing.assert_allclose(feet, [[0.15, 0.1, -0.12]], atol=1e-9)  # in the body's axes, which carry it
    np.testing.assert_allclose(forces, [[0.0, 0.0, 7.0]], atol=1e-9)


def test_a_joint_that_is_not_a_number_keeps_its_pose_and_a_message_of_another_length_is_left_out(picture):
    draw(picture, 1, predicted_state=odometry(5.0, (0.0, 0.0, 0.12), 0.0))
    states = JointState(name=["coxa_joint_LF", "femur_joint_LF"], position=[np.nan, 0.2])
    draw(picture, 2, joint_states=states)
    assert picture.now.joints == {"femur_joint_LF": 0.2}
    draw(picture, 3, joint_states=JointState(name=["coxa_joint_LF", "femur_joint_LF"], position=[0.3]))
    assert picture.now.joints == {}


def test_a_prediction_that_is_far_away_is_said_and_can_be_set_back(picture):
    draw(
        picture,
        1,
        predicted_state=odometry(5.0, (1.0, 0.0, 0.12), 0.2),
        simulator__odom=odometry(5.0, (0, 0, 0.1), 0.9),
    )
    assert "set it back" in picture.hidden
    picture.set_prediction_back()
    draw(picture, 2)
    place, rotation = picture.prediction
    assert picture.hidden == ""
    np.testing.assert_allclose(place, [0.0, 0.0, 0.1], atol=1e-9)
    assert rotation.as_euler("zyx")[0] == pytest.approx(0.9)
    ahead = odometry(5.5, 1.0 * np.array([1.0, 0.0, 0.12]) + 0.1 * np.array([np.cos(0.2), np.sin(0.2), 0.0]), 0.2)
    draw(picture, 3, predicted_state=ahead)  # 10 cm ahead in its own heading
    np.testing.assert_allclose(picture.prediction[0], [0.1 * np.cos(0.9), 0.1 * np.sin(0.9), 0.1], atol=1e-9)


def test_no_speed_leads_from_the_predicted_to_the_simulated_robot(picture, monkeypatch):
    """The page is often there before the simulated robot's first message."""
    clock, speeds = SimpleNamespace(now=0.0), []
    monkeypatch.setattr(view.time, "monotonic", lambda: clock.now)
    panel = SimpleNamespace(plots=SimpleNamespace(add=lambda t, tilt, speed, error: speeds.append(speed)))
    node = SimpleNamespace(_picture=picture, _panel=panel)
    for k in range(60):
        clock.now = 0.1 * k
        there = {"simulator__odom": odometry(clock.now, (0.3, 0.0, 0.1), 0.0)} if k >= 20 else {}
        draw(picture, k, predicted_state=odometry(clock.now, (0.0, 0.0, 0.1), 0.0), **there)
        view.View._sample(node)
    assert {speed for speed in speeds if np.isfinite(speed)} == {0.0} and np.isfinite(speeds[-1])


def test_plots_and_events_go_on_while_no_page_is_open():
    """A page that is opened later shows what happened before, and no straight line over it."""
    noted, closing = [], MagicMock(is_set=MagicMock(side_effect=[*[False] * 16, True]))  # 16 pictures
    node = SimpleNamespace(
        _closing=closing, _period=0.0, _picture=MagicMock(), _server=MagicMock(get_clients=dict), _draw=None
    )
    node._sample, node._note_events = lambda: noted.append("sample"), lambda: noted.append("events")
    view.View._draw_all(node)
    assert noted == ["sample", "events", "sample", "sample", "events", "sample"]  # of pictures 0, 0, 5, 10, 12, 15


@pytest.mark.parametrize(
    ("followed", "said"),
    [
        ("0.077 0.000 m/s 0.000 rad/s", "speed 7.7 cm/s"),
        ("0.050 -0.020 m/s 0.200 rad/s", "speed 5.0 cm/s, 2.0 cm/s to the right, turning 11 deg/s left"),
        ("", ""),
    ],
)
def test_the_command_that_the_gait_follows_is_shown_in_words(followed, said):
    assert view.describe_command(followed) == said
