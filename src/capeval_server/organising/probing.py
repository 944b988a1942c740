"""Warns where scores by private references tell much of single images: where each weighs much."""

from __future__ import annotations

from capeval_server.challenges.models import Challenge

__all__ = ["LEAST_IMAGES", "small_groups"]

# The fewest images of which scores by private references should be shown.
LEAST_IMAGES = 100


def small_groups(challenge: Challenge) -> list[tuple[str, int]]:
    """The splits with private references, and their subsets, that have few images; and how many."""
    private = challenge.splits.filter(reference_sets__public=False).distinct().order_by("name")
    found = []
    for split in private.prefetch_related("subsets", "reference_sets"):
        groups = [(f"split {split.name}", split.image_ids)]
        groups += [
            (f"references {entry.name} of split {split.name}", entry.part)
            for entry in split.reference_sets.all()
            if entry.part is not None and not entry.public
        ]
        subsets = sorted(split.subsets.all(), key=lambda subset: subset.name)
        groups += [(f"subset {subset.name} of split {split.name}", subset.image_ids) for subset in subsets]
        found += [(name, len(images)) for name, images in groups if len(images) < LEAST_IMAGES]
    return found
