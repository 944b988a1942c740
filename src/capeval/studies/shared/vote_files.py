"""Votes on a plan, read from files."""

from __future__ import annotations

from pathlib import Path

from capeval.formats.judgments.plans import get_plan_paths, load_pair_votes, load_pairs, load_plan, load_votes
from capeval.studies.votes import PlanVotes, count_pair_votes, count_votes

__all__ = ["read_pair_votes", "read_votes"]


def read_votes(plan: Path, votes: Path, *, complete_only: bool) -> PlanVotes:
    """Return the votes on the triplets of a plan folder."""
    planned = load_plan(*get_plan_paths(plan))
    return count_votes(planned, load_votes(votes, planned), complete_only=complete_only)


def read_pair_votes(
    plan: Path, votes: Path, *, judgments: int | None = None, complete_only: bool
) -> PlanVotes:
    """Return the votes on the pairs of a plan folder."""
    pairs = load_pairs(get_plan_paths(plan)[0])
    given = load_pair_votes(votes, pairs)
    return count_pair_votes(pairs, given, judgments=judgments, complete_only=complete_only)
