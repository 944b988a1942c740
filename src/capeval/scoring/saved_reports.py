"""Saved reports: the JSON of `Report.save` and `capeval score`, and the settings in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import product
from math import nan
from typing import Any, Self, get_args, get_type_hints

from capeval.data.captions import ImageId
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.formats.io.json import (
    IMAGE_ID,
    TEXT,
    Field,
    check_row,
    iterate_rows,
    raise_type_error,
    read_json,
)
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors, read_source
from capeval.metrics.base import Metric
from capeval.metrics.options import list_metric_options, parse_options
from capeval.metrics.registry import CLASSES
from capeval.scoring.significance import Interval
from capeval.scoring.subset_images import SubsetImages
from capeval.tokenizers import TOKENIZERS, Tokenizer

__all__ = ["SavedReport", "SavedSignature", "load_saved_reports"]

_HINT = "expected the JSON of `capeval score --format json` or of `Report.save`"
_OBJECT = Field("an object", lambda value: isinstance(value, dict))
_TEXTS = Field(
    "a list of strings", lambda value: isinstance(value, list | tuple) and all(map(TEXT.fits, value))
)
_COUNT = Field("an integer", lambda value: type(value) is int)
_SCORE = Field("a number or null", lambda value: value is None or type(value) in (int, float))
# Parts of reports that are not read.
_UNCOMPARED = {"replay": "Scores of the replay"}
# Fields of tokenizers that are not options of the default one.
_NOT_OF_PTB = ("kind", "function", "name", "batched")
# Fields of signatures that can be null, or missing in reports of earlier versions.
_OPTIONAL = {
    "images": _COUNT,
    "references": TEXT,
    "document_frequencies": TEXT,
    "seed": _COUNT,
    "plugin": TEXT,
    "version": TEXT,
}


@dataclass(frozen=True, kw_only=True)
class SavedSignature:
    """The signature of a metric's scores in a saved report.

    Attributes:
        metric: The metric's name.
        options: Its options, each as `name=value`.
        tokenizer: The tokenizer and its options.
        digest: The fingerprint of the references.
        images: The number of images; None if the report does not contain it.
        references: The number of references per image, such as `5`; None if the report does not contain it.
        document_frequencies: The source of document frequencies, for metrics that use them.
        seed: The seed, for scores that depend on random draws.
        plugin: The package and version, or the file and fingerprint, of a metric that is not capeval's.
        version: The version of capeval; None if the report does not contain it.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.saved_reports import SavedReport
        >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
        >>> signature = SavedReport.from_json(report.to_dict()).signatures["ROUGE-1"]
        >>> signature.options, signature.restore_metric()
        (('n=1',), RougeN(n=1))
    """

    metric: str
    options: tuple[str, ...]
    tokenizer: str
    digest: str
    images: int | None = None
    references: str | None = None
    document_frequencies: str | None = None
    seed: int | None = None
    plugin: str | None = None
    version: str | None = None

    @classmethod
    def from_json(cls, content: object, entry: str) -> Self:
        """Read a signature; unknown fields are ignored.

        Raises:
            FormatError: A field is missing or has the wrong type.
        """
        row = check_row(
            content, entry, {"metric": TEXT, "options": _TEXTS, "tokenizer": TEXT, "digest": TEXT}
        )
        known = {each.name: row[each.name] for each in fields(cls) if row.get(each.name) is not None}
        check_row(row, entry, {name: kind for name, kind in _OPTIONAL.items() if name in known})
        return cls(**{**known, "options": tuple(row["options"])})

    def restore_metric(self) -> Metric:
        """Return the metric with the options of the signature.

        Raises:
            OptionError: capeval has no such metric or option, or its document frequencies are those of
                another corpus, which the signature names only.
        """
        classes = [each for each in CLASSES.values() if self.metric in (each.family, *each.former_families)]
        if not classes:
            source = f" of {self.plugin}" if self.plugin is not None else ""
            raise OptionError(
                f"the report has the metric {self.metric!r}{source}, which is not registered here; install"
                " the package that registers it"
            )
        options = dict(option.partition("=")[::2] for option in self.options)
        try:
            metric = classes[0](**_parse_saved_options(classes[0], options))
        except OptionError as error:
            raise OptionError(f"the report's options of {self.metric}: {error}") from None
        if self.document_frequencies in (None, metric.document_frequencies):
            return metric
        return _restore_frequencies(metric, str(self.document_frequencies))

    @property
    def needs_corpus(self) -> bool:
        """Whether the document frequencies are those of another corpus, with a fingerprint."""
        return self.document_frequencies is not None and ":" in self.document_frequencies


def _parse_saved_options(metric: type[Metric], options: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of options in a signature, which can include fields that are not options on input."""
    known = list_metric_options(metric)
    others: dict[str, int] = {}
    for each in fields(metric):  # type: ignore[arg-type]
        if each.name not in known and type(each.default) is int and each.name in options:
            try:
                others[each.name] = int(options[each.name])
            except ValueError:
                got = options[each.name]
                raise OptionError(f"the report's {each.name!r} must be an integer (got {got!r})") from None
    rest = {name: text for name, text in options.items() if name not in others}
    for name, text in rest.items():
        if name in known and known[name].type == "file" and text != "None":
            raise OptionError(
                f"{name!r} is the file {text}, whose content a report does not have; score with it again"
                " and compare the signatures"
            )
    return {**others, **parse_options(metric, rest)}


def _restore_frequencies(metric: Metric, source: str) -> Metric:
    """Return a copy with a named source of document frequencies, such as `uniform`.

    A metric with frequencies of another corpus is returned unchanged: its corpus is set by the caller.
    """
    if ":" in source:
        return metric
    named = {
        each.name: source
        for each in fields(metric)  # type: ignore[arg-type]
        if getattr(metric, each.name) == metric.document_frequencies
    }
    return replace(metric, **named)  # type: ignore[type-var]


@dataclass(frozen=True, kw_only=True)
class SavedReport:
    """A saved report of one system.

    Attributes:
        system: The name of the system; empty if the report does not contain it.
        images: The number of images.
        metrics: The corpus scores by name. A score without a value, `null` in JSON, is NaN.
        signatures: The signature of each metric, by the metric's key.
        subsets: The scores of each subset of the images, by subset and name.
        intervals: The bootstrap interval of each score, by name.
        subset_images: The number and a fingerprint of each subset's images; empty in reports of earlier
            versions.
        subset_intervals: The bootstrap intervals of each subset's scores, by subset and name.
        per_image: The scores of each image by name; empty if they were not saved.
        candidates_digest: The fingerprint of the candidates; None in reports of earlier versions and shards.
        resources: The fingerprint of each resource that the metrics used, by its name.
        benchmark: The name of the benchmark; empty if the references are those of a file.
        uncompared: Parts of the report that are not read, such as the scores of a replay.
        skips_missing: Whether images without candidate were skipped.
        skips_extra: Whether candidates without references were skipped.
        incomplete_systems: The names of the systems without result for some of the images that were skipped,
            if several systems were scored.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.saved_reports import SavedReport
        >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
        >>> saved = SavedReport.from_json(report.to_dict())
        >>> saved.metrics, saved.restore_metrics()
        ({'ROUGE-1': 0.75}, (RougeN(n=1),))
    """

    system: str = ""
    images: int
    metrics: Mapping[str, float]
    signatures: Mapping[str, SavedSignature]
    subsets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    subset_images: Mapping[str, SubsetImages] = field(default_factory=dict)
    subset_intervals: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    per_image: Mapping[ImageId, Mapping[str, float]] = field(default_factory=dict)
    candidates_digest: str | None = None
    resources: Mapping[str, str] = field(default_factory=dict)
    benchmark: str = ""
    uncompared: tuple[str, ...] = ()
    skips_missing: bool = False
    skips_extra: bool = False
    incomplete_systems: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, content: object, entry: str = "report") -> Self:
        """Read the dictionary of `Report.to_dict`.

        Args:
            content: The dictionary.
            entry: Its name in messages.

        Raises:
            FormatError: The content is not a report, or a field has the wrong type.
        """
        row = check_row(content, entry, {"metrics": _OBJECT})
        if "signatures" not in row:
            raise FormatError(
                f"{entry} has no signatures, which contain the options of the scores",
                kind=FormatErrorKind.MISSING_FIELD,
                entry=entry,
                field="signatures",
            )
        check_row(row, entry, {"signatures": _OBJECT, "images": _COUNT})
        matching = _get_object(row, "matching", entry)
        subsets, subset_images, subset_intervals = (
            _get_object(row, name, entry) for name in ("subsets", "subset_images", "subset_intervals")
        )
        if "incomplete_systems" in matching:
            check_row(matching, f"{entry}.matching", {"incomplete_systems": _TEXTS})
        return cls(
            system=str(row.get("system", "")),
            images=row["images"],
            metrics=_read_scores(row["metrics"], f"{entry}.metrics"),
            signatures={
                key: SavedSignature.from_json(each, f"{entry}.signatures[{key!r}]")
                for key, each in row["signatures"].items()
            },
            subsets={
                name: _read_scores(each, f"{entry}.subsets[{name!r}]") for name, each in subsets.items()
            },
            intervals=_read_intervals(_get_object(row, "intervals", entry), f"{entry}.intervals"),
            subset_images={
                name: _read_subset_images(each, f"{entry}.subset_images[{name!r}]")
                for name, each in subset_images.items()
            },
            subset_intervals={
                name: _read_intervals(each, f"{entry}.subset_intervals[{name!r}]")
                for name, each in subset_intervals.items()
            },
            per_image=dict(_iter_images(row)),
            candidates_digest=_get_digest(row, entry),
            resources=_get_object(row, "resources", entry),
            benchmark=str(row.get("benchmark", "")),
            uncompared=tuple(text for name, text in _UNCOMPARED.items() if row.get(name)),
            skips_missing=bool(matching.get("without_results") or matching.get("skipped_for_others")),
            skips_extra=bool(matching.get("without_references")),
            incomplete_systems=tuple(matching.get("incomplete_systems", ())),
        )

    def restore_metrics(self) -> tuple[Metric, ...]:
        """Return the metrics with the options in the signatures.

        Document frequencies of another corpus are not restored, because signatures contain only their
        fingerprint.

        Raises:
            OptionError: capeval has no such metric or option.
        """
        return tuple(signature.restore_metric() for signature in self.signatures.values())

    def restore_tokenizer(self) -> Tokenizer | None:
        """Return the tokenizer in the signatures; None if no tokenizer is registered under that name."""
        metrics = zip(self.restore_metrics(), self.signatures.values(), strict=True)
        names = {signature.tokenizer for metric, signature in metrics if metric.input_kind != "captions"}
        if not names:
            return Tokenizer()
        return next((each for each in _iter_tokenizers() if {str(each)} == names), None)


def load_saved_reports(file: File, *, name: str = "", limit: int = LIMIT) -> tuple[SavedReport, ...]:
    """Read the reports in the JSON of `capeval score --format json` or `Report.save`.

    Args:
        file: The path of the file, which may be compressed, or its bytes.
        name: A name for bytes, for error messages.
        limit: The maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file is not such a report, or is invalid.
        OSError: The file can't be read.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.saved_reports import load_saved_reports
        >>> evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"]).save("report.json")
        >>> [saved.metrics for saved in load_saved_reports("report.json")]
        [{'ROUGE-1': 0.75}]
    """
    with add_path_to_errors(file, name):
        try:
            data = read_source(file, limit).data
            # `read_json` validates the file, but rounds one of ten numbers to a neighboring float.
            read_json(data)
            return _read_reports(json.loads(data))
        except FormatError as error:
            raise error.with_hint(_HINT) from None


def _read_reports(content: object) -> tuple[SavedReport, ...]:
    if isinstance(content, dict):
        return (SavedReport.from_json(content),)
    if not isinstance(content, list) or not content:
        raise_type_error("the file", "an object or a list of objects, one per system", content)
    return tuple(SavedReport.from_json(each, f"entries[{i}]") for i, each in enumerate(content))


def _get_object(row: dict[str, Any], name: str, entry: str) -> dict[str, Any]:
    return check_row(row, entry, {name: _OBJECT})[name] if name in row else {}


def _get_digest(row: dict[str, Any], entry: str) -> str | None:
    if row.get("candidates_digest") is None:
        return None
    digest: str = check_row(row, entry, {"candidates_digest": TEXT})["candidates_digest"]
    return digest


def _read_scores(content: object, entry: str) -> dict[str, float]:
    """Return numbers by name; null is NaN."""
    if not isinstance(content, dict):
        raise_type_error(entry, _OBJECT.expected, content)
    check_row(content, entry, dict.fromkeys(content, _SCORE))
    return {name: nan if value is None else float(value) for name, value in content.items()}


def _read_intervals(content: object, entry: str) -> dict[str, Interval]:
    if not isinstance(content, dict):
        raise_type_error(entry, _OBJECT.expected, content)
    return {name: _read_interval(each, f"{entry}[{name!r}]") for name, each in content.items()}


def _read_subset_images(content: object, entry: str) -> SubsetImages:
    row = check_row(content, entry, {"images": _COUNT, "digest": TEXT})
    return SubsetImages(images=row["images"], digest=row["digest"])


def _read_interval(content: object, entry: str) -> Interval:
    kinds = {"score": _SCORE, "low": _SCORE, "high": _SCORE, "level": _SCORE}
    row = check_row(content, entry, {**kinds, "samples": _COUNT, "seed": _COUNT})
    score, low, high, level = (nan if row[name] is None else float(row[name]) for name in kinds)
    return Interval(score=score, low=low, high=high, level=level, samples=row["samples"], seed=row["seed"])


def _iter_images(row: Mapping[str, Any]) -> Iterator[tuple[ImageId, Mapping[str, float]]]:
    if "per_image" in row:
        for place, scores in iterate_rows(row, "per_image", {"image_id": IMAGE_ID}):
            others = {name: value for name, value in scores.items() if name != "image_id"}
            yield scores["image_id"], _read_scores(others, place)


def _iter_tokenizers() -> Iterator[Tokenizer]:
    """Yield the default tokenizer with each combination of options, and the registered tokenizers."""
    hints = get_type_hints(Tokenizer)
    names = [each.name for each in fields(Tokenizer) if each.name not in _NOT_OF_PTB]
    for values in product(*(get_args(hints[name]) or (True, False) for name in names)):
        # Some options exclude each other.
        with suppress(OptionError):
            yield Tokenizer(**dict(zip(names, values, strict=True)))
    yield from TOKENIZERS.values()
