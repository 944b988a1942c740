"""Nebula: ratings of captions by ten models (Matsuda et al. 2024)."""

from __future__ import annotations

from functools import partial

from capeval.studies.metric.benchmark_tables import load_table
from capeval.studies.metric.judgments import Description

__all__ = ["BENCHMARK"]

_FILE = "nebula_test.csv"
BENCHMARK = Description(
    name="nebula",
    title="Nebula",
    files=(_FILE,),
    load=partial(load_table, name=_FILE),
    measures=("tau-b", "tau-c"),
    protocol=(
        "each row of the test file is an observation, without the later corrections of its ratings",
        "document frequencies count references once per rated caption",
    ),
    is_verified=False,
    order=34,
)
