"""Ranks of references by metrics (CIDEr paper, section 8, appendices II and IV)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.ranking.compute import BATCH as BATCH
    from capeval.studies.ranking.compute import PAPER_RANKERS as PAPER_RANKERS
    from capeval.studies.ranking.compute import RankCorrelation as RankCorrelation
    from capeval.studies.ranking.compute import Ranking as Ranking
    from capeval.studies.ranking.compute import paper_correlations as paper_correlations
    from capeval.studies.ranking.compute import rank_correlation as rank_correlation
    from capeval.studies.ranking.compute import rank_references as rank_references
    from capeval.studies.ranking.compute import ranked as ranked
    from capeval.studies.ranking.compute import ranks as ranks
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.ranking.compute")
