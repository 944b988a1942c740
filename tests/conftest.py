"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# Shared machines are slow at times, and a slow example is no failure.
# The same examples in every run: a change is judged by what it changed. `thorough`, which is part of
# `make conformance`, tries new ones.
settings.register_profile(
    "capeval",
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", parent=settings.get_profile("capeval"), max_examples=100, derandomize=False
)
settings.load_profile("capeval")
