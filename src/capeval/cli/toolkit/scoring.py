"""Shared by the commands that score. Imported only when one of them runs, so that `--help` stays fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from capeval.cli.toolkit.inputs import InputOptions, is_standard_input, place, references_from
from capeval.cli.toolkit.output import Steps, deliver
from capeval.cli.toolkit.resource_setup import ready_metrics
from capeval.data.captions import Candidates, ImageId, References
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import first_few
from capeval.formats import load_subsets
from capeval.formats.images import load_file_names
from capeval.metrics import Metric
from capeval.report import System, to_html
from capeval.report.images import needs_file_names, picture_addresses
from capeval.resources import DocumentFrequencies
from capeval.scoring.evaluator import Evaluator, problems
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = [
    "FrequencyFile",
    "evaluator_of",
    "loaded",
    "pictures_of",
    "prepared",
    "subsets_of",
    "with_intervals",
    "write_report",
]


_PICKLES = (".p", ".pkl", ".pickle")


@dataclass(frozen=True, kw_only=True)
class FrequencyFile:
    """A file of document frequencies.

    Attributes:
        path: Counts that `DocumentFrequencies.save` wrote (.npz), a pickle (.p, .pkl or .pickle), or
            captions, whose n-grams are counted.
        images: The number of images that a pickle counts, where it doesn't say it.
    """

    path: Path
    images: int | None = None

    @classmethod
    def of_options(cls, path: Path | None, images: int | None) -> FrequencyFile | None:
        """What `--frequencies` and `--frequencies-images` ask for; None where they ask for nothing.

        Raises:
            OptionError: There is a number of images, and no pickle.
        """
        if images is not None and (path is None or not path.name.lower().endswith(_PICKLES)):
            raise OptionError(
                f"--frequencies-images is for a pickle, a file that ends in {', '.join(_PICKLES)}"
                f" (got {'no file' if path is None else path})"
            )
        return None if path is None else cls(path=path, images=images)

    def weigh(self, metrics: tuple[Metric, ...], tokenizer: Tokenizer) -> tuple[Metric, ...]:
        """The metrics, with these document frequencies.

        Raises:
            FormatError: The file is something else.
            OptionError: No metric counts document frequencies, or the pickle says another number of images.
            OSError: The file can't be read.
        """
        if all(metric.counts is None for metric in metrics):
            names = ", ".join(name for metric in metrics for name in metric.names)
            raise OptionError(f"--frequencies is for metrics such as CIDEr-D (got {names})")
        name = self.path.name.lower()
        if name.endswith(".npz"):
            frequencies = DocumentFrequencies.load(self.path)
        elif name.endswith(_PICKLES):
            frequencies = DocumentFrequencies.load_pickle(self.path, images=self.images)
        else:
            corpus = TokenizedReferences(references_from(self.path), tokenizer)
            return tuple(metric.counted_on(corpus, self.path.stem) for metric in metrics)
        return tuple(metric.weighed_by(frequencies) for metric in metrics)


def prepared(
    references: Path,
    results: list[Path],
    metrics: tuple[str, ...],
    tokenizer: Tokenizer,
    reading: InputOptions,
    counts: FrequencyFile | None = None,
    *,
    spice_longest: int | None = None,
) -> tuple[Evaluator, list[Candidates]]:
    """The prepared references, and the candidates of each file."""
    captions, candidates = loaded(references, results, reading)
    evaluator = evaluator_of(captions, metrics, tokenizer, counts, spice_longest=spice_longest)
    return evaluator, candidates


def loaded(
    references: Path, results: list[Path], reading: InputOptions
) -> tuple[References, list[Candidates]]:
    """The references, and the candidates of each file, for the same images.

    Raises:
        OptionError: The files and the options of reading don't go together.
        MismatchError: The images of a file differ from those of the references; the error names the file.
    """
    reading.check(references, results)
    # All files are read before references are prepared or tables compiled, so that an error in one comes
    # at once. Reading in a second thread was measured: no faster, since both processors are busy.
    with Steps(1) as steps:
        steps.next("Reading captions")
        captions = reading.references(references)
        candidates = [reading.candidates(path, captions) for path in results]
    for path, system in zip(results, candidates, strict=True):
        for problem in problems(captions, system):
            raise MismatchError(f"{place(path)}: {problem}")
    return captions, candidates


def evaluator_of(
    references: References,
    metrics: tuple[str, ...],
    tokenizer: Tokenizer,
    counts: FrequencyFile | None = None,
    *,
    spice_longest: int | None = None,
) -> Evaluator:
    """The references prepared for metrics.

    Args:
        references: The references.
        metrics: The names of the metrics.
        tokenizer: How to tokenise.
        counts: Where document frequencies come from; the references by default.
        spice_longest: The longest sentence that SPICE parses, in tokens; its default if it is None.

    Raises:
        FormatError: The file of document frequencies is something else.
        OptionError: There are document frequencies, and no metric that counts any; or a limit of sentences,
            and no metric that parses any.
        ResourceError: A resource that a metric needs is missing or damaged.
        OSError: The file of document frequencies can't be read.
    """
    ready = ready_metrics(metrics, spice_longest)
    if counts is not None:
        ready = counts.weigh(ready, tokenizer)
    with Steps(1) as steps:
        steps.next("Preparing references")
        return Evaluator(references, ready, tokenizer=tokenizer)


def subsets_of(path: Path, references: References) -> dict[str, list[ImageId]]:
    """The subsets in a file; every image of theirs must have references."""
    subsets = load_subsets(path)
    for name, images in subsets.items():
        unknown = [image for image in images if image not in references]
        if unknown:
            raise MismatchError(f"{path}: subset {name!r:.80}: {first_few(unknown)} not among the references")
    return subsets


def with_intervals(system: System, *, samples: int, level: float, seed: int) -> System:
    """The system with bootstrap intervals of its scores."""
    from capeval.scoring.significance import bootstrap

    intervals = bootstrap(system.report, samples=samples, level=level, seed=seed)
    return System(name=system.name, report=system.report, intervals=intervals)


def pictures_of(place: str, path: Path, references: References, page: Path) -> dict[ImageId, str]:
    """Where the pictures are that `--images` asks for.

    Args:
        place: A pattern or a folder.
        path: The file of references, which may have the file names of images.
        references: The references in it.
        page: The path of the report.

    Raises:
        MismatchError: An image has no file name, or the folder has no picture of any image.
        OptionError: It is neither a pattern nor a folder, or the file of references can't be read again.
    """
    names = {}
    if needs_file_names(place):
        if is_standard_input(path):
            raise OptionError("--images by file names must have references in a file (got standard input)")
        names = load_file_names(path)
    return picture_addresses(place, references.image_ids, page, file_names=names)


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
    """Writes the HTML report of the systems."""
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
