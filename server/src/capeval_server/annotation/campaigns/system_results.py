"""Results files of systems as items: one table with pairs of their captions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath

from capeval.data.captions import ImageId
from capeval.errors import FormatError
from capeval.errors.messages import format_names
from capeval.formats import LIMIT, load_candidates
from capeval_server.annotation.campaigns.columns import list_parts
from capeval_server.annotation.task_types import TaskType
from capeval_server.annotation.task_types.judged_captions import JudgedCaptions
from capeval_server.core.errors import CampaignError

__all__ = ["can_pair_results", "pair_results"]

_PAIR = {"first", "second"}
# The time to choose the pairs of an image grows with the square of the number of systems.
_MOST_SYSTEMS = 20


def can_pair_results(task: TaskType) -> bool:
    """Return whether the captions of two systems, and their image, are an item of a task type."""
    return {part.name for part in list_parts(task) if part.is_required} - {"image"} == _PAIR


def pair_results(
    task: TaskType, files: Sequence[tuple[str, bytes]], *, limit: int = LIMIT
) -> tuple[str, bytes]:
    """Return the name and the content of a table with the pairs of captions of two or more systems.

    Each system is in one pair per image, and all pairs of systems are equally frequent. Equal captions are no
    pair. The name of a system is that of its file without the ending.

    Args:
        task: The task type of the items.
        files: Name and content of the results file of each system.
        limit: Maximum size of a decompressed file, in bytes.

    Raises:
        CampaignError: The task type does not compare pairs, there are too many files, a file is invalid, the
            names are not unique, or the files have captions of different images.
    """
    if not can_pair_results(task):
        raise CampaignError(
            f"campaign.items: a campaign of the task type {task.name} needs one file of items: it does"
            " not compare pairs of captions"
        )
    if len(files) > _MOST_SYSTEMS:
        raise CampaignError(f"at most {_MOST_SYSTEMS} systems can be compared (got {len(files)} files)")
    systems: dict[str, dict[ImageId, str]] = {}
    for name, data in files:
        system = PurePosixPath(name).name.partition(".")[0]
        if system in systems:
            raise CampaignError(f"the results of systems must have different file names (got {system} twice)")
        try:
            found = load_candidates(data, name=name, limit=limit)
        except FormatError as error:
            raise CampaignError(str(error)) from None
        systems[system] = {image: found[image][0] for image in found.image_ids}
    (first, images), *others = systems.items()
    for system, captions in others:
        if different := images.keys() ^ captions.keys():
            names = format_names(sorted(map(str, different)))
            raise CampaignError(
                f"{first} and {system} must have captions of the same images (only in one file: {names})"
            )
    judged = JudgedCaptions(systems=systems, references=dict.fromkeys(images, ()), pictures={})
    if not judged.pairs:
        raise CampaignError("there are no items, because all captions of the systems are equal")
    rows = (
        {
            "image_id": str(pair.image),
            "first": pair.first,
            "second": pair.second,
            "first_by": pair.first_by,
            "second_by": pair.second_by,
        }
        for pair in judged.pairs
    )
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    return f"{' and '.join(systems)}.jsonl", lines.encode()
