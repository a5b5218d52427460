"""A robot with a morphology in a random state, and the same in Pinocchio."""

import numpy as np
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import FAMILIES, random_damage, random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology


class RandomCase:
    """Joints that do not move have no position (NaN): it must be ignored."""

    @classmethod
    def of_seed(cls, seed: int, damaged: Morphology | None = None) -> "RandomCase":
        """Seeds 0, 1: the JetHexa, whole and damaged (`damaged`, or at random); then damaged robots of every family."""
        rng = np.random.default_rng(seed)
        robot = ROBOT if seed < 2 else random_robot(rng, seed % len(FAMILIES), 4)
        hurt = damaged if seed == 1 and damaged is not None else None
        return cls(rng, WHOLE if seed == 0 else hurt or random_damage(rng, robot))

    def __init__(self, rng: np.random.Generator, morphology: Morphology) -> None:
        robot = morphology.robot
        self.rng, self.robot, self.morphology, self.model = rng, robot, morphology, WholeBodyModel(robot)
        self.n = len(self.model.joint_names(morphology))
        self.R, self.p, self.q = rotation(rng), rng.normal(size=3), rng.normal(size=robot.joint_count)
        self.q[~morphology.moving_mask] = np.nan
        self.nu, self.nudot = rng.normal(size=(2, 6 + self.n))
        self.tau = rng.normal(size=self.n)
        self.driven = morphology.driven_mask[morphology.moving_mask]
        # a limp joint's torque is zero, whatever tau says
        self.generalised = np.concatenate([np.zeros(6), np.where(self.driven, self.tau, 0.0)])
        self.state = self.R, self.q, self.nu
        self.peer = PinocchioRobot(morphology)
        self.peer_q = self.peer.configuration(self.R, self.q)
