"""What the compiled code costs and needs, in one table: docs/results/native.md.

    ./with_ros2 python3 benchmark/native.py calls ../before   # every public call beside another checkout's
    ./with_ros2 python3 benchmark/native.py start             # first start, memory, another robot, without a compiler
    ./with_ros2 python3 benchmark/native.py size ../before    # the environments of with_ros2

Each command replaces its own rows of the table and names the commit that it measured. `../before` is a checkout of
3567cd4 (git worktree add ../before 3567cd4) that ./with_ros2 has built. The calls of both checkouts take turns, a
process of each after one of the other; a time is the best of all turns, because a busy machine only adds. Nothing else
should run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results" / "native.md"
OTHER_ROBOT = ROOT / "test" / "robots" / "octopod.yaml"
TURNS = 5
NODES = ("imu", "servos", "gait", "dynamics", "companions", "simulator")

# Runs in either checkout, so it uses what both have. Prints {name: seconds a call}.
WORKER = """
import json, os, sys, time
os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, TripodGait
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
rng = np.random.default_rng(0)
robot = Robot.jethexa()
whole = Morphology.whole(robot)
hurt = whole.without("RM").without("LM.femur").locked("RF.tibia", angle=0.4).broken("LF.tibia", remaining=0.5)
m = WholeBodyModel(robot)
R, p, q = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3), rng.normal(size=18) * 0.5
R = R * np.sign(np.linalg.det(R))
nu, nudot, tau = rng.normal(size=24), rng.normal(size=24), rng.normal(size=18)
forces = {leg: rng.normal(size=3) for leg in robot.leg_names}
tip, stance = np.array([0.1, 0.0, 0.0]), list(robot.leg_names[:3])
count = 20000
B = [np.repeat(R[None], count, 0), *rng.normal(size=(2, count, 18)), *rng.normal(size=(2, count, 24))]
calls = {
    "forward_dynamics": lambda: m.forward_dynamics(R, q, nu, tau),
    "forward_dynamics, 6 tip forces": lambda: m.forward_dynamics(R, q, nu, tau, whole, forces),
    "inverse_dynamics": lambda: m.inverse_dynamics(R, q, nu, nudot),
    "mass_matrix": lambda: m.mass_matrix(q),
    "coriolis_matrix": lambda: m.coriolis_matrix(q, nu),
    "gravity_force": lambda: m.gravity_force(R, q),
    "tip_jacobian": lambda: m.tip_jacobian("LF", q),
    "link_poses": lambda: m.link_poses(R, p, q),
    "point_jacobian": lambda: m.point_jacobian("LF.tibia", tip, q),
    "point_acceleration_bias": lambda: m.point_acceleration_bias("LF.tibia", tip, q, nu),
    "center_of_mass": lambda: m.center_of_mass(R, p, q),
    "total_mass": lambda: m.total_mass(),
    "centroidal_momentum": lambda: m.centroidal_momentum(R, q, nu),
    "kinetic_energy": lambda: m.kinetic_energy(q, nu),
    "potential_energy": lambda: m.potential_energy(R, p, q),
    "constrained_forward_dynamics": lambda: m.constrained_forward_dynamics(R, q, nu, tau, stance),
    "inverse_dynamics_derivatives": lambda: m.inverse_dynamics_derivatives(R, q, nu, nudot),
    "forward_dynamics_derivatives": lambda: m.forward_dynamics_derivatives(R, q, nu, tau),
    "Morphology.locked_angle": lambda: hurt.locked_angle("RF", "tibia"),
    "Morphology.describe": lambda: hurt.describe(),
    "Morphology.without": lambda: whole.without("RM"),
    "forward_dynamics_batch, 20000 states, 1 core": lambda: m.forward_dynamics_batch(B[0], B[1], B[3], B[2]),
    "inverse_dynamics_batch, 20000 states, 1 core": lambda: m.inverse_dynamics_batch(B[0], B[1], B[3], B[4]),
}
sim = Simulator(robot, gait=TripodGait(), timestep=1e-3)
calls["walking simulation, 0.2 s"] = lambda: sim.run(0.2)
hurt_sim = Simulator(robot, morphology=whole.without("RM"), gait=TripodGait(), timestep=1e-3)
calls["walking simulation without RM, 0.2 s"] = lambda: hurt_sim.run(0.2)
best, number = {}, {}
for name, call in calls.items():
    call()
    begin = time.perf_counter(); call(); once = time.perf_counter() - begin
    best[name], number[name] = np.inf, max(1, int(5e-4 / max(once, 1e-8)))
for _ in range(int(sys.argv[1])):
    for name, call in calls.items():
        begin = time.perf_counter()
        for _ in range(number[name]):
            call()
        best[name] = min(best[name], (time.perf_counter() - begin) / number[name])
print(json.dumps(best))
"""


def times_in(checkout: Path, rounds: int) -> dict[str, float]:
    """Best times [s] of all calls in one process of a checkout."""
    with tempfile.TemporaryDirectory() as place:  # a folder from which no package of this name is imported
        command = [str(checkout / "with_ros2"), "python3", "-c", WORKER, str(rounds)]
        done = subprocess.run(command, cwd=place, env=outside(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{checkout}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def outside() -> dict[str, str]:
    """Return the environment without what with_ros2 has put into it, and without its virtual environment."""
    ours = str(ROOT / ".ros2_env")
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("PYTHONPATH", "AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "VIRTUAL_ENV")
    }
    return kept | {
        "PATH": os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if not part.startswith(ours))
    }


def commit_of(checkout: Path) -> str:
    """Return the commit of a checkout; of one without git, what its folder is named after it."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"], cwd=checkout, capture_output=True, text=True, check=False
    )
    top = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"], cwd=checkout, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if top.stdout.strip() == str(checkout) else "3567cd4"


def measure_calls(other: Path, rounds: int) -> dict[str, tuple[str, str, bool]]:
    """Rows: {what: (bound, measured, whether it holds)}."""
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for _ in range(TURNS):
        for checkout, best in ((ROOT, ours), (other, theirs)):
            for name, seconds in times_in(checkout, rounds).items():
                best[name] = min(best.get(name, seconds), seconds)
    rows = {}
    for name, seconds in ours.items():
        ratio = seconds / theirs[name]
        rows[f"`{name}`"] = ("<= 1.05 of 3567cd4", f"{_duration(seconds)}, {ratio:.2f} of it", ratio <= 1.05)
    return rows


def _duration(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


class Launch:
    """walk.launch.py with an empty cache and a runtime directory of its own."""

    def __init__(self, place: Path, *arguments: str, **environment: str) -> None:
        self.output = place / "output"
        own = {"HEXAPOD_DYNAMICS_CACHE": str(place / "cache"), "HEXAPOD_DYNAMICS_RUNTIME": str(place / "run")}
        command = ["ros2", "launch", "hexapod_dynamics", "walk.launch.py", *arguments]
        with self.output.open("w") as file:
            self.process = subprocess.Popen(
                command,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | own | environment,
            )

    def pss(self) -> dict[str, float]:
        """Memory [MiB] of each node's process, shared pages divided by who shares them."""
        found: dict[str, float] = {}
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                if os.getsid(int(process.name)) != self.process.pid:
                    continue
                words = [Path(word).name for word in (process / "cmdline").read_text().split("\0")[:4]]
                launch = "ros2 launch" if int(process.name) == self.process.pid else None
                name = next((word for word in words if word in NODES), launch)
                pss = re.search(r"^Pss:\s+(\d+)", (process / "smaps_rollup").read_text(), re.M)
            except OSError:
                continue
            if name is not None and pss is not None:
                found[name] = found.get(name, 0.0) + int(pss[1]) / 1024.0
        return found

    def end(self) -> None:
        """End all its processes."""
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(10.0)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)


def measure_start() -> dict[str, tuple[str, str, bool]]:
    """Rows of the first start."""
    import rclpy
    from nav_msgs.msg import Odometry
    from rclpy.qos import QoSProfile, ReliabilityPolicy

    os.environ.setdefault("ROS_DOMAIN_ID", "93")
    os.environ["ROS_LOCALHOST_ONLY"] = "1"
    rclpy.init()
    node = rclpy.create_node("native_benchmark")
    heard: list[float] = []
    quality = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
    node.create_subscription(Odometry, "predicted_state", lambda _: heard.append(time.monotonic()), quality)

    def start(place: str, *arguments: str, **environment: str) -> tuple[float, Launch]:
        heard.clear()
        begin = time.monotonic()
        launch = Launch(Path(place), *arguments, **environment)
        while not heard and time.monotonic() < begin + 120.0:
            rclpy.spin_once(node, timeout_sec=0.05)
        if not heard:
            launch.end()
            raise SystemExit(f"no prediction within 120 s: {launch.output.read_text()[-3000:]}")
        return heard[0] - begin, launch

    rows = {}
    with tempfile.TemporaryDirectory() as place:
        seconds, launch = start(place)
        rows["`ros2 launch` to the first prediction, empty cache"] = ("<= 6 s", f"{seconds:.1f} s", seconds <= 6.0)
        until = time.monotonic() + 10.0
        while time.monotonic() < until:
            rclpy.spin_once(node, timeout_sec=0.05)
        memory = launch.pss()
        launch.end()
    for name, size in ((name, memory[name]) for name in NODES):
        rows[f"PSS of `{name}`, no `compile` step"] = ("<= 45 MiB", f"{size:.1f} MiB", size <= 45.0)
    total = sum(memory.values())
    linked = 255.0  # 255 to 264 on pocket_ros2, docs/nodes.md of 3567cd4
    bound = f"<= {linked:.0f} MiB, as linked by `compile` at 3567cd4"
    rows["PSS of all processes of the launch"] = (bound, f"{total:.0f} MiB", total <= linked)
    with tempfile.TemporaryDirectory() as place:
        seconds, launch = start(place, CC="/nowhere/gcc")
        launch.end()
        said = launch.output.read_text()
        rows["JetHexa without a compiler"] = ("works", f"first prediction after {seconds:.1f} s", "compil" not in said)
    node.destroy_node()
    rclpy.shutdown()
    rows |= measure_other_robot()
    return rows


MODEL = (
    "import time; begin = time.monotonic()\n"
    "import numpy as np\n"
    "from hexapod_dynamics.dynamics import WholeBodyModel\n"
    "from hexapod_dynamics.robot import Robot\n"
    f"robot = Robot.load({str(OTHER_ROBOT)!r}); model = WholeBodyModel(robot)\n"
    "model.mass_matrix(np.zeros(robot.joint_count)); print(time.monotonic() - begin)\n"
)


def measure_other_robot() -> dict[str, tuple[str, str, bool]]:
    """Rows of a robot whose model is not built with the package."""
    rows = {}
    with tempfile.TemporaryDirectory() as place:
        own = {"HEXAPOD_DYNAMICS_CACHE": place}
        for what, bound in (("once", 3.0), ("from then on", 3.0)):
            done = subprocess.run(
                [sys.executable, "-c", MODEL], env=os.environ | own, capture_output=True, text=True, check=True
            )
            seconds = float(done.stdout)
            rows[f"model of {OTHER_ROBOT.name}, {what}"] = (f"<= {bound:.0f} s", f"{seconds:.1f} s", seconds <= bound)
    with tempfile.TemporaryDirectory() as place:
        own = {"HEXAPOD_DYNAMICS_CACHE": place, "CC": "/nowhere/gcc"}
        command = [sys.executable, "-m", "hexapod_dynamics.tools.compile_model", "--robot", str(OTHER_ROBOT)]
        done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, check=False)
        lines = done.stderr.strip().splitlines()
        named = len(lines) == 1 and "sudo apt install gcc" in lines[0] and done.returncode != 0
        rows["another robot without a compiler"] = ("one line says what to install", f"{len(lines)} line", named)
    return rows


# Prints the size [MB] of all distributions that the named ones need, themselves included.
CLOSURE = """
import importlib.metadata as metadata, re, sys
found, left = {}, [re.match(r"[A-Za-z0-9._-]+", each)[0] for each in sys.argv[1:]]
while left:
    name = re.sub(r"[-_.]+", "-", left.pop()).lower()
    if name in found:
        continue
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:  # for another system or Python
        continue
    files = [file.locate() for file in distribution.files or ()]
    found[name] = sum(file.stat().st_size for file in files if file.is_file())
    needed = [each for each in distribution.requires or () if "extra ==" not in each]
    left += [re.match(r"[A-Za-z0-9._-]+", each)[0] for each in needed]
print(sum(found.values()) / 1e6)
"""


def measure_size(other: Path) -> dict[str, tuple[str, str, bool]]:
    """Rows of the environments of with_ros2: what its first command installs, by the files of all packages."""
    sizes = []
    for checkout, extras in ((ROOT, ("view", "sim")), (other, ("test",))):
        read = (
            "import json; from distutils.core import run_setup; p = run_setup('setup.py', stop_after='init'); "
            f"print(json.dumps([*p.install_requires, *(one for e in {extras!r} for one in p.extras_require[e])]))"
        )
        python = str(checkout / ".ros2_env" / "venv" / "bin" / "python")
        command = [python, "-c", f"import setuptools; {read}"]
        names = json.loads(subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True).stdout)
        command = [python, "-c", CLOSURE, *names, "pip", "cython", "colcon-core", "cyclonedds", "rosbags"]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
        sizes.append(float(done.stdout))
    smaller = sizes[1] - sizes[0]
    measured = f"{sizes[0]:.0f} MB, {smaller:.0f} less"
    return {"environment of `with_ros2`, first command": ("200 MB less than 3567cd4", measured, smaller >= 200)}


HEAD = """# Results: compiled code

The truth does not matter here: what is measured is time, memory and size. **Servo law**: the JetHexa's own.
"Commit" is the commit that was measured; what is compared with another one was measured in turns with 3567cd4, the
last with numba, in one run. The commands are those of `benchmark/native.py`; each writes its own rows. Times are what a
caller in Python pays.

| what | bound | measured | holds | command | commit |
|---|---|---|---|---|---|
"""


def write(rows: dict[str, tuple[str, str, bool]], command: str) -> None:
    """Replace the rows of a command in the table of the page."""
    kept = []
    if PAGE.exists():
        lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
        kept = [line for line in lines if f"| `{command}` |" not in line]
    commit = commit_of(ROOT)
    new = [
        f"| {what} | {bound} | {measured} | {'yes' if holds else 'NO'} | `{command}` | {commit} |"
        for what, (bound, measured, holds) in rows.items()
    ]
    PAGE.write_text(HEAD + "\n".join([*new, *kept]) + "\n")
    print("\n".join(new))


def main() -> None:
    """Measure, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["calls", "start", "size"])
    parser.add_argument("other", nargs="?", help="checkout of 3567cd4")
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    if given.what == "start":
        write(measure_start(), "start")
        return
    if not given.other:
        parser.error("the checkout of 3567cd4 is needed")
    other = Path(given.other).resolve()
    write(measure_calls(other, given.rounds) if given.what == "calls" else measure_size(other), given.what)


if __name__ == "__main__":
    main()
