"""Scores by domain (nocaps, section 3.3, Tables 2 and 3)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.domains.compute import OVERALL as OVERALL
    from capeval.studies.domains.compute import DomainEvaluator as DomainEvaluator
    from capeval.studies.domains.compute import DomainScores as DomainScores
    from capeval.studies.domains.compute import DomainStudy as DomainStudy
    from capeval.studies.domains.compute import Frequencies as Frequencies
    from capeval.studies.domains.compute import study_domains as study_domains
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.domains.compute")
