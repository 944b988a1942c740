"""Tables of per-image statistics, and reports from such tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from capeval.data.captions import ImageId
from capeval.data.scores import Digest, FloatArray, Signature
from capeval.distributed.arrow_tables import import_pyarrow, lists, numbers, read_table, wrong
from capeval.distributed.partial_sums import format_mergeable_fields, get_mergeable_fields
from capeval.errors import MismatchError
from capeval.metrics.base import Metric, create_scores, create_signature
from capeval.metrics.registry import DEFAULT, list_metric_keys, resolve
from capeval.scoring.report import Report, create_report
from capeval.tokenizers import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["build_report", "build_statistics_table", "column_names"]

_WHAT = "a table of statistics"


def build_statistics_table(report: Report) -> pa.Table:
    """Return the statistics that add up to the corpus scores: one row per image.

    The columns are `image_id`; the list of each metric's statistics, such as `bleu` and `cider_d`;
    `references`, the number of references; `digest`, a fingerprint of the image and its references; and
    `settings`, a fingerprint of the metrics with their options, document frequencies and tokenizer. All
    engines support these names and types. Tables of parts can be concatenated for `build_report`.

    Args:
        report: The scores of a part of the images.

    Raises:
        DependencyError: pyarrow is not installed.

    Example:
        The statistics of ROUGE-L are its score and the number of images:

        >>> from capeval import evaluate
        >>> from capeval.distributed import build_statistics_table
        >>> report = evaluate({1: ["A dog runs."]}, {1: "A dog sits."}, ["ROUGE-L"])
        >>> table = build_statistics_table(report)
        >>> table.column_names
        ['image_id', 'rouge_l', 'references', 'digest', 'settings']
        >>> [[round(value, 3) for value in row] for row in table["rouge_l"].to_pylist()]
        [[0.667, 1.0]]
    """
    pa = import_pyarrow(_WHAT)
    signatures = list(report.signatures.values())
    digest = signatures[0].digest
    settings = np.full(len(report.image_ids), _fingerprint_settings(signatures), dtype=np.int64)
    columns = {"image_id": pa.array(report.image_ids)}
    for name, (_, scores) in zip(
        column_names([metric for metric, _ in report.scores]), report.scores, strict=True
    ):
        columns[name] = lists(scores.statistics)
    columns["references"] = pa.array(digest.counts.astype(np.int64))
    columns["digest"] = pa.array(digest.fingerprints.view(np.int64))
    columns["settings"] = pa.array(settings)
    return pa.table(columns)


def build_report(
    table: object, metrics: Iterable[str | Metric] = DEFAULT, *, tokenizer: Tokenizer | None = None
) -> Report:
    """Return the report of one or more concatenated tables of `build_statistics_table`.

    Args:
        table: An Arrow table or record batch, a pandas data frame, or any object with an Arrow stream; with
            all images or some, in any order.
        metrics: The metrics of the table, with their options and document frequencies.
        tokenizer: The tokenizer of the table.

    Raises:
        DependencyError: pyarrow is not installed.
        FormatError: The table is invalid; the message names the place.
        MismatchError: The table has different metrics, options, document frequencies, tokenizer or version,
            or contains an image twice.
        OptionError: A metric is unknown, or occurs twice.

    Example:
        The scores of the two images are 2/3 and 1:

        >>> import pyarrow
        >>> from capeval import Tokenizer, evaluate
        >>> from capeval.distributed import build_report, build_statistics_table
        >>> tokenizer = Tokenizer(context="caption")
        >>> def build_table(references, candidates):
        ...     report = evaluate(references, candidates, ["ROUGE-L"], tokenizer=tokenizer)
        ...     return build_statistics_table(report)
        >>> first = build_table({1: ["A dog runs."]}, {1: "A dog sits."})
        >>> second = build_table({2: ["Two cats sleep."]}, {2: "Two cats sleep."})
        >>> report = build_report(pyarrow.concat_tables([first, second]), ["ROUGE-L"], tokenizer=tokenizer)
        >>> report.image_ids, round(report.corpus["ROUGE-L"], 3)
        ((1, 2), 0.833)
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
    digest = Digest.from_fingerprints(digests.view(np.uint64), counts)
    least, most = int(counts.min()), int(counts.max())
    signatures = [
        create_signature(metric, tokenizer or Tokenizer(), digest, len(counts), (least, most))
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
        (metric, create_scores(metric, of_metric, image_ids, signature))
        for metric, of_metric, signature in zip(resolved, rows, signatures, strict=True)
    ]
    return create_report(image_ids, tuple(scores))


def column_names(metrics: Sequence[Metric]) -> list[str]:
    """Return the column of each metric: its key in portable characters."""
    return [re.sub(r"[^a-z0-9]+", "_", key.lower()) for key in list_metric_keys(metrics)]


def _fingerprint_settings(signatures: list[Signature]) -> int:
    """Return a fingerprint of the settings that all rows of a report must share."""
    parts = []
    for signature in signatures:
        # Document frequencies of the references differ between parts.
        own = signature.document_frequencies == "references"
        parts.append(
            {**get_mergeable_fields(signature), "references": signature.digest.total if own else None}
        )
    return int.from_bytes(blake2b(json.dumps(parts).encode(), digest_size=8).digest(), signed=True)


def _check_settings(settings: FloatArray, signatures: list[Signature]) -> None:
    other = np.flatnonzero(settings != _fingerprint_settings(signatures))
    if other.size:
        expected = ", and ".join(format_mergeable_fields(signature) for signature in signatures)
        raise MismatchError(
            f"{_WHAT} must have the settings {expected} (got different ones in row {other[0]}); document"
            " frequencies of the references differ between parts"
        )


def _check_images(image_ids: tuple[ImageId, ...]) -> None:
    first: dict[ImageId, int] = {}
    for row, image in enumerate(image_ids):
        if first.setdefault(image, row) != row:
            raise MismatchError(
                f"{_WHAT}: duplicate image {image!r} in row {row} (first seen in row {first[image]})"
            )
