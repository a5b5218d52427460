"""Parameters of the node `_walk_status`."""

from __future__ import annotations

from hexapod_dynamics.parameters.spec import ParameterSpec

PARAMETERS = (
    ParameterSpec("nodes", [""], "names of the nodes that should be there; one that is not is named"),
    ParameterSpec("colour", False, "print problems in yellow (warning) and red (error); set by the launch"),
)
