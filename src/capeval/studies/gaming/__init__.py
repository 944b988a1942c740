"""Attacks on metrics: captions that raise a score without describing the image (CIDEr paper, section 8)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.gaming.compute import ATTACKS as ATTACKS
    from capeval.studies.gaming.compute import GAMED_METRICS as GAMED_METRICS
    from capeval.studies.gaming.compute import Attack as Attack
    from capeval.studies.gaming.compute import Gamed as Gamed
    from capeval.studies.gaming.compute import ReferenceCorpus as ReferenceCorpus
    from capeval.studies.gaming.compute import game as game
    from capeval.studies.gaming.compute import study_gaming as study_gaming
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.gaming.compute")
