"""Warns where scores by private references tell much of single images: where each weighs much."""

from __future__ import annotations

from capeval_server.challenges.models import LEAST_SUBSET, Challenge, ReferenceSet

__all__ = ["LEAST_IMAGES", "small_groups", "unscored_subsets"]

# The fewest images of which scores by private references should be shown.
LEAST_IMAGES = LEAST_SUBSET


def small_groups(challenge: Challenge) -> list[tuple[str, int]]:
    """The images that private references score, all or a subset, where they are few; and how many."""
    found: dict[str, int] = {}
    for entry in _private(challenge):
        split = f"split {entry.split.name}"
        whole = split if entry.part is None else f"references {entry.name} of {split}"
        found[whole] = len(entry.image_ids)
        for name, images in entry.scored_subsets().items():
            group = f"subset {name} of {split}"
            found[group] = min(len(images), found.get(group, len(images)))
    return [(name, images) for name, images in found.items() if images < LEAST_IMAGES]


def unscored_subsets(challenge: Challenge) -> list[str]:
    """The subsets that get no scores by some private references, since they have too few images."""
    found = []
    for entry in _private(challenge):
        scored = entry.scored_subsets()
        for name in entry.split.subsets.order_by("pk").values_list("name", flat=True):
            if name not in scored:
                least = f"fewer than {entry.split.least_subset} images"
                found.append(f"subset {name} of split {entry.split.name} by references {entry.name}: {least}")
    return found


def _private(challenge: Challenge) -> list[ReferenceSet]:
    found = ReferenceSet.objects.filter(split__challenge=challenge, public=False)
    return list(found.select_related("split").order_by("split__name", "name"))
