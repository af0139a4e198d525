"""How Hypothesis looks for examples.

The default is the same examples every time; ``--hypothesis-profile=thorough`` looks for many more, at random.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Drawing an array takes longer than drawing a number, and compiling a kernel much longer.
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "steady", derandomize=True, database=None, deadline=None, max_examples=300, suppress_health_check=SLOW
)
settings.register_profile("thorough", deadline=None, max_examples=5000, suppress_health_check=SLOW)
settings.load_profile("steady")
