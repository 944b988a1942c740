"""Caption length in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from capeval import Length
from capeval.metrics import Metric
from tests.twins.scoring import Scored, means
from tests.twins.text import words


def _length(metric: Metric, references: Sequence[Sequence[str]], candidates: Sequence[str]) -> Scored:
    return means([[float(len(words(candidate)))] for candidate in candidates])


TWINS = {Length: _length}
CASES = [Length()]
