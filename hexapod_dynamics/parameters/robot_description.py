"""Parameters of the node `robot_description`."""

from __future__ import annotations

from hexapod_dynamics.parameters.spec import ParameterSpec

PARAMETERS = (
    ParameterSpec("rate", 50.0, "tf messages [1/s]", low=1.0, high=200.0),
    ParameterSpec("predicted", True, "also publish the predicted joints under predicted/"),
)
