"""Shared parts of scoring commands, imported lazily so that `--help` stays fast."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from capeval.cli.toolkit.inputs import CaptionReader, is_standard_input, place, references_from
from capeval.cli.toolkit.options import EvaluationOptions, FrequencyOptions, InputOptions, metric_names
from capeval.cli.toolkit.output import Steps, deliver
from capeval.cli.toolkit.resource_setup import prepare_metrics
from capeval.data.captions import Candidates, ImageId, References
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_images
from capeval.formats import load_subsets
from capeval.formats.images import load_file_names, load_image_names
from capeval.metrics import DEFAULT, Metric
from capeval.metrics.registry import DefaultMetrics
from capeval.report import System, to_html
from capeval.report.images import find_picture_urls, needs_file_names
from capeval.resources import DocumentFrequencies
from capeval.scoring.evaluator import Evaluator
from capeval.scoring.matching import Matching, match_captions, match_ids
from capeval.scoring.replay import Program
from capeval.scoring.report import Report
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = [
    "LoadedCaptions",
    "apply_frequencies",
    "create_reader",
    "evaluator_of",
    "find_omitted",
    "load_captions",
    "matching_options",
    "metrics_of",
    "pictures_of",
    "subsets_of",
    "with_intervals",
    "write_report",
]


def apply_frequencies(
    metrics: tuple[Metric, ...], options: FrequencyOptions, tokenizer: Tokenizer
) -> tuple[Metric, ...]:
    """Return the metrics with the document frequencies of a file, if one is given.

    Raises:
        FormatError: The file has a different format.
        OptionError: No metric uses document frequencies, or the pickle contains a different number of images.
        OSError: The file can't be read.
    """
    path = options.frequencies
    if path is None:
        return metrics
    if all(metric.frequency_unit is None for metric in metrics):
        names = ", ".join(name for metric in metrics for name in metric.names)
        raise OptionError(f"--frequencies requires a metric such as CIDEr-D (got {names})")
    if path.name.lower().endswith(".npz"):
        frequencies = DocumentFrequencies.load(path)
    elif options.is_pickle:
        frequencies = DocumentFrequencies.load_pickle(path, images=options.frequencies_images)
    else:
        corpus = TokenizedReferences(references_from(path), tokenizer)
        return tuple(metric.with_corpus(corpus, path.stem) for metric in metrics)
    return tuple(metric.with_document_frequencies(frequencies) for metric in metrics)


def create_reader(options: InputOptions, benchmark: str | None) -> CaptionReader:
    """Return a reader of files, or of results for a benchmark.

    Raises:
        OptionError: There is no such benchmark, or an option describes a file of references.
    """
    if benchmark is None:
        return CaptionReader(options)
    from capeval.cli.toolkit.benchmark_reader import BenchmarkReader

    return BenchmarkReader(benchmark, options)


@dataclass(frozen=True, kw_only=True)
class LoadedCaptions:
    """References and the candidates of each system, of the same images.

    Attributes:
        references: The references.
        candidates: The candidates of each system, in the order of the files.
        matchings: How the images of each file were matched to the references.
        skipped: The images of the references that were skipped, because a system has no result.
    """

    references: References
    candidates: list[Candidates]
    matchings: list[Matching]
    skipped: Collection[ImageId] = ()

    def evaluate(self, evaluator: Evaluator, place: int, **options: Any) -> Report:
        """Evaluate the candidates at a place; the report contains their matching."""
        report = evaluator.evaluate(self.candidates[place], **options)
        return replace(report, matching=self.matchings[place])


def load_captions(
    references: Path | None,
    results: Sequence[Path],
    reading: CaptionReader,
    *,
    names: Sequence[str] | None = None,
    prepare: Callable[[References], References] | None = None,
) -> LoadedCaptions:
    """Load references and the candidates in each file, and match their images.

    If images without result are skipped, the images that have results in all files are left. `names` are the
    names of the systems, by default their files. `prepare` changes the references before they are matched.

    Raises:
        OptionError: The files and the options for reading them are inconsistent.
        MismatchError: The images of a file and of the references differ; the error includes the file.
    """
    reading.check(references, results)
    # All files are read before references are prepared or tables compiled, so that errors in files are
    # reported early. Reading in a second thread is not faster, since reading already uses several processors.
    with Steps(1) as steps:
        steps.next("Reading captions")
        captions = reading.references(references)
        if prepare is not None:
            captions = prepare(captions)
        candidates = [reading.candidates(path, captions) for path in results]
    matched = []
    for path, system in zip(results, candidates, strict=True):
        try:
            matched.append(match_captions(captions, system, **matching_options(references, reading.options)))
        except MismatchError as error:
            raise MismatchError(f"{place(path)}: {error}") from None
    return _select_common(captions, matched, names or [place(path) for path in results])


def matching_options(references: Path | None, options: InputOptions) -> dict[str, Any]:
    """Return the options of `match_captions` for references in a file, which may list file names."""
    names = None
    if options.image_info is not None:
        names = partial(load_image_names, options.image_info)
    elif references is not None and not is_standard_input(references):
        names = partial(load_file_names, references)
    return {"missing": options.missing, "extra": options.extra, "names": names}


def _select_common(
    references: References,
    matched: Sequence[tuple[References, Candidates, Matching]],
    names: Sequence[str],
) -> LoadedCaptions:
    """Return the images that all systems have."""
    candidates = [own for _, own, _ in matched]
    matchings = [matching for _, _, matching in matched]
    if all(own is references for own, _, _ in matched):
        return LoadedCaptions(references=references, candidates=candidates, matchings=matchings)
    kept = [set(own) for own, _, _ in matched]
    common = [image for image in references if all(image in images for images in kept)]
    if not common:
        raise MismatchError("the result files have no image in common")
    incomplete: tuple[str, ...] = ()
    if len(names) > 1:
        incomplete = tuple(name for name, each in zip(names, matchings, strict=True) if each.without_results)
    return LoadedCaptions(
        references=references.select(common),
        candidates=[own.select(common) for own in candidates],
        matchings=[
            replace(
                matching,
                skipped_for_others=len(references) - len(common) - matching.without_results,
                incomplete_systems=incomplete,
            )
            for matching in matchings
        ],
        skipped=references.keys() - set(common),
    )


def evaluator_of(
    references: References,
    options: EvaluationOptions,
    tokenizer: Tokenizer,
    *,
    replay: Program | None = None,
) -> Evaluator:
    """Prepare the references for the metrics, and for a replay of the reference implementation.

    Raises:
        FormatError: The file of document frequencies has a different format.
        OptionError: Document frequencies are set and no metric uses them, a sentence limit is set and no
            metric parses sentences, or a replay requires a different tokenizer.
        ResourceError: A resource that a metric needs is missing or damaged.
        OSError: The file of document frequencies can't be read.
    """
    ready = metrics_of(options, tokenizer)
    omitted = find_omitted(options)
    with Steps(1) as steps:
        steps.next("Preparing references")
        return Evaluator(references, ready, tokenizer=tokenizer, replay=replay, omitted=omitted)


def metrics_of(options: EvaluationOptions, tokenizer: Tokenizer) -> tuple[Metric, ...]:
    """Return the metrics, with their resources and document frequencies."""
    ready = prepare_metrics(metric_names(options.metrics), options.spice_longest)
    return apply_frequencies(ready, options.counts, tokenizer)


def find_omitted(options: EvaluationOptions) -> dict[str, str]:
    """Return the default metrics that are left out, with the commands that install their data."""
    names = DEFAULT if options.metrics is None else options.metrics
    return names.omitted if isinstance(names, DefaultMetrics) else {}


def subsets_of(
    path: Path, references: References, skipped: Collection[ImageId] = ()
) -> dict[str, list[ImageId]]:
    """Load the subsets in a file, with ids as in the references, and check that all images have some.

    Skipped images are left out.

    Raises:
        MismatchError: A subset has an image without references, or only skipped images.
    """
    subsets = load_subsets(path)
    listed = list(dict.fromkeys(image for images in subsets.values() for image in images))
    if any(image not in references and image not in skipped for image in listed):
        # By the rules for the ids of results.
        _, ids = match_ids([*references, *skipped], listed)
        subsets = {name: [ids.get(image, image) for image in images] for name, images in subsets.items()}
    for name, images in subsets.items():
        unknown = [image for image in images if image not in references and image not in skipped]
        if unknown:
            raise MismatchError(
                f"{path}: subset {name!r:.80}: {format_images(unknown)} not among the references"
            )
        if images and skipped and not any(image in references for image in images):
            raise MismatchError(f"{path}: subset {name!r:.80}: none of its images was scored")
    if skipped:
        subsets = {
            name: [image for image in images if image in references] for name, images in subsets.items()
        }
    return subsets


def with_intervals(
    system: System,
    *,
    samples: int,
    level: float,
    seed: int,
    subsets: Mapping[str, Sequence[ImageId]] | None = None,
) -> System:
    """Return the system with bootstrap intervals of its scores, also of subsets."""
    from capeval.scoring.significance import bootstrap

    resample = partial(bootstrap, system.report, samples=samples, level=level, seed=seed)
    return replace(
        system,
        intervals=resample(),
        subset_intervals={name: resample(images=images) for name, images in (subsets or {}).items()},
    )


def pictures_of(place: str, path: Path | None, references: References, page: Path) -> dict[ImageId, str]:
    """Return the picture URLs for `--images`.

    Args:
        place: A pattern or a folder.
        path: The reference file, which may contain the file names of images; None for a benchmark.
        references: The references in the file.
        page: The path of the report.

    Raises:
        MismatchError: An image has no file name, or the folder contains no picture of any image.
        OptionError: `place` is neither a pattern nor a folder, or the reference file can't be read again.
    """
    names = {}
    if path is not None and needs_file_names(place):
        if is_standard_input(path):
            raise OptionError("--images by file names requires a reference file (got standard input)")
        names = load_file_names(path)
    return find_picture_urls(place, references.image_ids, page, file_names=names)


def write_report(
    path: Path,
    systems: list[System],
    references: References,
    candidates: list[Candidates],
    tokenizer: Tokenizer,
    *,
    source: str,
    pictures: Mapping[ImageId, str] | None = None,
) -> None:
    """Write the HTML report of the systems."""
    captions = {system.name: texts for system, texts in zip(systems, candidates, strict=True)}
    page = to_html(
        systems,
        references=references,
        candidates=captions,
        tokenizer=tokenizer,
        source=source,
        pictures=pictures,
    )
    deliver(page, path)
