"""Polaris: ratings of captions by ten models (Wada et al. 2024)."""

from __future__ import annotations

from functools import partial

from capeval.studies.metric.benchmark_tables import load_table
from capeval.studies.metric.judgments import Description

__all__ = ["BENCHMARK"]

_FILE = "polaris_test.csv"
BENCHMARK = Description(
    name="polaris",
    title="Polaris",
    files=(_FILE,),
    load=partial(load_table, name=_FILE),
    measures=("tau-b", "tau-c"),
    protocol=(
        "each row of the test file is an observation, with the mean rating of its annotators",
        "document frequencies count references once per rated caption",
    ),
    is_verified=False,
    order=32,
)
