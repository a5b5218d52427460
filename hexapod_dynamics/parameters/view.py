"""Parameters of the node `view`."""

from __future__ import annotations

from hexapod_dynamics.parameters.spec import ParameterSpec

PARAMETERS = (
    ParameterSpec("port", 8080, "port of the web page", low=1, high=65535),
    ParameterSpec("host", "127.0.0.1", "address to serve on; 0.0.0.0: to the whole network"),
    ParameterSpec("rate", 25.0, "pictures a second", low=1.0, high=60.0),
)
