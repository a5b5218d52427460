"""Parameters of the node `view`."""

from __future__ import annotations

from hexapod_dynamics.parameters.spec import ParameterSpec

PARAMETERS = (
    ParameterSpec("port", 8080, "port of the page, 0: any free one; `view_port:=` of the launch file", 0, 65535),
    ParameterSpec("host", "127.0.0.1", "address to serve on; 0.0.0.0: to the whole network, see safety.md"),
    ParameterSpec(
        "names",
        [""],
        "further addresses by which the page may be opened, as robot.local, or localhost:9000 of a forwarded port",
    ),
    ParameterSpec("rate", 25.0, "pictures a second", 1.0, 60.0),
)
