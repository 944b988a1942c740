"""The statistics of each image as a table, and the report that such tables make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from capeval.data.captions import ImageId
from capeval.data.scores import Digest, FloatArray, Signature
from capeval.distributed.arrow_tables import arrow, lists, numbers, read_table, wrong
from capeval.distributed.partial_sums import alike, described
from capeval.errors import MismatchError
from capeval.metrics.base import Metric, scores_from, signature_from
from capeval.metrics.registry import DEFAULT, metric_keys, resolve
from capeval.scoring.report import Report, report_from
from capeval.tokenizers import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column_names", "report_of", "statistics"]

_WHAT = "a table of statistics"


def statistics(report: Report) -> pa.Table:
    """The numbers of each image that add up to the corpus scores: a row an image.

    The columns are `image_id`; for each metric the list of its statistics, such as `bleu` and `cider_d`;
    `references`, how many the image has; `digest`, a fingerprint of the image and its references; and
    `settings`, one of the metrics with their options, document frequencies and tokenizer. Every engine takes
    such names and types. Tables of parts can be put one below the other, for `report_of`.

    Args:
        report: The scores of a part of the images.

    Raises:
        DependencyError: pyarrow is not installed.
    """
    pa = arrow(_WHAT)
    signatures = list(report.signatures.values())
    digest = signatures[0].digest
    settings = np.full(len(report.image_ids), _settings(signatures), dtype=np.int64)
    columns = {"image_id": pa.array(report.image_ids)}
    for name, (_, scores) in zip(
        column_names([metric for metric, _ in report.scores]), report.scores, strict=True
    ):
        columns[name] = lists(scores.statistics)
    columns["references"] = pa.array(digest.counts.astype(np.int64))
    columns["digest"] = pa.array(digest.fingerprints.view(np.int64))
    columns["settings"] = pa.array(settings)
    return pa.table(columns)


def report_of(
    table: object, metrics: Iterable[str | Metric] = DEFAULT, *, tokenizer: Tokenizer | None = None
) -> Report:
    """The report of the images of a table that `statistics` made, or of several below each other.

    Args:
        table: A table or batch of Arrow, a data frame of pandas, or anything with an Arrow stream; of all
            images or of some, in any order.
        metrics: The metrics that the table was made with, with their options and document frequencies.
        tokenizer: The tokenizer that it was made with.

    Raises:
        DependencyError: pyarrow is not installed.
        FormatError: The table is something else; the message says where.
        MismatchError: It was made with other metrics, options, document frequencies, another tokenizer or
            version, or has an image twice.
        OptionError: A metric is not known, or given twice.
    """
    resolved = resolve(metrics)
    names = column_names(resolved)
    types = {"image_id": "any", **dict.fromkeys(names, "list<double>")}
    types |= dict.fromkeys(("references", "digest", "settings"), "int64")
    read = read_table(table, types, _WHAT)
    if not len(read):
        raise wrong(f"{_WHAT} must have at least one row (got none)")
    counts, digests, settings = (
        read.column(name).to_numpy() for name in ("references", "digest", "settings")
    )
    digest = Digest.of_images(digests.view(np.uint64), counts)
    least, most = int(counts.min()), int(counts.max())
    signatures = [
        signature_from(metric, tokenizer or Tokenizer(), digest, len(counts), (least, most))
        for metric in resolved
    ]
    _check_settings(settings, signatures)
    image_ids = tuple(read.column("image_id").to_pylist())
    _check_images(image_ids)
    rows: list[FloatArray] = [
        numbers(read.column(name).chunk(0), len(metric.statistics), name, _WHAT)
        for name, metric in zip(names, resolved, strict=True)
    ]
    scores = [
        (metric, scores_from(metric, of_metric, image_ids, signature))
        for metric, of_metric, signature in zip(resolved, rows, signatures, strict=True)
    ]
    return report_from(image_ids, tuple(scores))


def column_names(metrics: Sequence[Metric]) -> list[str]:
    """The column of each metric: its key in letters that every engine takes."""
    return [re.sub(r"[^a-z0-9]+", "_", key.lower()) for key in metric_keys(metrics)]


def _settings(signatures: list[Signature]) -> int:
    """A fingerprint of what rows must have in common to be of one report."""
    parts = []
    for signature in signatures:
        # Document frequencies of the references are others in each part.
        own = signature.document_frequencies == "references"
        parts.append({**alike(signature), "references": signature.digest.total if own else None})
    return int.from_bytes(blake2b(json.dumps(parts).encode(), digest_size=8).digest(), signed=True)


def _check_settings(settings: FloatArray, signatures: list[Signature]) -> None:
    other = np.flatnonzero(settings != _settings(signatures))
    if other.size:
        expected = ", and ".join(described(signature) for signature in signatures)
        raise MismatchError(
            f"{_WHAT} must be made with {expected} (row {other[0]} was made with something else; document"
            " frequencies of the references are others in each part)"
        )


def _check_images(image_ids: tuple[ImageId, ...]) -> None:
    first: dict[ImageId, int] = {}
    for row, image in enumerate(image_ids):
        if first.setdefault(image, row) != row:
            raise MismatchError(
                f"{_WHAT} must have each image once (got {image!r} in rows {first[image]} and {row})"
            )
