"""Correlation of metrics with human ratings."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.correlation.compute import Correlations as Correlations
    from capeval.studies.correlation.compute import CorrelationStudy as CorrelationStudy
    from capeval.studies.correlation.compute import RatedScores as RatedScores
    from capeval.studies.correlation.compute import correlate as correlate
    from capeval.studies.correlation.compute import score_ratings as score_ratings
    from capeval.studies.correlation.compute import study_correlation as study_correlation
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.correlation.compute")
