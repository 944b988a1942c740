"""Composite: ratings of captions of Flickr8k, Flickr30k and COCO (Aditya et al. 2015)."""

from __future__ import annotations

from functools import partial

from capeval.studies.metric.benchmark_tables import load_table
from capeval.studies.metric.judgments import Description

__all__ = ["BENCHMARK"]

_FILE = "en_test_composite_da2.csv"
BENCHMARK = Description(
    name="composite",
    title="Composite",
    files=(_FILE,),
    load=partial(load_table, name=_FILE),
    measures=("tau-b", "tau-c"),
    protocol=(
        "each row of the file is an observation, and its list of references is used as it is",
        "document frequencies count references once per rated caption",
    ),
    is_verified=False,
    order=30,
)
