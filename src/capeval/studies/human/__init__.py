"""Human performance (COCO Captions, section 4.1 and Table 1)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.human.compute import *  # noqa: F403 - the names in `__all__`.
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.human.compute")
