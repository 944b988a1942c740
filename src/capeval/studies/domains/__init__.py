"""Scores by domain (nocaps, section 3.3, Tables 2 and 3)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.domains.compute import *  # noqa: F403 - the names in `__all__`.
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.domains.compute")
