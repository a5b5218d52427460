"""Parameters of the node `damage_detector`."""

from __future__ import annotations

from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.onboard.damage_detection import DECLARE, REPORT
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD, GUARD
from hexapod_dynamics.parameters.spec import ParameterSpec, make_specs

MODE_TEXT = f"{DECLARE}: call set_morphology; {REPORT}: only publish the hypotheses"
PARAMETERS = (
    COMMAND_PERIOD,
    *GUARD,
    ParameterSpec("detect", DECLARE, MODE_TEXT, choices=(DECLARE, REPORT)),
    ParameterSpec("rate", 25.0, "updates per second", 5.0, 100.0),
    *make_specs(
        DetectorSettings,
        declare=("mean probability over half a second above which damage is declared", 0.5, 0.9999),
        suspect=("probability above which damage is suspected", 0.1, 0.9999),
        silent_after=("time without an answer after which a servo is silent [s]", 0.1, 2.0),
        command_delay=("from a command to the start of the servos [s]", 0.0, 0.2),
        timestep=("step of the model [s]", 0.0005, 0.005),
    ),
)
