"""Diversity of captions and images (nocaps, section 3.2; image-level diversity)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.diversity.compute import *  # noqa: F403 - the names in `__all__`.
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.diversity.compute")
