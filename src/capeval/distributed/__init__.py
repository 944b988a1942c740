"""Exact scores of parts: counts and sums of parts of the images, which add up to those of the whole.

Plain functions and classes on Arrow. Engines such as Spark and Ray are in the documents, not here.
"""

from capeval.distributed.partial_frequencies import PartialFrequencies
from capeval.distributed.partial_sums import Sums
from capeval.distributed.statistics_table import report_of, statistics

__all__ = ["PartialFrequencies", "Sums", "report_of", "statistics"]
