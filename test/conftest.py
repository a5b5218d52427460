"""Settings of all tests."""
from hypothesis import HealthCheck, settings

# How long an example takes tells of the machine, and of kernels compiled in the first one.
settings.register_profile('any machine', settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('any machine')
