"""Independent models for comparison, for tests and benchmarks.

Needs the packages of the extra `test` (Pinocchio, mpmath): pip install hexapod_dynamics[test].
"""
