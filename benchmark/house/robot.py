"""Their checkout, imported from where it is, and their robot read from the MJCF that their code makes."""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from house.gait_joints import JointMap, with_gait_joints

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot, Servo

CLONE = "git clone https://github.com/Arjunsk1291/hexaheal"
LINKS = ("coxa", "femur", "tibia")
# The speed of a joint that plans may need [rad/s]. Their servo has none: it is a spring (8 N m/rad) whose set-point
# ends 0.5 to 0.8 rad from the middle, with 0.45 N m s/rad against it, so that 9 to 14 rad/s are possible.
SPEED = 10.0


@dataclass(frozen=True)
class House:
    """Their modules, their robot as ours, and how its joints count."""

    env: ModuleType
    scorer: ModuleType
    faults: ModuleType
    robot: Robot
    joints: JointMap
    version: str

    @property
    def legs(self) -> tuple[str, ...]:
        """Names of the legs, in the order of their numbers."""
        return tuple(self.robot.leg_names)

    def limp(self, legs: tuple[int, ...]) -> Morphology:
        """Return the morphology of a robot whose legs (their numbers) have no torque."""
        morphology = Morphology.whole(self.robot)
        for leg in legs:
            for link in LINKS:
                morphology = morphology.limp(f"{self.legs[leg]}.{link}")
        return morphology


def open_house(checkout: Path) -> House:
    """Import their code, unchanged, and read their robot; HexapodError where it is not there, with the remedy."""
    source = checkout / "src"
    if not (source / "neurowalker" / "hh_eval.py").is_file():
        raise HexapodError(f"no checkout of HexaHeal in {checkout}; make one: {CLONE} {checkout}")
    sys.path.insert(0, str(source))
    try:
        env, scorer, faults, maker = (
            importlib.import_module(f"neurowalker.{name}") for name in ("env", "hh_eval", "faults", "hexapod")
        )
    except ImportError as error:
        raise HexapodError(f"HexaHeal needs {error.name}: pip install mujoco gymnasium psutil cma") from error
    parameters = maker.HexapodParams()
    damping = parameters.kv + 0.05
    servo = Servo(parameters.kp, damping, parameters.torque_limit, SPEED, 1e-3)
    text = maker.generate_mjcf(parameters)
    read = Robot.from_mjcf(text, {name: f"{name}_coxa" for name in maker.LEG_NAMES}, servo=servo)
    robot, joints = with_gait_joints(read)
    return House(env, scorer, faults, robot, joints, _version(checkout))


def _version(checkout: Path) -> str:
    """Return their commit where git knows it, and how many of their files are those of their published experiment."""
    words = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    git = subprocess.run(words, capture_output=True, text=True, check=False)
    commit = git.stdout.strip() if (checkout / ".git").exists() else "no git history here"
    listed = checkout / "release" / "validation" / "experiment.json"
    digests = json.loads(listed.read_text())["inputs_sha256"] if listed.is_file() else {}
    present = [path for path in digests if (checkout / path).is_file()]
    other = [p for p in present if hashlib.sha256((checkout / p).read_bytes()).hexdigest() != digests[p]]
    return (
        f"{commit}; of {len(digests)} inputs of their published experiment {len(present) - len(other)} bit for bit, "
        f"{len(other)} in another version: {', '.join(Path(path).name for path in other) or 'none'}"
    )
