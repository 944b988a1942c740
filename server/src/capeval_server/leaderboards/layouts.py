"""Layouts of leaderboards: the selections of columns, and their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from capeval_server.challenges.models import Split
from capeval_server.leaderboards.judgments import HumanScoreColumn

__all__ = [
    "LAYOUTS",
    "MEAN_RANK",
    "Layout",
    "LeaderboardColumn",
    "default_layout",
    "default_sort",
    "list_mean_rank_scores",
    "shows_all_images",
]

# Columns of a leaderboard: all scores of one subset (or of all images), one score of all images and of each
# subset, all scores of all images and of each subset, or those that the organizers chose.
Layout = Literal["scores", "subsets", "both", "chosen"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
MEAN_RANK = "Mean rank"
"""Column with the mean of a row's ranks by the scores that the organizers chose."""


@dataclass(frozen=True)
class LeaderboardColumn:
    """Score column of a leaderboard.

    Attributes:
        name: The name of the score, or the question of judgments.
        subset: The subset; empty for all images.
        label: The name of the column in JSON and CSV.
        references: The name of the reference set; empty for judgments.
        public: Whether all digits are public.
        judgment: The judgments of the column; None for a score, or if no release has them.
        is_mean_rank: Whether the values are mean ranks by other scores.
    """

    name: str
    subset: str
    label: str
    references: str = ""
    public: bool = True
    judgment: HumanScoreColumn | None = field(default=None, repr=False)
    is_mean_rank: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether people's judgments are the scores."""
        return not self.references


def shows_all_images(subset: str, layout: Layout) -> bool:
    """Return whether a layout can have columns of judgments and mean ranks, which are of all images.

    Args:
        subset: The subset of the leaderboard; empty for all images.
        layout: The layout. Columns that organizers chose stay when the rows are sorted by a subset.
    """
    return layout == "chosen" or (layout == "scores" and not subset)


def default_layout(split: Split, subset: str) -> Layout:
    """Return the layout of a split's leaderboards without a choice in the query."""
    return "chosen" if split.columns and not subset else "scores"


def default_sort(split: Split, subset: str, layout: Layout) -> str:
    """Return the value of `sort_by` of a split's leaderboards without a choice in the query."""
    return MEAN_RANK if not subset and list_mean_rank_scores(split, subset, layout) else split.sort_by


def list_mean_rank_scores(split: Split, subset: str = "", layout: Layout = "scores") -> list[str]:
    """Return the scores that the organizers chose for mean ranks; none for a layout without mean ranks."""
    return list(split.columns.get("mean_rank", ())) if shows_all_images(subset, layout) else []
