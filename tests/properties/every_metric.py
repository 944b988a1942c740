"""Metrics for the property tests: one of each class, or all with the profile `thorough`."""

from __future__ import annotations

import pytest
from hypothesis import settings

from capeval.metrics import METRICS, Metric
from tests.spice_model import NEEDS_MODEL

__all__ = ["NAMES", "PARSING", "every_metric"]


def _get_names() -> list[str]:
    """Return the first name of each metric class; with the profile `thorough`, all names.

    Metrics that need files of the user are left out.
    """
    names = [name for name, make in METRICS.items() if not make().missing_options]
    if settings.get_current_profile_name() == "thorough":
        return names
    first: dict[type[Metric], str] = {}
    for name in names:
        first.setdefault(type(METRICS[name]()), name)
    return list(first.values())


NAMES = _get_names()
# SPICE's time grows with the cube of a sentence's length, and it needs a model.
PARSING = [name for name, make in METRICS.items() if make().docs_page == "spice"]
every_metric = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[NEEDS_MODEL] if name in PARSING else []) for name in NAMES]
)
