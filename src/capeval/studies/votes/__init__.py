"""Votes on the triplets or pairs of a plan, their winners and agreement."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.votes.compute import LEVELS as LEVELS
    from capeval.studies.votes.compute import Incomplete as Incomplete
    from capeval.studies.votes.compute import PlanVotes as PlanVotes
    from capeval.studies.votes.compute import VoteAgreement as VoteAgreement
    from capeval.studies.votes.compute import WriterWins as WriterWins
    from capeval.studies.votes.compute import count_pair_votes as count_pair_votes
    from capeval.studies.votes.compute import count_votes as count_votes
    from capeval.studies.votes.compute import is_confident as is_confident
    from capeval.studies.votes.compute import is_decided as is_decided
    from capeval.studies.votes.compute import is_lead_confident as is_lead_confident
    from capeval.studies.votes.compute import is_lead_decided as is_lead_decided
    from capeval.studies.votes.compute import posterior as posterior
    from capeval.studies.votes.compute import votes_until_confident as votes_until_confident
    from capeval.studies.votes.compute import votes_until_decided as votes_until_decided
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.votes.compute")
