"""Plans of pairs and triplets for annotators (CIDEr paper, sections 3 and 6)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.plan.compute import krippendorff_alpha as krippendorff_alpha
    from capeval.studies.plan.compute import majority as majority
    from capeval.studies.plan.compute import plan_pairs as plan_pairs
    from capeval.studies.plan.compute import plan_study as plan_study
    from capeval.studies.plan.compute import plan_triplets as plan_triplets
    from capeval.studies.plan.compute import winners as winners
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.plan.compute")
