"""Agreement of metrics with human judgments of pairs (CIDEr paper, sections 3, 6 and 7)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.consensus.compute import ClassAgreement as ClassAgreement
    from capeval.studies.consensus.compute import ConsensusOptions as ConsensusOptions
    from capeval.studies.consensus.compute import ConsensusStudy as ConsensusStudy
    from capeval.studies.consensus.compute import SplitHalf as SplitHalf
    from capeval.studies.consensus.compute import SystemWins as SystemWins
    from capeval.studies.consensus.compute import accuracy_by_references as accuracy_by_references
    from capeval.studies.consensus.compute import fraction_of_wins as fraction_of_wins
    from capeval.studies.consensus.compute import judged_twice as judged_twice
    from capeval.studies.consensus.compute import pearson as pearson
    from capeval.studies.consensus.compute import split_half as split_half
    from capeval.studies.consensus.compute import split_halves as split_halves
    from capeval.studies.consensus.compute import study_abstract50s as study_abstract50s
    from capeval.studies.consensus.compute import study_pascal50s as study_pascal50s
    from capeval.studies.consensus.compute import study_plan as study_plan
    from capeval.studies.consensus.compute import with_references as with_references
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.consensus.compute")
