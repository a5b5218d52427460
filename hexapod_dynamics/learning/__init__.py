"""`import hexapod_dynamics.learning` registers the environments of Gymnasium; they lie in `bench.learning`."""

import hexapod_dynamics.bench.learning  # noqa: F401
