"""Distributed scoring: partial results of shards that merge to exact scores.

The functions and classes are based on Arrow, without a dependency on an engine. The documentation describes
their use with engines such as Spark and Ray.
"""

from capeval.distributed.partial_frequencies import PartialFrequencies
from capeval.distributed.partial_sums import Sums
from capeval.distributed.statistics_table import build_report, build_statistics_table

__all__ = ["PartialFrequencies", "Sums", "build_report", "build_statistics_table"]
