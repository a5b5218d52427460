"""`import hexapod_dynamics.learning` registers the environments of Gymnasium that are defined in `bench.learning`."""

import hexapod_dynamics.bench.learning  # noqa: F401
