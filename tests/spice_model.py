"""SPICE's model, which tests of SPICE need and `make test-system` builds."""

import pytest

from capeval.errors import ResourceError
from capeval.metrics import METRICS
from capeval.resources.spice import RUN, load_model


def _is_here() -> bool:
    try:
        load_model()
    except ResourceError:
        return False
    return True


IS_HERE = _is_here()
NEEDS_MODEL = pytest.mark.skipif(not IS_HERE, reason=f"LEFT OUT: SPICE's model is not here: {RUN}")
# The names of all metrics that need no files of the user, for `pytest.mark.parametrize`.
METRIC_NAMES = [
    pytest.param(name, marks=[NEEDS_MODEL] if make().docs_page == "spice" else [])
    for name, make in METRICS.items()
    if not make().missing_options
]
