"""What is no robot, gait or morphology is refused by the name of the argument, with a remedy."""

import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.onboard import Onboard
from hexapod_dynamics.onboard.simulation import OnboardSimulation
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.simulation import MujocoSimulator, Predictor, Simulator, simulate_many

GAITS = (TripodGait, AdaptiveGait)


@pytest.mark.parametrize("stranger", ["config/jethexa.yaml", None, WHOLE], ids=str)
@pytest.mark.parametrize(
    "make",
    [
        Morphology.whole,
        WholeBodyModel,
        Simulator,
        MujocoSimulator,
        Predictor,
        Observer,
        DamageDetector,
        *(lambda robot, kind=kind: kind().bind(robot) for kind in GAITS),
    ],
)
def test_what_is_no_robot_is_refused(make, stranger):
    with pytest.raises(HexapodError, match=r"robot: .* a Robot needed \(Robot.load"):
        make(stranger)


@pytest.mark.parametrize(
    "adopt",
    [
        lambda morphology: Simulator(ROBOT, morphology, gait=TripodGait()),
        Simulator(ROBOT).set_morphology,
        Predictor(ROBOT).set_morphology,
        Observer(ROBOT).set_morphology,
        DamageDetector(ROBOT).set_morphology,
        *(kind().bind(ROBOT).set_morphology for kind in GAITS),
    ],
)
def test_what_is_no_morphology_is_refused(adopt):
    with pytest.raises(HexapodError, match=r"morphology: 'RM' given, a Morphology needed .*Morphology.whole"):
        adopt("RM")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Simulator(ROBOT, gait="auto"), "gait: 'auto' given, a Gait needed .*make_gait"),
        (lambda: Simulator(ROBOT, gait=TripodGait), "gait: .*class.* a Gait needed"),
        (lambda: simulate_many(ROBOT, [WHOLE], 0.1, gait="auto"), "gait: 'auto' given"),
        (lambda: Simulator(ROBOT, truth="servos=real"), "truth: .* a Truth needed"),
        (lambda: Simulator(ROBOT, ground="flat"), "ground: .* a Ground needed"),
        (lambda: Simulator(ROBOT).command_joint(18, 0.1, 0.1), "joint: 18 given"),
        (lambda: Simulator(ROBOT).command_joint(-1, 0.1, 0.1), "joint: -1 given"),
        (lambda: Simulator(ROBOT).load_joint("tibia_joint_LF", False), "joint: 'tibia_joint_LF' given"),
        (lambda: Simulator(ROBOT).command("stand", 0.1), "targets: 'stand'"),
        (lambda: OnboardSimulation("jethexa"), "onboard: .* an? Onboard needed"),
        (lambda: OnboardSimulation(Onboard(ROBOT), "bullet"), "physics: .*'bullet'.*mujoco"),
    ],
)
def test_what_else_is_of_another_kind_is_refused(make, named):
    with pytest.raises(HexapodError, match=named):
        make()
