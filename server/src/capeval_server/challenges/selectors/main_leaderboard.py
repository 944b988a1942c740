"""Main leaderboard of a phase: its split and its reference set."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from capeval_server.challenges.models import Phase, ReferenceSet, Split

__all__ = ["get_main", "sort_sets"]


def get_main(phase: Phase, splits: Iterable[Split]) -> tuple[Split, ReferenceSet] | None:
    """Return the split and the reference set of the main leaderboard, or None without reference sets.

    Without a setting, it is the split with the name of the phase, or else the first private references:
    those of the images that teams are ranked by, and not those for development.

    Args:
        phase: The phase.
        splits: Its splits, in order.
    """
    sets = [(split, references) for split in splits for references in sort_sets(split)]
    rules: tuple[Callable[[Split, ReferenceSet], bool], ...] = (
        lambda _, references: references.pk == phase.main_id,
        lambda split, _: split.name == phase.name,
        lambda _, references: not references.public,
    )
    for rule in rules:
        for split, references in sets:
            if rule(split, references):
                return split, references
    return sets[0] if sets else None


def sort_sets(split: Split) -> list[ReferenceSet]:
    """Return the reference sets of a split in order, without a query if they were prefetched."""
    return sorted(split.reference_sets.all(), key=lambda one: one.pk)
