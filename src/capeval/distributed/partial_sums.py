"""Partial sums of statistics, which merge to the sums and scores of all images."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from capeval.data.scores import Digest, FloatArray, Signature
from capeval.distributed.arrow_tables import import_pyarrow, numbers, read_table, wrong
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_names
from capeval.metrics.base import Metric, format_counts
from capeval.metrics.registry import CLASSES, list_metric_keys

if TYPE_CHECKING:
    import pyarrow as pa

    from capeval.scoring.report import Report

__all__ = ["Sums", "format_mergeable_fields", "get_mergeable_fields"]

_WHAT = "sums"
_COLUMNS = {
    "images": "int64",
    "references_least": "int64",
    "references_most": "int64",
    "digest": "int64",
    "sums": "list<double>",
    "scored": "string",
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Sums:
    """The summed statistics of a part of the images, sufficient for corpus scores.

    Sums of disjoint parts add up to the sums of all images, and so do the numbers of images and the digests
    in their signatures. Sums are small and can be pickled. They contain neither captions nor document
    frequencies.

    Attributes:
        metrics: The metrics with only their options, without data such as document frequencies.
        signatures: The signature of each metric's scores, by the metric's key.
        statistics: The sum of each metric's rows of statistics.

    Example:
        In the first shard, 2 of 3 words match; in the second, 5 of 6 words:

        >>> from capeval import Tokenizer, evaluate
        >>> from capeval.distributed import Sums
        >>> def score(references, candidates):
        ...     report = evaluate(references, candidates, ["BLEU"], tokenizer=Tokenizer(context="caption"))
        ...     return Sums.of(report)
        >>> first = score({1: ["A dog runs."]}, {1: "A dog sits."})
        >>> second = score({2: ["Two cats sleep on a bed."]}, {2: "Two cats sleep on the bed."})
        >>> total = first + second
        >>> total.images, round(total.corpus["BLEU-1"], 3)
        (2, 0.778)
    """

    metrics: tuple[Metric, ...]
    signatures: Mapping[str, Signature]
    statistics: tuple[FloatArray, ...]

    @classmethod
    def of(cls, report: Report) -> Self:
        """Return the sums of the images of a report."""
        return cls(
            metrics=tuple(_strip_data(metric) for metric, _ in report.scores),
            # A digest that was not computed yet would keep the captions in memory.
            signatures={
                key: replace(signature, digest=Digest.of_total(signature.digest.total))
                for key, signature in report.signatures.items()
            },
            statistics=tuple(scores.statistics.sum(axis=0) for _, scores in report.scores),
        )

    def __repr__(self) -> str:
        names = ", ".join(name for metric in self.metrics for name in metric.names)
        return f"<Sums: {self.images:,} images, {names}>"

    @property
    def images(self) -> int:
        """The number of images."""
        return self._one.images

    @property
    def corpus(self) -> dict[str, float]:
        """The corpus score by name."""
        return {
            name: score
            for metric, sums in zip(self.metrics, self.statistics, strict=True)
            for name, score in zip(metric.names, metric.aggregate(sums).tolist(), strict=True)
        }

    @property
    def _one(self) -> Signature:
        return next(iter(self.signatures.values()))

    def __add__(self, other: object) -> Self:
        """Return the sums of both parts, which must be disjoint.

        Raises:
            MismatchError: The parts have different metrics, options, tokenizers, document frequencies or
                versions; or a metric uses document frequencies of the references, which differ between parts.
        """
        if not isinstance(other, Sums):
            return NotImplemented
        if self.signatures.keys() != other.signatures.keys():
            mine, theirs = (format_names(list(each.signatures)) for each in (self, other))
            raise MismatchError(f"added sums must have the same metrics (got {mine}, and {theirs})")
        added = {
            key: _add_signatures(key, one, other.signatures[key]) for key, one in self.signatures.items()
        }
        return replace(
            self,
            signatures=added,
            statistics=tuple(a + b for a, b in zip(self.statistics, other.statistics, strict=True)),
        )

    def __radd__(self, other: object) -> Self:
        # `sum` starts with 0.
        return self if other == 0 and isinstance(other, int) else NotImplemented

    def to_arrow(self) -> pa.Table:
        """Return a one-row table; tables of parts can be concatenated for `from_arrow`.

        Raises:
            DependencyError: pyarrow is not installed.
            OptionError: A metric is not registered, so it could not be created again.
        """
        pa = import_pyarrow(_WHAT)
        least, most = _parse_counts(self._one)
        values = (
            [self.images],
            [least],
            [most],
            [_to_signed(self._one.digest.total)],
            [np.concatenate(self.statistics)],
            [self._scored()],
        )
        schema = pa.schema(
            [
                *((name, pa.int64()) for name in ("images", "references_least", "references_most", "digest")),
                ("sums", pa.list_(pa.float64())),
                ("scored", pa.string()),
            ]
        )
        return pa.table(list(values), schema=schema)

    def _scored(self) -> str:
        """Return the metrics and signatures as JSON for `from_arrow`."""
        parts = []
        for metric, signature in zip(self.metrics, self.signatures.values(), strict=True):
            name = type(metric).__name__
            if CLASSES.get(name) is not type(metric):
                raise OptionError(f"metrics of sums in Arrow must be registered (got {name})")
            parts.append({"metric": name, "options": _get_options(metric), **get_mergeable_fields(signature)})
        return json.dumps(parts)

    @classmethod
    def from_arrow(cls, table: object) -> Self:
        """Return the sum of all rows of one or more concatenated tables of `to_arrow`.

        Args:
            table: An Arrow table or record batch, a pandas data frame, or any object with an Arrow stream.

        Raises:
            DependencyError: pyarrow is not installed.
            FormatError: The table is invalid; the message names the place.
            MismatchError: Rows can't be added; see `+`.
        """
        read = read_table(table, _COLUMNS, _WHAT)
        if not len(read):
            raise wrong(f"{_WHAT} must have at least one row (got none)")
        first, *others = (cls._from_row(read.slice(row, 1), row) for row in range(len(read)))
        return sum(others, start=first)

    @classmethod
    def _from_row(cls, read: pa.Table, row: int) -> Self:
        cells = {name: read.column(name)[0].as_py() for name in _COLUMNS}
        try:
            parts = json.loads(cells["scored"])
            metrics = tuple(_create_metric(part["metric"], part["options"]) for part in parts)
            signatures = [
                Signature(
                    metric=part["family"],
                    options=tuple(part["signed"]),
                    tokenizer=part["tokenizer"],
                    images=cells["images"],
                    references=format_counts(cells["references_least"], cells["references_most"]),
                    digest=Digest.of_total(cells["digest"] % 2**64),
                    document_frequencies=part["document_frequencies"],
                    plugin=part["plugin"],
                    version=part["version"],
                )
                for part in parts
            ]
        except (ValueError, KeyError, TypeError, OptionError) as error:
            raise wrong(
                f"{_WHAT}: cannot read the metrics of row {row} ({error})", field="scored", row=row
            ) from None
        widths = [len(metric.statistics) for metric in metrics]
        chunk = read.column("sums").chunk(0)
        flat = numbers(chunk, sum(widths), "sums", f"{_WHAT}, row {row}")[0]
        return cls(
            metrics=metrics,
            signatures=dict(zip(list_metric_keys(metrics), signatures, strict=True)),
            statistics=tuple(np.split(flat, np.cumsum(widths)[:-1])),
        )


def get_mergeable_fields(signature: Signature) -> dict[str, Any]:
    """Return the signature fields that must match before sums are merged."""
    return {
        "family": signature.metric,
        "signed": list(signature.options),
        "tokenizer": signature.tokenizer,
        "document_frequencies": signature.document_frequencies,
        "plugin": signature.plugin,
        "version": signature.version,
    }


def format_mergeable_fields(signature: Signature) -> str:
    """Return the fields of `get_mergeable_fields` as one line, in the format of signatures."""
    frequencies = signature.document_frequencies
    parts = [signature.metric, *signature.options, f"tokenizer={signature.tokenizer}"]
    parts += [f"df={frequencies}"] * (frequencies is not None)
    parts += [f"plugin={signature.plugin}"] * (signature.plugin is not None)
    return "|".join([*parts, f"capeval={signature.version}"])


def _add_signatures(key: str, a: Signature, b: Signature) -> Signature:
    if get_mergeable_fields(a) != get_mergeable_fields(b):
        raise MismatchError(
            f"added sums of {key} must have the same metric, options, tokenizer, document frequencies,"
            f" plug-in and version (got {format_mergeable_fields(a)}, and {format_mergeable_fields(b)})"
        )
    if a.document_frequencies == "references":
        raise MismatchError(
            f"added sums of {key} must have the same document frequencies (got the frequencies of each part's"
            " references); count all references with PartialFrequencies, and pass the result to the metric"
        )
    ranges = zip(_parse_counts(a), _parse_counts(b), strict=True)
    least, most = (choose(pair) for choose, pair in zip((min, max), ranges, strict=True))
    return replace(
        a,
        images=a.images + b.images,
        references=format_counts(least, most),
        digest=Digest.of_total((a.digest.total + b.digest.total) % 2**64),
    )


def _parse_counts(signature: Signature) -> tuple[int, int]:
    """Return the smallest and the largest number of references per image."""
    least, _, most = signature.references.partition("-")
    return int(least), int(most or least)


def _to_signed(total: int) -> int:
    """Convert an unsigned 64-bit integer to a signed one, which all engines support."""
    return total - 2**64 if total >= 2**63 else total


def _is_option(field: Any) -> bool:
    return bool(field.metadata.get("option", True))


def _strip_data(metric: Metric) -> Metric:
    """Strip the metric of data that sums don't need, such as document frequencies."""
    if not is_dataclass(metric):
        return metric
    data = [field for field in fields(metric) if not _is_option(field) and field.default is not MISSING]
    return replace(metric, **{field.name: field.default for field in data})


def _get_options(metric: Metric) -> dict[str, Any]:
    wanted = {field.name for field in fields(metric) if _is_option(field)}  # type: ignore[arg-type]
    return {name: value for name, value in asdict(metric).items() if name in wanted}  # type: ignore[call-overload]


def _create_metric(name: str, options: Mapping[str, Any]) -> Metric:
    if name not in CLASSES:
        raise OptionError(f"unknown metric {name!r}")
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    return CLASSES[name](**given)
