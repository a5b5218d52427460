"""The commands of README and pages are run: beside a launched robot, in a folder as a reader has it.

Each is pasted into a shell. DONE ends by itself with code 0; GOES prints something and ends at Ctrl-C; REFUSED needs a
device that is not there, or more words, and says which. Each may name what it has to print. Some minutes in all, so
that they run on demand: pytest -m slow test/nodes/test_page_commands_run.py
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from support.foreign_urdf import foreign_phantomx
from support.launched_robot import Launched
from support.page_commands import ALL, HOST, NOT_COMMANDS, PARTS, ROOT
from support.ros_session import Process, wait_until

from hexapod_dynamics.robot.robot_file import robot_yaml
from hexapod_dynamics.robot.urdf_legs import robot_of_urdf

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the pages are in the source tree only")
DONE, GOES, REFUSED = "done", "goes", "refused"
ENTERS = r"\n" * 80  # the answers to questions, each that in brackets
PACKAGE = "ros2 run hexapod_dynamics "
GPIO = "Jetson.GPIO|ttyTHS1"  # what only a Jetson has
IN_OTHER_TESTS = {".ci/run": "test_ci.py"}  # of test/repository/, with a stand-in for what it calls
NO_ROBOT = {
    "scripts/jetson_setup --dry-run": (DONE, "nothing was done"),
    "scripts/jetson_setup": (DONE, "left out"),  # test_jetson_setup.py answers with yes
    "python -m hexapod_dynamics.tools.parameter_files": (DONE, ""),
    "python -m sphinx -W -E docs docs/_build": (DONE, "build succeeded"),
    "scripts/sanitize_core": (GOES, ""),
    # Of these the tests are listed (PYTEST_ADDOPTS): they take minutes.
    **{f"pytest {part}": (DONE, r"tests collected") for part in ("-m long", "-m ros", "test/gait", "-k locked")},
    "python benchmark/arena/run.py --methods tripod,told --losses 1 --runs 2": (GOES, ""),
    "python benchmark/arena/run.py --methods hop.py:Hop,told --losses 1,2 --runs 4": (GOES, ""),
    "python examples/remove_a_leg.py": (DONE, ""),
    "python examples/walk_on.py": (DONE, ""),
    "python examples/identify_from_bag.py --write practice": (DONE, ""),
    PACKAGE + "identify practice --out practice.yaml": (DONE, ""),
    PACKAGE + "identify --exercise standing --out standing.csv": (DONE, ""),
    PACKAGE + "identify --exercise suspended --out suspended.csv": (DONE, ""),
    PACKAGE + "new_robot my_phantomx.yaml --urdf phantomx.urdf": (DONE, ""),
    PACKAGE + "new_robot my_phantomx.yaml --check": (GOES, r"\d (s|min) left"),
    PACKAGE + "new_robot my_robot.yaml": (GOES, r"\d (s|min) left"),
    PACKAGE + "compile --robot config/jethexa.yaml --out DIR": (DONE, ""),
    PACKAGE + "plan --improve": (GOES, ""),
    PACKAGE + "plan --missing LF RM --improve --out plans.yaml": (DONE, ""),
    PACKAGE + "plan --missing RM --plot": (DONE, ""),
    PACKAGE + "plan --robot my.yaml --get-up --out get_up_my.yaml": (GOES, ""),
    PACKAGE + "plan --robot my_robot.yaml --out plans_my_robot.yaml": (GOES, ""),
    PACKAGE + "plan --robot my_phantomx.yaml --out plans_my_phantomx.yaml --most-lost 3": (GOES, ""),
    PACKAGE + "plot docs/damage_bag --output walk.png": (DONE, "written: walk.png"),
    PACKAGE + "reproduce all": (GOES, ""),
    PACKAGE + "train_detector my.yaml": (GOES, ""),
    PACKAGE + "check_robot --simulated": (DONE, "35 of 35 passed"),
    PACKAGE + "check_robot --simulated board": (DONE, "35 of 35 passed"),
    PACKAGE + "check_robot --only port": (REFUSED, GPIO),
    PACKAGE + "check_robot --only axes": (REFUSED, ""),
    PACKAGE + "check_robot --only directions,trim": (REFUSED, GPIO),
    PACKAGE + "check_robot --hardware dynamixel --robot config/phantomx.yaml": (REFUSED, ""),
    PACKAGE + "check_robot --hardware dynamixel --robot my_phantomx.yaml": (REFUSED, ""),
    PACKAGE + "check_robot --hardware jethexa_orin --only axes,directions,trim,stop": (REFUSED, ""),
    PACKAGE + "check_robot --hardware jethexa_orin --only port,servos,supply,imu": (REFUSED, ""),
    PACKAGE + "check_robot --hardware jethexa_orin --only servos,supply": (REFUSED, ""),
    PACKAGE + "check_robot --report /var/lib/hexapod_dynamics/check.md": (REFUSED, ""),
    PACKAGE + "servo_tool --port /dev/ttyTHS1 --direction gpio calibrate tibia_joint_LF 1.4": (
        REFUSED,
        "Jetson.GPIO|ttyTHS1",
    ),
    PACKAGE + "servo_tool --port /dev/ttyTHS1 --direction gpio center": (REFUSED, GPIO),
    PACKAGE + "servo_tool --port /dev/ttyTHS1 --direction gpio scan": (REFUSED, GPIO),
    PACKAGE + "servo_tool --port /dev/ttyTHS1 --direction gpio set-id 1 7": (REFUSED, GPIO),
    PACKAGE + "set_morphology": (REFUSED, ""),
    "ros2 param set": (REFUSED, ""),
    "ros2 topic echo --once": (REFUSED, ""),
}
COLCON_TEST = "colcon test --return-code-on-test-failure"
IN_A_COPY = {  # in this order, in a workspace and an environment of their own, because they change both
    "rosdep install --from-paths src --ignore-src": "apt-get install python3-smbus2",
    "colcon build": "Finished <<< hexapod_dynamics",
    COLCON_TEST: "Finished <<< hexapod_dynamics",
    COLCON_TEST + " --event-handlers console_direct+": r"\d passed",
    "python -m pytest -m pure": r"\d passed",
    "ruff check .": "All checks passed",
    "ruff format .": "files left unchanged",
    "git pull": "up to date",
    "pip install .": "Successfully installed .*hexapod_dynamics",
    "pipx run cibuildwheel": "cp313-manylinux_x86_64",
    "python -m pip install gymnasium": "Successfully installed|already satisfied",
    "python3 -m pip install Jetson.GPIO>=2,<3": "Successfully installed",
    "python3 -m pip install vqf>=2,<3": "Successfully installed",
    "python3 -m pip wheel --wheel-dir wheels vqf>=2.0,<3": "Saved",
}
LAUNCH = "ros2 launch hexapod_dynamics walk.launch.py"
STATUS = r"cm/s .*prediction .*missing"
LAUNCHES = {
    LAUNCH: (GOES, STATUS),
    LAUNCH + " view:=true": (GOES, r"http://\S+\d"),
    LAUNCH + " bus:=dynamixel": (GOES, STATUS),
    LAUNCH + " bus:=board": (GOES, STATUS),
    LAUNCH + " faults:=servo.silent=femur_joint_RM,imu.error_rate=0.01": (GOES, STATUS),
    LAUNCH + " namespace:=left view:=true view_port:=0": (GOES, STATUS),
    LAUNCH + " namespace:=right view:=true view_port:=0": (GOES, STATUS),
    LAUNCH + " robot:=my_robot.yaml": (GOES, STATUS),
    LAUNCH + " robot:=my_phantomx.yaml view:=true": (GOES, STATUS),
    LAUNCH + " robot:=my_phantomx.yaml hardware:=dynamixel": (GOES, "dev"),
    LAUNCH + " hardware:=dynamixel robot:=config/phantomx.yaml": (GOES, "dev"),
    LAUNCH + " hardware:=jethexa": (GOES, "Jetson.GPIO|I2C"),
    LAUNCH + " hardware:=jethexa odom_topic:=odom": (GOES, "Jetson.GPIO|I2C"),
    LAUNCH + " hardware:=jethexa_orin": (GOES, "dev"),
    LAUNCH + " hardware:=topics": (GOES, "joint_states"),
    LAUNCH + " hardware:=topics robot:=my_robot.yaml": (GOES, "joint_states"),
    "ros2 launch hexapod_dynamics joystick.launch.py pad:=board": (GOES, ""),
    "ros2 launch hexapod_dynamics ros2_control.launch.py component:=mock imu:=none": (GOES, ""),
}
CALL = "ros2 service call /set_morphology rcl_interfaces/srv/SetParametersAtomically "
BESIDE = {  # in this order, beside one robot
    "ros2 topic echo --once /predicted_state": (DONE, "orientation"),
    "ros2 topic echo /diagnostics": (GOES, "level"),
    "ros2 topic echo /gait_state": (GOES, "walk"),
    "ros2 param list /simulator": (DONE, "faults.bus.drop_rate"),
    "ros2 param list /damage_manager": (DONE, "legs.RM"),
    "ros2 service call /dynamics/tare std_srvs/srv/Trigger": (DONE, "message"),
    "ros2 param set /gait weighing_sway 0.002": (DONE, "successful"),
    "ros2 param set /simulator load.mass 0.4": (DONE, "successful"),
    "ros2 param set /simulator faults.bus.drop_rate 0.01": (DONE, "successful"),
    "ros2 bag record -a -o my_walk": (GOES, "simulator/odom"),
    PACKAGE + "set_morphology --missing RM LM --service simulator/set_damage": (DONE, ""),
    PACKAGE + "set_morphology --restore RM LM --service simulator/set_damage": (DONE, ""),
    PACKAGE + "set_morphology --missing RM LM": (DONE, ""),
    CALL + "{parameters: [{name: legs.RM, value: {type: 1, bool_value: false}}]}": (DONE, "successful=True"),
    CALL
    + "{parameters: [{name: locked.RF.tibia, value: {type: 1, bool_value: true}}, "
    + "{name: locked_at.RF.tibia, value: {type: 3, double_value: 0.4}}]}": (DONE, "successful=True"),
    "ros2 param set /damage_manager legs.RM false": (DONE, "successful"),
    "ros2 topic pub --rate 10 /cmd_vel geometry_msgs/msg/Twist {linear: {x: 0.05}, angular: {z: 0.2}}": (GOES, "0.05"),
    "ros2 topic pub -r 10 /cmd_vel geometry_msgs/msg/Twist {linear: {x: 0.03}}": (GOES, "0.03"),
    "ros2 topic pub --once /cmd_vel geometry_msgs/msg/Twist": (DONE, ""),
    PACKAGE + "record --out suspended_bag --seconds 70": (GOES, "Subscribed to"),
    PACKAGE + "record --out my_walk --robot my_robot.yaml --firmware LX-224HV --photos front.jpg": (
        GOES,
        "Subscribed to",
    ),
    PACKAGE + "view": (GOES, "http"),
    "ros2 topic pub --once simulator/set_attitude geometry_msgs/msg/Quaternion {x: 1.0, w: 0.0}": (DONE, "x=1.0"),
    PACKAGE + "stop": (DONE, ""),
    PACKAGE + "stop --resume": (DONE, ""),
    "ros2 service call /imu/calibrate std_srvs/srv/Trigger": (DONE, "message"),
    PACKAGE + "stop --sit": (DONE, ""),
    PACKAGE + "stop --release": (DONE, ""),
}
AFTER = {
    PACKAGE + "plot my_walk": (DONE, ""),
    "ros2 bag play my_walk": (DONE, ""),
    PACKAGE + "score my_walk": (DONE, ""),
    PACKAGE + "identify suspended_bag standing_bag --weight 2.51 --out my_robot.yaml": (DONE, ""),
}
LOST = PACKAGE + "set_morphology --missing rm --service simulator/set_damage"  # beside my_phantomx
ON_PAGES = {
    " ".join(words): line for _, line, words in ALL if words[0] not in HOST | PARTS and not NOT_COMMANDS.search(line)
}


def test_every_command_of_the_pages_is_run():
    assert sorted([*IN_OTHER_TESTS, *NO_ROBOT, *IN_A_COPY, *LAUNCHES, *BESIDE, *AFTER, LOST]) == sorted(ON_PAGES)
    for command, file in IN_OTHER_TESTS.items():
        assert f'"{command}"' in (ROOT / "test" / "repository" / file).read_text()


@pytest.fixture(scope="module")
def place(domain, tmp_path_factory):
    """A folder with what the pages speak of: parts of this repository, and a reader's own robot and method."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("config", "docs", "examples", "benchmark", "scripts"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "phantomx.urdf").write_text(foreign_phantomx())
    (folder / "front.jpg").write_bytes(b"")
    for name in ("my.yaml", "my_robot.yaml"):
        shutil.copy(ROOT / "config" / "jethexa.yaml", folder / name)
    phantomx, _ = robot_of_urdf(folder / "phantomx.urdf", "my_phantomx")
    (folder / "my_phantomx.yaml").write_text(robot_yaml(phantomx))
    for name, needed in (("new", ["phantomx.urdf"]), ("recorded", ["my_robot.yaml", "front.jpg", "examples"])):
        (folder / name).mkdir()  # of commands that write a file which others have, too
        for file in needed:
            (folder / name / file).symlink_to(folder / file)
    blocks = re.findall(r"^```python$(.*?)^```$", (ROOT / "docs" / "learning.md").read_text(), re.M | re.S)
    (folder / "hop.py").write_text(next(code for code in blocks if "class Hop" in code))
    return folder


def run(command, expected, folder, patience=900.0, **environment):
    """Paste a command into a shell in a folder; AssertionError if it does not do what is expected of it."""
    kind, words = expected
    line = ON_PAGES[command].replace("./with_ros2 ", "").partition("   #")[0]
    with Process("bash", "-c", f"{{ {line} ; }} <<< $'{ENTERS}'", cwd=folder, MPLBACKEND="Agg", **environment) as shell:
        if kind == GOES:
            wait_until(
                lambda: shell.output and re.search(words, shell.output) or not shell.running(),
                120.0,
                lambda: f"{line}\n{shell.output}",
            )
            assert re.search(words, shell.output) and shell.popen.poll() in (None, 0), shell.output
            if shell.running():
                time.sleep(14.0 if " record " in line else 1.0)
                os.killpg(shell.pid, signal.SIGINT)
                shell.popen.wait(30.0)
            assert "Traceback" not in shell.output or "KeyboardInterrupt" in shell.output, shell.output
            return
        code = shell.popen.wait(patience)
        assert (code == 0) == (kind == DONE) and re.search(words, shell.output), f"{line}: {code}\n{shell.output}"
        assert "Traceback" not in shell.output, shell.output


@pytest.mark.slow
@pytest.mark.parametrize("command", NO_ROBOT)
def test_a_command_that_needs_no_robot(command, place):
    new = place / "new" if "new_robot" in command else place
    folder = ROOT if command.startswith(("python -m", "pytest")) else new
    run(command, NO_ROBOT[command], folder, PYTEST_ADDOPTS="--collect-only")


@pytest.mark.slow
def test_commands_that_change_the_environment_or_the_workspace(tmp_path):
    source, binaries = tmp_path / "ws" / "src" / "hexapod_dynamics", tmp_path / "venv" / "bin"
    subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", binaries.parent], check=True)
    settings = source / "setup.cfg"  # one file of tests stands for all
    settings.write_text(settings.read_text().replace("testpaths = test", "testpaths = test/test_se3.py"))
    environment = {"PATH": f"{binaries}:{os.environ['PATH']}"} | prepare_rosdep(tmp_path, binaries)
    (binaries / "pipx").write_text(PIPX)
    (binaries / "pipx").chmod(0o755)
    for command, words in IN_A_COPY.items():
        at_source = re.match(r"pip|ruff|git|python -m pytest", command)
        run(command, (DONE, words), source if at_source else tmp_path / "ws", 300.0, **environment)


# Without these options it builds in Docker.
PIPX = """#!/bin/sh
python3 -m pip install --quiet "$2" && exec "$2" --print-build-identifiers --platform linux
"""
APT = """#!/bin/sh
[ "$1" != install ] || {{ echo apt-get "$@"; echo "$2" >>{installed}; }}
[ "${{0##*/}}" = dpkg-query ] || exit 0
for name; do ! grep -qx -- "$name" {installed} || echo "$name install ok installed"; done
"""


def prepare_rosdep(folder, binaries):
    """Install rosdep with the keys of rosdep_names.txt and an apt that installs nothing; return its environment."""
    subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", "rosdep"], check=True)
    (folder / "installed").touch()
    for name in ("apt-get", "apt-cache", "dpkg-query", "sudo"):
        (binaries / name).write_text(APT.format(installed=folder / "installed"))
        (binaries / name).chmod(0o755)
    names = (ROOT / "test" / "repository" / "rosdep_names.txt").read_text().splitlines()[1:]
    (folder / "keys.yaml").write_text(json.dumps({name: {"ubuntu": [name]} for name in names}))
    (folder / "index.yaml").write_text("{distributions: {}, type: index, version: 4}")
    (folder / "keys.list").write_text(f"yaml file://{folder}/keys.yaml")
    environment = {
        "ROSDEP_SOURCE_PATH": str(folder),
        "ROSDISTRO_INDEX_URL": f"file://{folder}/index.yaml",
        "ROS_HOME": str(folder / "home"),
        "ROS_OS_OVERRIDE": "ubuntu:jammy",
    }
    subprocess.run([binaries / "rosdep", "update"], check=True, env=os.environ | environment)
    return environment


@pytest.mark.slow
@pytest.mark.parametrize("command", LAUNCHES)
def test_a_launch(command, place):
    run(command, LAUNCHES[command], place)


@pytest.mark.slow
def test_commands_beside_a_robot_and_on_what_was_recorded(probe, place):
    robot = Launched(probe)
    try:
        robot.wait(lambda: robot.speed() > 0.03, 30.0, "it walks")
        for command, expected in BESIDE.items():
            folder = place / "recorded" if " record " in command and "bag" not in command.split()[1] else place
            run(command, expected, folder)
    finally:
        robot.close()
    practice = "python examples/identify_from_bag.py --write practice"
    run(practice, NO_ROBOT[practice], place / "recorded")
    for name in ("suspended_bag", "standing_bag"):
        shutil.copytree(place / "recorded" / "practice", place / name)
    for command, expected in AFTER.items():
        run(command, expected, place)


@pytest.mark.slow
def test_a_leg_of_ones_own_robot_is_torn_off(probe, place):
    robot = Launched(probe, f"robot:={place / 'my_phantomx.yaml'}")
    try:
        robot.wait(lambda: robot.speed() > 0.03, 30.0, "it walks")
        run(LOST, (DONE, ""), place)
        robot.wait(lambda: robot.lost() == {"rm"}, 10.0, "the loss is declared")
    finally:
        robot.close()
