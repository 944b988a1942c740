"""Plans of pairs and triplets for annotators (CIDEr paper, sections 3 and 6)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.plan.compute import *  # noqa: F403 - the names in `__all__`.
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.plan.compute")
