"""Diversity of captions and images (nocaps, section 3.2; image-level diversity)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.diversity.compute import COLLECTED as COLLECTED
    from capeval.studies.diversity.compute import ORDERS as ORDERS
    from capeval.studies.diversity.compute import Corpus as Corpus
    from capeval.studies.diversity.compute import Diversity as Diversity
    from capeval.studies.diversity.compute import ObjectCounts as ObjectCounts
    from capeval.studies.diversity.compute import count_objects as count_objects
    from capeval.studies.diversity.compute import diversity as diversity
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.diversity.compute")
