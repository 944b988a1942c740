"""The nocaps paper (Agrawal et al. 2019)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.nocaps_paper.compute import *  # noqa: F403 - the names in `__all__`.
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.nocaps_paper.compute")
