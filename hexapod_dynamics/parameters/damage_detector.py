"""Parameters of the node `damage_detector`."""

from __future__ import annotations

from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.parameters.spec import ParameterSpec

# Fields of DetectorSettings.
SETTINGS = (
    ParameterSpec(
        "declare",
        DetectorSettings.declare,
        "mean probability over half a second above which damage is declared",
        low=0.5,
        high=0.9999,
    ),
    ParameterSpec(
        "suspect", DetectorSettings.suspect, "probability above which damage is suspected", low=0.1, high=0.9999
    ),
    ParameterSpec(
        "silent_after",
        DetectorSettings.silent_after,
        "time without an answer after which a servo is silent [s]",
        low=0.1,
        high=2.0,
    ),
    ParameterSpec(
        "command_delay",
        DetectorSettings.command_delay,
        "from a command to the start of the servos [s]",
        low=0.0,
        high=0.2,
    ),
    ParameterSpec("timestep", DetectorSettings.timestep, "step of the model [s]", low=0.0005, high=0.005),
)
OWN = (
    ParameterSpec(
        "detect",
        "declare",
        "declare: call set_morphology; report: only publish the hypotheses",
        choices=("declare", "report"),
    ),
    ParameterSpec("rate", 25.0, "updates per second", low=5.0, high=100.0),
)
PARAMETERS = OWN + SETTINGS
