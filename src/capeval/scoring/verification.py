"""Verification of saved reports: the same scores again, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Literal

from capeval import _native
from capeval.data.captions import Candidates, CandidatesLike, ImageId, References, ReferencesLike
from capeval.data.scores import Signature
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_names
from capeval.metrics.base import Metric, find_fingerprints
from capeval.resources import DocumentFrequencies
from capeval.scoring.evaluator import Evaluator, Subsets
from capeval.scoring.matching import match_captions
from capeval.scoring.report import Report
from capeval.scoring.saved_reports import SavedReport, SavedSignature
from capeval.scoring.significance import Interval, bootstrap
from capeval.scoring.subset_images import SubsetImages
from capeval.tokenizers import Tokenizer

__all__ = [
    "ReportDifference",
    "Verification",
    "VerifiedScore",
    "compare_with_saved",
    "describe_mismatch",
    "restore_metrics",
    "restore_tokenizer",
    "verify",
]

Kind = Literal["version", "options", "references", "captions", "subsets", "resources", "images", "unknown"]
"""Kinds of differences between a report and its verification."""


@dataclass(frozen=True, kw_only=True)
class VerifiedScore:
    """A score of a report, and the same score computed again.

    Attributes:
        name: The name of the score.
        subset: The name of the subset; empty for a score of all images.
        end: The end of the score's interval, `low` or `high`; empty for the score.
        saved: The score in the report; NaN if it has no value, None if the report does not contain it.
        recomputed: The score computed again; None if the metrics have no such score.
    """

    name: str
    subset: str = ""
    end: Literal["", "low", "high"] = ""
    saved: float | None
    recomputed: float | None

    @property
    def part(self) -> str:
        """The part of the report, such as `subset near` or `interval, low`; empty for a corpus score."""
        if self.end:
            return f"interval{f' of subset {self.subset}' if self.subset else ''}, {self.end}"
        return f"subset {self.subset}" if self.subset else ""

    @property
    def is_same(self) -> bool:
        """Whether all digits are equal."""
        if self.saved is None or self.recomputed is None:
            return False
        return self.saved == self.recomputed or (isnan(self.saved) and isnan(self.recomputed))


@dataclass(frozen=True, kw_only=True)
class ReportDifference:
    """A difference between the inputs of a report and of its verification.

    Attributes:
        kind: The input: `version`, `options`, `references`, `captions`, `subsets`, `resources` or `images`;
            `unknown` if the scores differ and no input does.
        text: The difference, in one sentence.
    """

    kind: Kind
    text: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The result of a verification.

    Attributes:
        system: The name of the system in the report.
        scores: The compared scores.
        images: The number of compared images.
        different_images: The images with different scores.
        differences: The differences between the inputs of the report and those of the verification.
        notes: The parts of the report that were not compared.
    """

    system: str = ""
    scores: tuple[VerifiedScore, ...] = ()
    images: int = 0
    different_images: tuple[ImageId, ...] = ()
    differences: tuple[ReportDifference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether all digits of all compared scores are equal."""
        compared = bool(self.scores) and all(score.is_same for score in self.scores)
        return compared and not self.different_images


def verify(
    saved: SavedReport,
    references: ReferencesLike,
    candidates: CandidatesLike,
    *,
    tokenizer: Tokenizer | None = None,
    frequencies: DocumentFrequencies | None = None,
    subsets: Subsets | None = None,
) -> Verification:
    """Compute the scores of a report again, with its options, and compare all digits.

    Args:
        saved: The report.
        references: The references of each image.
        candidates: The candidates of the system.
        tokenizer: The tokenizer; by default the report's. Only tokenizers with a function that is not
            registered must be passed.
        frequencies: The document frequencies, if they are those of another corpus.
        subsets: The subsets of the images, to compare their scores too.

    Raises:
        CaptionError: References or candidates are not captions by image.
        OptionError: capeval has no such metric, option or tokenizer as the report; or document frequencies
            are missing.
        ResourceError: A resource that a metric needs is missing.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.scoring.saved_reports import load_saved_reports
        >>> from capeval.scoring.verification import verify
        >>> references, candidates = {1: ["A big red bus."], 2: ["Two cats."]}, {1: "A red bus.", 2: "A cat."}
        >>> evaluate(references, candidates, ["ROUGE-1"]).save("report.json")
        >>> (saved,) = load_saved_reports("report.json")
        >>> verify(saved, references, candidates).is_same
        True
        >>> verification = verify(saved, references, {**candidates, 2: "Two cats."})
        >>> verification.is_same, verification.different_images
        (False, (2,))
        >>> [difference.kind for difference in verification.differences]
        ['captions']
    """
    metrics = restore_metrics(saved, lambda metric: _set_frequencies(metric, frequencies))
    tokenizer = restore_tokenizer(saved, tokenizer)
    try:
        own, matched, _ = match_captions(
            References(references),
            Candidates(candidates),
            missing="skip" if saved.skips_missing else "error",
            extra="skip" if saved.skips_extra else "error",
        )
    except MismatchError as error:
        return describe_mismatch(saved, error)
    report = Evaluator(own, metrics, tokenizer=tokenizer).evaluate(matched, subsets=subsets)
    return compare_with_saved(saved, report)


def _set_frequencies(metric: Metric, frequencies: DocumentFrequencies | None) -> Metric:
    return metric if frequencies is None else metric.with_document_frequencies(frequencies)


def restore_metrics(saved: SavedReport, set_frequencies: Callable[[Metric], Metric]) -> tuple[Metric, ...]:
    """Return the metrics of a report with their options.

    Args:
        saved: The report.
        set_frequencies: Returns a metric with the document frequencies of another corpus. It is called for
            metrics of the report that used such frequencies.

    Raises:
        OptionError: capeval has no such metric or option, or document frequencies are missing.
    """
    metrics = []
    for metric, signature in zip(saved.restore_metrics(), saved.signatures.values(), strict=True):
        if signature.seed is not None:
            raise OptionError(
                f"the report's {signature.metric} depends on random draws (seed {signature.seed}), so it"
                " can't be verified"
            )
        if not signature.needs_corpus:
            metrics.append(metric)
            continue
        with_corpus = set_frequencies(metric)
        if with_corpus.document_frequencies == metric.document_frequencies:
            raise OptionError(
                f"the report's {signature.metric} has the document frequencies"
                f" {signature.document_frequencies}; pass them with 'frequencies' (on the command line:"
                " --frequencies FILE)"
            )
        metrics.append(with_corpus)
    return tuple(metrics)


def restore_tokenizer(saved: SavedReport, tokenizer: Tokenizer | None = None) -> Tokenizer:
    """Return the tokenizer of a report, or the given one.

    Raises:
        OptionError: No tokenizer is given, and the report's is not registered.
    """
    if tokenizer is not None:
        return tokenizer
    restored = saved.restore_tokenizer()
    if restored is None:
        names = sorted({signature.tokenizer for signature in saved.signatures.values()})
        raise OptionError(
            f"the report's tokenizer {', '.join(names)} is not registered here; pass it with 'tokenizer' (on"
            " the command line: --tokenizer MODULE:NAME)"
        )
    return restored


def describe_mismatch(saved: SavedReport, error: MismatchError) -> Verification:
    """Return the verification for references and candidates of different images, which have no scores."""
    difference = ReportDifference(kind="images", text=f"The images differ: {error}.")
    return Verification(system=saved.system, differences=(difference, *_compare_versions(saved)))


def compare_with_saved(saved: SavedReport, report: Report) -> Verification:
    """Compare a saved report with a report of the same metrics, computed again.

    Raises:
        OptionError: An interval of the saved report has invalid settings.
    """
    new_names = _map_former_names(saved, report)
    scores = tuple(_iter_scores(saved, report, new_names))
    different = tuple(_iter_different_images(saved, report, new_names))
    differences = (
        *_compare_versions(saved),
        *_compare_options(saved, report),
        *_compare_captions(saved, report),
        *_compare_subsets(saved, report),
        *_compare_resources(saved, report),
    )
    notes = _list_notes(saved, report)
    if not differences and (different or not all(score.is_same for score in scores)):
        only_subsets = not different and all(score.is_same or score.subset for score in scores)
        differences = (_describe_unknown(saved, only_subsets=only_subsets),)
    return Verification(
        system=saved.system,
        scores=scores,
        images=len(saved.per_image),
        different_images=different,
        differences=differences,
        notes=notes,
    )


def _map_former_names(saved: SavedReport, report: Report) -> dict[str, str]:
    """Return the current name of each score that had another name in the version that wrote the report."""
    names = {}
    for signature, (metric, _) in zip(saved.signatures.values(), report.scores, strict=True):
        if signature.metric != metric.family:
            names.update({name.replace(metric.family, signature.metric, 1): name for name in metric.names})
    return names


def _iter_scores(saved: SavedReport, report: Report, new_names: Mapping[str, str]) -> Iterator[VerifiedScore]:
    yield from _pair_scores(saved.metrics, report.corpus, new_names)
    for name, subset in saved.subsets.items():
        if name in report.subsets:
            yield from _pair_scores(subset, report.subsets[name], new_names, name)
    yield from _pair_intervals(saved.intervals, report, new_names)
    for name, intervals in saved.subset_intervals.items():
        if name in report.subset_images:
            yield from _pair_intervals(intervals, report, new_names, name)


def _pair_intervals(
    intervals: Mapping[str, Interval], report: Report, new_names: Mapping[str, str], subset: str = ""
) -> Iterator[VerifiedScore]:
    images = report.subset_images[subset] if subset else None
    computed: dict[tuple[int, float, int], Mapping[str, Interval]] = {}
    for name, interval in intervals.items():
        settings = (interval.samples, interval.level, interval.seed)
        if settings not in computed:
            samples, level, seed = settings
            computed[settings] = bootstrap(report, samples=samples, level=level, seed=seed, images=images)
        again = computed[settings].get(new_names.get(name, name))
        ends: tuple[Literal["low", "high"], ...] = ("low", "high")
        for end in ends:
            recomputed = None if again is None else getattr(again, end)
            yield VerifiedScore(
                name=name, subset=subset, end=end, saved=getattr(interval, end), recomputed=recomputed
            )


def _pair_scores(
    saved: Mapping[str, float], scores: Mapping[str, float], new_names: Mapping[str, str], subset: str = ""
) -> Iterator[VerifiedScore]:
    old_names = {new: old for old, new in new_names.items()}
    computed = {old_names.get(name, name): score for name, score in scores.items()}
    for name in dict.fromkeys((*saved, *computed)):
        yield VerifiedScore(name=name, subset=subset, saved=saved.get(name), recomputed=computed.get(name))


def _iter_different_images(
    saved: SavedReport, report: Report, new_names: Mapping[str, str]
) -> Iterator[ImageId]:
    rows = {image: row for row, image in enumerate(report.image_ids)}
    for image, scores in saved.per_image.items():
        row = rows.get(image)
        names = {name: new_names.get(name, name) for name in scores}
        if row is None or not all(
            VerifiedScore(name=old, saved=scores[old], recomputed=float(report.per_image[new][row])).is_same
            for old, new in names.items()
            if new in report.corpus
        ):
            yield image
    if saved.per_image:
        yield from (image for image in report.image_ids if image not in saved.per_image)


def _compare_versions(saved: SavedReport) -> Iterator[ReportDifference]:
    for version in dict.fromkeys(signature.version for signature in saved.signatures.values()):
        if version != _native.__version__:
            before = "unknown" if version is None else f"capeval {version}"
            text = f"The version differs: {before} in the report, capeval {_native.__version__} here."
            yield ReportDifference(kind="version", text=text)


def _compare_options(saved: SavedReport, report: Report) -> Iterator[ReportDifference]:
    for key, theirs, ours in _pair_signatures(saved, report):
        # Without a source, the report is of an earlier version, or the metric has no document frequencies.
        has_source = theirs.document_frequencies is not None
        before, now = (_list_settings(each, has_source=has_source) for each in (theirs, ours))
        if before != now:
            only_before = ", ".join(each for each in before if each not in now) or "nothing"
            only_now = ", ".join(each for each in now if each not in before) or "nothing"
            text = f"The options of {key} differ: {only_before} in the report, {only_now} here."
            yield ReportDifference(kind="options", text=text)


def _pair_signatures(saved: SavedReport, report: Report) -> Iterator[tuple[str, SavedSignature, Signature]]:
    for (key, theirs), ours in zip(saved.signatures.items(), report.signatures.values(), strict=True):
        yield key, theirs, ours


def _list_settings(signature: SavedSignature | Signature, *, has_source: bool) -> list[str]:
    settings = [*signature.options, f"tokenizer={signature.tokenizer}"]
    settings += [f"plugin={signature.plugin}"] * (signature.plugin is not None)
    return [*settings, f"document frequencies={signature.document_frequencies}"] if has_source else settings


def _compare_captions(saved: SavedReport, report: Report) -> Iterator[ReportDifference]:
    """Yield differences of the references and of the candidates."""
    _, theirs, ours = next(_pair_signatures(saved, report))
    if theirs.digest != str(ours.digest):
        before, now = _describe_references(theirs), _describe_references(ours)
        text = f"The references differ: {before} in the report, {now} here."
        yield ReportDifference(kind="references", text=text)
    digest = saved.candidates_digest
    if digest is not None and digest != str(report.candidates_digest):
        text = f"The captions differ: digest {digest} in the report, {report.candidates_digest} here."
        yield ReportDifference(kind="captions", text=text)


def _describe_references(signature: SavedSignature | Signature) -> str:
    if signature.images is None or signature.references is None:
        return f"those with digest {signature.digest}"
    images = "1 image" if signature.images == 1 else f"{signature.images:,} images"
    references = "1 reference" if signature.references == "1" else f"{signature.references} references"
    return f"{images} with {references} each (digest {signature.digest})"


def _compare_subsets(saved: SavedReport, report: Report) -> Iterator[ReportDifference]:
    for name, images in report.subset_images.items():
        theirs, ours = saved.subset_images.get(name), SubsetImages.of(images)
        if theirs is not None and theirs != ours:
            text = f"The images of the subset {name!r} differ: {theirs} in the report, {ours} here."
            yield ReportDifference(kind="subsets", text=text)


def _compare_resources(saved: SavedReport, report: Report) -> Iterator[ReportDifference]:
    found = find_fingerprints([metric for metric, _ in report.scores])
    for name, fingerprint in saved.resources.items():
        if name in found and found[name] != fingerprint:
            text = f"{name} differ: fingerprint {fingerprint} in the report, {found[name]} here."
            yield ReportDifference(kind="resources", text=text)


def _describe_unknown(saved: SavedReport, *, only_subsets: bool) -> ReportDifference:
    equal = "Version, options, references and resources are equal"
    if only_subsets and not saved.subset_images:
        text = (
            f"{equal}, and so are the scores of all images: the images of the subsets may differ (the report"
            " has no digest of them), or the report was edited."
        )
    elif saved.candidates_digest is None:
        text = f"{equal}, so the captions probably differ (the report has no digest of them)."
    else:
        text = f"{equal}, and so are the captions: the report was edited, or its machine rounds differently."
    return ReportDifference(kind="unknown", text=text)


def _list_notes(saved: SavedReport, report: Report) -> tuple[str, ...]:
    """Return the parts of the report that can't be compared, in full sentences."""
    notes = [f"{part} were not compared." for part in saved.uncompared]
    if missing := [name for name in saved.subsets if name not in report.subsets]:
        notes.append(
            f"Scores of the subsets {format_names(missing)} were not compared; pass the subsets with"
            " 'subsets' (on the command line: --subset FILE)."
        )
    if saved.candidates_digest is None:
        notes.append(
            "The report has no digest of the captions, because an earlier version wrote it or shards were"
            " scored."
        )
    return tuple(notes)
