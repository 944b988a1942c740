"""Parts of a report: scores by name, footnotes and JSON-compatible contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from capeval.data.captions import ImageId
from capeval.data.scores import TIMES_100, FloatArray, Signature
from capeval.errors import UnscoredWarning
from capeval.formats.io.json import replace_nan
from capeval.metrics.base import Metric
from capeval.metrics.options import describe_options
from capeval.tokenizers import Tokenizer

if TYPE_CHECKING:
    from capeval.scoring.bootstrap import Interval

__all__ = [
    "count_images",
    "describe_references",
    "describe_scores",
    "describe_settings",
    "intervals_to_dict",
    "list_image_rows",
    "replace_all_nan",
    "signatures_to_dict",
    "unscored_to_dict",
]


def count_images(signatures: Mapping[str, Signature], image_ids: Sequence[ImageId]) -> int:
    """Return the number of images of a report, also of a shard's."""
    # Scores of shards have no rows, but their signatures contain the number of images.
    return next((signature.images for signature in signatures.values()), len(image_ids))


def describe_references(signature: Signature, source: str) -> str:
    """Return the footnote with the numbers of images and references, and the name of their source."""
    counts = signature.references.replace("-", " to ")
    references = "1 reference" if counts == "1" else f"{counts} references"
    images = "1 image" if signature.images == 1 else f"{signature.images:,} images"
    named = f" ({source})" if source else ""
    return f"{images}, {references} each{named}."


def describe_scores(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return the footnote on the names, directions and scale of scores, if there is anything to say."""
    # The notes are about the default options.
    described = [each for each in metrics if each.note and not describe_options(each)]
    notes = list(dict.fromkeys(each.note for each in described))
    lower = [
        name
        for each in metrics
        if each not in described and each.has_direction and not each.higher_is_better
        for name in each.names
    ]
    if lower:
        notes.append(f"Lower is better: {', '.join(lower)}.")
    scale = [TIMES_100] if any(each.citations for each in metrics) else []
    return tuple(filter(None, [" ".join([*notes, *scale])]))


def describe_settings(signatures: Sequence[Signature], metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return the footnotes on options, document frequencies and tokenizers that papers don't use."""
    notes = []
    if options := dict.fromkeys(each for each in map(describe_options, metrics) if each):
        notes.append(f"Not the default options: {', '.join(options)}.")
    sources = dict.fromkeys(each.document_frequencies for each in signatures)
    if others := [each for each in sources if each not in (None, "references", "uniform")]:
        notes.append(f"Document frequencies: {', '.join(map(str, others))}.")
    if not signatures[0].tokenizer.startswith(str(Tokenizer())):
        notes.append(f"Tokenizer: {signatures[0].tokenizer}.")
    return tuple(notes)


def list_image_rows(
    image_ids: Sequence[ImageId], per_image: Mapping[str, FloatArray]
) -> list[dict[str, Any]]:
    """Return the scores of each image, with None for NaN."""
    columns = {name: [replace_nan(each) for each in values.tolist()] for name, values in per_image.items()}
    return [
        {"image_id": image, **{name: values[row] for name, values in columns.items()}}
        for row, image in enumerate(image_ids)
    ]


def replace_all_nan(scores: Mapping[str, float]) -> dict[str, float | None]:
    """Return the scores with None for NaN."""
    return {name: replace_nan(score) for name, score in scores.items()}


def intervals_to_dict(intervals: Mapping[str, Interval]) -> dict[str, dict[str, Any]]:
    """Return the fields of each interval, with None for NaN."""
    return {name: replace_all_nan(asdict(each)) for name, each in intervals.items()}


def unscored_to_dict(unscored: Mapping[str, UnscoredWarning]) -> dict[str, dict[str, Any]]:
    """Return the unscored images and the reason, by metric."""
    return {name: {"images": list(each.images), "note": str(each)} for name, each in unscored.items()}


def signatures_to_dict(signatures: Mapping[str, Signature]) -> dict[str, dict[str, Any]]:
    """Return the parts of each signature, its digest and its text."""
    # Only signatures of metrics of other packages have a plug-in.
    return {
        name: {
            **{
                field.name: getattr(each, field.name)
                for field in fields(each)
                if field.name != "plugin" or each.plugin is not None
            },
            "digest": str(each.digest),
            "text": str(each),
        }
        for name, each in signatures.items()
    }
