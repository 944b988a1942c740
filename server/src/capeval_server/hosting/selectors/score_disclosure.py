"""Warnings about scores that reveal private references of single images.

Scores of few images do, because each image has a large weight.
"""

from __future__ import annotations

from capeval_server.challenges.models import LEAST_SUBSET, Challenge, ReferenceSet

__all__ = ["LEAST_IMAGES", "small_groups", "unscored_subsets"]

# Minimum number of images for which to show scores by private references.
LEAST_IMAGES = LEAST_SUBSET


def small_groups(challenge: Challenge) -> list[tuple[str, int]]:
    """Return the small image groups that private references score, with their sizes.

    A group is the images of all references, or a subset.
    """
    found: dict[str, int] = {}
    for entry in _list_private(challenge):
        split = f"split {entry.split.name}"
        whole = split if entry.part is None else f"references {entry.name} of {split}"
        found[whole] = len(entry.image_ids)
        for name, images in entry.scored_subsets().items():
            group = f"subset {name} of {split}"
            found[group] = min(len(images), found.get(group, len(images)))
    return [(name, images) for name, images in found.items() if images < LEAST_IMAGES]


def unscored_subsets(challenge: Challenge) -> list[str]:
    """Return the subsets that are too small to be scored by some private references."""
    found = []
    for entry in _list_private(challenge):
        scored = entry.scored_subsets()
        for name in entry.split.subsets.order_by("pk").values_list("name", flat=True):
            if name not in scored:
                least = f"fewer than {entry.split.least_subset} images"
                found.append(f"subset {name} of split {entry.split.name} by references {entry.name}: {least}")
    return found


def _list_private(challenge: Challenge) -> list[ReferenceSet]:
    found = ReferenceSet.objects.filter(split__challenge=challenge, public=False)
    return list(found.select_related("split").order_by("split__name", "name"))
