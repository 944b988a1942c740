"""Agreement of metrics with human judgments of pairs.

These are the experiments of the CIDEr paper, sections 3, 6 and 7.
"""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.consensus.compute import *  # noqa: F403 - the names in `__all__`.
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.consensus.compute")
